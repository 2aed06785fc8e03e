"""``climb eval``: a frozen policy on test tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from climbable.cli import options, output, rescoring
from climbable.core.errors import UserError

if TYPE_CHECKING:
    from climbable.evaluate import Evaluation, Figures

VERB = {"trained": "train", "warmup": "warmup"}
"""What makes each kind of policy."""


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path), required=False)
@options.run_folder
@click.option(
    "--policy",
    type=click.Choice(["base", "warmup", "trained"]),
    help="The model untrained, warmed up or trained; default: the furthest that the run has.",
)
@click.option(
    "--rescore",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="RUN",
    help="Score a run's saved completions again, after a checker changed; samples nothing and leaves the run's scores alone.",
)
@click.option("--stage", "stages", multiple=True, help="With --rescore: only this stage; default: every evaluation.")
@options.blender
@options.as_json
def command(
    recipe: Path | None,
    folder: Path | None,
    policy: str | None,
    rescore: Path | None,
    stages: tuple[str, ...],
    blender: str | None,
    as_json: bool,
) -> int:
    """A policy on test tasks of trained and held-out families, with intervals.

    \b
    Examples:
      climb eval recipes/quickstart.toml --run runs/quickstart --policy trained
      climb eval --rescore runs/quickstart
      climb eval --rescore runs/quickstart --stage train
    """
    if rescore is not None:
        if recipe or folder or policy:
            raise UserError("--rescore takes the run's own recipe: leave RECIPE, --run and --policy out")
        return rescoring.command(rescore, stages, blender, as_json)
    if recipe is None:
        raise UserError("name a recipe, such as recipes/quickstart.toml, or a run with --rescore RUN")
    if stages:
        raise UserError("--stage goes with --rescore RUN")
    return _evaluate(recipe, folder, policy, blender, as_json)


def _evaluate(recipe: Path, folder: Path | None, policy: str | None, blender: str | None, as_json: bool) -> int:
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
