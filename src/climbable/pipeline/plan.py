"""What a run will do and about how long it will take: a guess at first, better with every stage that ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from climbable.core.skill import Skill
from climbable.recipe import Recipe

SECONDS = {"cpu": {"sample": 1.4, "row": 1.6, "step": 2.8}, "gpu": {"sample": 0.02, "row": 0.01, "step": 0.04}}
"""Guesses for a 135M model: seconds for sampling 100 tokens, for a supervised row, for a completion in a GRPO step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage to come: `count` units of `work`, a key of `SECONDS`."""

    name: str
    says: str
    work: str
    count: float
    maybe: bool = False
    """Whether an earlier stage may make it needless."""


def stages(recipe: Recipe, skill: Skill) -> list[Stage]:
    """The stages of `recipe` in order; ``costs.jsonl`` calls them by these names."""
    length = recipe.sampling.max_new_tokens / 100
    families = len(recipe.families or skill.trained_families()) + len(skill.held_out_families())
    gate = recipe.gate.tasks * recipe.gate.samples * length
    evaluation = recipe.evaluation.tasks * recipe.evaluation.samples * families * length
    step = recipe.train.prompts * recipe.train.group * length
    rows = recipe.warmup.rows * recipe.warmup.epochs
    warm = [
        Stage(
            name="warmup",
            says=f"warm-up on {recipe.warmup.rows} teacher rows, {recipe.warmup.epochs} epochs",
            work="row",
            count=rows,
            maybe=True,
        ),
        Stage(name="gate", says="gate of the warmed-up model", work="sample", count=gate, maybe=True),
        Stage(
            name="eval.warmup", says="evaluation of the warmed-up model", work="sample", count=evaluation, maybe=True
        ),
    ]
    return [
        Stage(name="gate.untrained", says="gate of the untrained model", work="sample", count=gate),
        Stage(name="eval.base", says="evaluation of the untrained model", work="sample", count=evaluation),
        *(warm if rows else []),
        Stage(
            name="pilot",
            says=f"pilot, GRPO steps: {recipe.pilot.steps}",
            work="step",
            count=recipe.pilot.steps * step,
        ),
        Stage(
            name="train",
            says=f"GRPO, {recipe.train.steps} steps of {recipe.train.prompts} × {recipe.train.group} samples",
            work="step",
            count=recipe.train.steps * step,
        ),
        Stage(name="eval.trained", says="evaluation of the trained model", work="sample", count=evaluation),
    ]


def estimate(plan: list[Stage], done: Mapping[str, float], *, gpu: bool) -> dict[str, float]:
    """Seconds for each stage of `plan` that is not in `done`, the seconds of those that have ended.

    The guess for a kind of work is scaled by what the finished stages of that kind took, or else by all of them.
    """
    guess = SECONDS["gpu" if gpu else "cpu"]
    ended = [stage for stage in plan if stage.name in done and stage.count]

    def scale(work: str) -> float:
        like = [stage for stage in ended if stage.work == work] or ended
        expected = sum(stage.count * guess[stage.work] for stage in like)
        return sum(done[stage.name] for stage in like) / expected if expected else 1.0

    return {stage.name: stage.count * guess[stage.work] * scale(stage.work) for stage in plan if stage.name not in done}
