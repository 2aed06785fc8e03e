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
    samples: int = 0
    """Completions that it records; 0 for a stage that records none."""
    maybe: bool = False
    """Whether an earlier stage may make it needless."""


def stages(recipe: Recipe, skill: Skill) -> list[Stage]:
    """The stages of `recipe` in order; ``costs.jsonl`` calls them by these names."""
    length = recipe.sampling.max_new_tokens / 100
    families = len(recipe.all_trained_families(skill)) + len(skill.held_out_families())
    gate = recipe.gate.tasks * recipe.gate.samples
    evaluation = recipe.evaluation.tasks * recipe.evaluation.samples * families
    step = recipe.train.prompts * recipe.train.group
    rows = recipe.warmup.rows * recipe.warmup.epochs
    warm = [
        Stage(
            name="warmup",
            says=f"warm-up on {recipe.warmup.rows} teacher rows, {recipe.warmup.epochs} epochs",
            work="row",
            count=rows,
            maybe=True,
        ),
        Stage(
            name="gate",
            says="gate of the warmed-up model",
            work="sample",
            count=gate * length,
            samples=gate,
            maybe=True,
        ),
        Stage(
            name="eval.warmup",
            says="evaluation of the warmed-up model",
            work="sample",
            count=evaluation * length,
            samples=evaluation,
            maybe=True,
        ),
    ]
    return [
        Stage(
            name="gate.untrained", says="gate of the untrained model", work="sample", count=gate * length, samples=gate
        ),
        Stage(
            name="eval.base",
            says="evaluation of the untrained model",
            work="sample",
            count=evaluation * length,
            samples=evaluation,
        ),
        *(warm if rows else []),
        Stage(
            name="pilot",
            says=f"pilot, GRPO steps: {recipe.pilot.steps}",
            work="step",
            count=recipe.pilot.steps * step * length,
        ),
        Stage(
            name="train",
            says=f"GRPO, {recipe.train.steps} steps of {recipe.train.prompts} × {recipe.train.group} samples",
            work="step",
            count=recipe.train.steps * step * length,
            samples=recipe.train.steps * step,
        ),
        Stage(
            name="eval.trained",
            says="evaluation of the trained model",
            work="sample",
            count=evaluation * length,
            samples=evaluation,
        ),
    ]


def estimate(
    plan: list[Stage],
    done: Mapping[str, float],
    begun: Mapping[str, tuple[float, float]] | None = None,
    *,
    gpu: bool,
) -> dict[str, float]:
    """Seconds that are left for each stage of `plan` that is not in `done`, the seconds of those that have ended.

    `begun` holds the share that is done and the seconds so far of stages that a kill cut short. The guess for a kind of
    work is scaled by what was measured of that kind, or else by all that was.
    """
    guess, begun = SECONDS["gpu" if gpu else "cpu"], begun or {}
    measured = [(stage, 1.0, done[stage.name]) for stage in plan if stage.name in done and stage.count]
    measured += [(stage, *begun[stage.name]) for stage in plan if stage.name in begun and begun[stage.name][0] > 0]

    def scale(work: str) -> float:
        like = [part for part in measured if part[0].work == work] or measured
        expected = sum(share * stage.count * guess[stage.work] for stage, share, _ in like)
        return sum(seconds for _, _, seconds in like) / expected if expected else 1.0

    return {
        stage.name: (1.0 - begun.get(stage.name, (0.0, 0.0))[0]) * stage.count * guess[stage.work] * scale(stage.work)
        for stage in plan
        if stage.name not in done
    }
