"""``climb pilot``: does a gradient flow at all?"""

from __future__ import annotations

from pathlib import Path

import click

from climbable.cli import options, output


@click.command()
@options.recipe
@options.run_folder
@options.blender
@options.as_json
def command(recipe: Path, folder: Path | None, blender: str | None, as_json: bool) -> int:
    """A few GRPO steps that must move the weights; they are thrown away. Exit status 1: they moved nothing.

    \b
    Example:
      climb pilot recipes/quickstart.toml --run runs/quickstart
    """
    from climbable.cli.stage import open_work
    from climbable.pipeline import stages

    with open_work(recipe, folder, blender) as work:
        record = stages.pilot(work)
        if as_json:
            output.emit(record)
        else:
            output.say(f"the pilot moved the weights ({work.run.pilot}); next: climb train {recipe}")
    return 0
