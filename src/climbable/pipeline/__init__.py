"""``climb run``: the stages of a recipe in order, each finished one recorded, so that a kill loses at most a step.

``folder`` opens and locks a run's folder, ``environment`` describes the machine, ``costs`` is the ledger of finished
stages, ``plan`` says what comes and how long it will take, ``stages`` are the stages, ``run`` walks through them.
"""

from climbable.pipeline.folder import open_run
from climbable.pipeline.run import Learnt, run_recipe
from climbable.pipeline.stages import Work, measure_gate

__all__ = ["Learnt", "Work", "measure_gate", "open_run", "run_recipe"]
