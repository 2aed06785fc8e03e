"""``climb run``: the whole way."""

from __future__ import annotations

from pathlib import Path

import click

from climbable.cli import options, output


@click.command()
@options.recipe
@options.run_folder
@click.option("--resume", is_flag=True, help="Go on with the run that the folder holds, or begin it.")
@options.blender
@options.as_json
def command(recipe: Path, folder: Path | None, resume: bool, blender: str | None, as_json: bool) -> int:
    """All stages of a recipe, in order: gate, warm-up, gate, pilot, GRPO, evaluation, report.

    It stops with exit status 1 where a stage says no. After a kill, --resume loses at most the step in flight.

    \b
    Examples:
      climb run recipes/quickstart.toml
      climb run recipes/quickstart.toml --resume
    """
    from climbable.cli.stage import open_work
    from climbable.pipeline import run_recipe

    with open_work(recipe, folder, blender, fresh=not resume) as work:
        learnt = run_recipe(work)
    if as_json:
        output.emit(learnt.to_json())
    else:
        output.console().print(learnt.sentence(), soft_wrap=True)
    return 0
