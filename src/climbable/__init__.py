"""Climbable teaches a small language model a skill whose results a program can check.

The way through the house, and who depends on whom (each line only on those below it):

========== =====================================================================================================
cli        the command ``climb``, one file a verb
pipeline   ``climb run``: the stages of a recipe in order, resumable
train      LoRA, warm-up, pilot and GRPO on TRL, with the checks for what libraries silently don't do
evaluate   a frozen policy on test tasks → figures with intervals, and paired comparisons
report     a run as one HTML file that opens offline
rollout    tasks × policy × verifier → groups, written as they finish
verify     a completion → a score
skills     what is taught: tasks, teacher, checks, cheats
sandbox    runs a script jailed, and hands its artefact to a clean process
blender    what runs inside Blender's interpreter, and how that is found
policy     what answers: scripted, a Transformers model, a server
recipe     one TOML file → frozen values
core       the standard library only: values, errors, prompt, reward, group, gate, statistics, records
========== =====================================================================================================
"""

__version__ = "0.1.0"
