"""``climb eval``: a frozen policy on test tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from climbable.cli import options, output
from climbable.core.errors import UserError

if TYPE_CHECKING:
    from climbable.evaluate import Evaluation, Figures

VERB = {"trained": "train", "warmup": "warmup"}
"""What makes each kind of policy."""


@click.command()
@options.recipe
@options.run_folder
@click.option(
    "--policy",
    type=click.Choice(["base", "warmup", "trained"]),
    help="The model untrained, warmed up or trained; default: the furthest that the run has.",
)
@options.blender
@options.as_json
def command(recipe: Path, folder: Path | None, policy: str | None, blender: str | None, as_json: bool) -> int:
    """A policy on test tasks of trained and held-out families, with intervals.

    \b
    Example:
      climb eval recipes/quickstart.toml --run runs/quickstart --policy trained
    """
    from climbable.cli.stage import open_work
    from climbable.pipeline import stages
    from climbable.pipeline.costs import finished

    with open_work(recipe, folder, blender) as work:
        own = {"trained": work.run.adapter, "warmup": work.run.warmup}
        name = policy or next((name for name, path in own.items() if path.exists()), "base")
        if name in own and not own[name].exists():
            raise UserError(f"{work.run.path} has no {own[name].name}/ yet: `climb {VERB[name]} {recipe}` makes it")
        figures = stages.evaluation(work, own.get(name), name)
        if name == "trained" and finished(work.run, "eval.base"):
            stages.comparison(work, "base", "trained")
        if as_json:
            output.emit(figures.to_json())
        else:
            show(name, figures)
    return 0


def show(name: str, figures: Evaluation) -> None:
    """Prints an evaluation for a person."""
    grid = output.table("", ">tasks", ">pass@1", ">95 % interval", ">reward", ">failed", ">unmeasured", title=name)
    for part, each in {**figures.families, "all trained": figures.trained, "all held out": figures.held_out}.items():
        if each.tasks:
            grid.add_row(*_row(part, each))
    output.console().print(grid)


def _row(part: str, figures: Figures) -> list[str]:
    share = figures.pass_at_1
    return [
        part,
        str(figures.tasks),
        f"{share.estimate:.1%}",
        f"{share.low:.1%} to {share.high:.1%}",
        f"{figures.reward.estimate:.3f}",
        f"{figures.crashed.estimate:.1%}",
        str(figures.unmeasured),
    ]
