"""``climb eval --rescore``: what a changed checker changes in a run that was sampled before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from climbable.cli import output
from climbable.cli.progress import make_progress

if TYPE_CHECKING:
    from climbable.rescore import Rescored

SHOWN = 20
"""Moved samples that a person sees; all of them are in the file."""


def command(folder: Path, stages: Sequence[str], blender: str | None, as_json: bool) -> int:
    """Scores again, writes the rows beside the old ones, and shows what moved."""
    from climbable.core import records
    from climbable.core.run import RunFolder
    from climbable.recipe import load_recipe
    from climbable.rescore import evaluated_stages, rescore
    from climbable.skills import load_skill
    from climbable.verify import Verifier

    run = RunFolder(folder)
    recipe = load_recipe(run.recipe)
    limits = recipe.verify
    with Verifier(
        load_skill(recipe.skill),
        workers=limits.workers,
        wall_s=limits.wall_s,
        memory_mib=limits.memory_mib,
        interpreter=blender,
    ) as verifier:
        chosen = stages or evaluated_stages(run.rollouts)
        found = rescore(run.rollouts, verifier, run.rescored, stages=chosen, progress=make_progress())
    records.write_json(run.rescored.with_suffix(".json"), found.to_json())
    if as_json:
        output.emit(found.to_json())
    else:
        _show(found)
        output.say(f"{len(found.moved)} samples moved; every row with its new score: {run.rescored}")
    return 0


def _show(found: Rescored) -> None:
    grid = output.table(
        "", ">samples", ">pass@1", ">now", ">reward", ">p", ">unmeasured", title=", ".join(found.stages)
    )
    for name, part in found.parts.items():
        n = max(1, part.samples)
        grid.add_row(
            name,
            str(part.samples),
            f"{part.solved_before / n:.1%}",
            f"{part.solved_after / n:.1%}",
            f"{part.reward.difference.estimate:+.4f}",
            f"{part.reward.p_value:.3g}",
            f"{part.unmeasured_before} → {part.unmeasured_after}",
        )
    output.console().print(grid)
    if found.moved:
        moved = output.table("moved", ">before", ">now", "why then", "why now")
        for row in found.moved[:SHOWN]:
            before, after = row["before"], row["after"]
            name = f"{row['task']} #{row['sample']}"
            moved.add_row(name, _reward(before), _reward(after), str(before["why"]), str(after["why"]))
        output.console().print(moved)


def _reward(score: dict[str, object]) -> str:
    return "unmeasured" if score["reward"] is None else f"{score['reward']:.4f}"
