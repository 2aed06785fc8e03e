"""What must hold before a GPU is kept busy: a go of gate and pilot for this very policy."""

from __future__ import annotations

from climbable.core import records
from climbable.core.errors import StageSaysNo
from climbable.core.run import RunFolder
from climbable.recipe import Recipe
from climbable.train.learner import Learner


def require_go(run: RunFolder, learner: Learner, recipe: Recipe) -> None:
    """Gate and pilot must both have said go to the same weights, prompt and temperature as now."""
    for path, verb in ((run.gate, "gate"), (run.pilot, "pilot")):
        verdict = records.read_json(path)
        if verdict is None:
            raise StageSaysNo(
                f"there is no {path.name} in {run.path}: `climb {verb}` comes first (--force starts all the same)"
            )
        if verdict["answer"] != "go":
            why = "; ".join(verdict["reasons"])
            raise StageSaysNo(f"the {verb} said {verdict['answer']}: {why} (--force starts all the same)")
        now = {
            "policy": learner.fingerprint,
            "prompt_digest": learner.prompt_digest,
            "temperature": recipe.sampling.temperature,
        }
        for key, value in now.items():
            if verdict[key] != value:
                raise StageSaysNo(
                    f"the {verb} was measured with {key} {verdict[key]!r}, but training would use {value!r}: "
                    f"run `climb {verb}` again (--force starts all the same)"
                )
