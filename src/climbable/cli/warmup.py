"""``climb warmup``: supervised rows by the skill's teacher."""

from __future__ import annotations

from pathlib import Path

import click

from climbable.cli import options, output
from climbable.core.errors import UserError


@click.command()
@options.recipe
@options.run_folder
@options.blender
@options.as_json
def command(recipe: Path, folder: Path | None, blender: str | None, as_json: bool) -> int:
    """Teach a little by examples of the skill's teacher, so that the reward can be climbed.

    \b
    Example:
      climb warmup recipes/quickstart.toml --run runs/quickstart
    """
    from climbable.cli.stage import open_work
    from climbable.pipeline import stages

    with open_work(recipe, folder, blender) as work:
        if not work.recipe.warmup.rows:
            raise UserError(f"recipe {str(recipe)!r} has no warm-up: 'warmup.rows' is 0")
        stages.warmup(work)
        if as_json:
            output.emit({"warmup": str(work.run.warmup)})
        else:
            output.say(f"warmed up: {work.run.warmup}; next: climb gate {work.skill.name} --policy {work.run.warmup}")
    return 0
