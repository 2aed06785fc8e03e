"""``climb train``: GRPO."""

from __future__ import annotations

from pathlib import Path

import click

from climbable.cli import options, output


@click.command()
@options.recipe
@options.run_folder
@click.option("--force", is_flag=True, help="Train without a passing gate and pilot; the records say so.")
@options.blender
@options.as_json
def command(recipe: Path, folder: Path | None, force: bool, blender: str | None, as_json: bool) -> int:
    """GRPO from where the warm-up, or the model, stands; goes on from the last checkpoint.

    It wants a passing gate and pilot of the same model, prompt and temperature in the run's folder.

    \b
    Example:
      climb train recipes/quickstart.toml --run runs/quickstart
    """
    from climbable.cli.stage import open_work
    from climbable.pipeline import stages

    with open_work(recipe, folder, blender) as work:
        stages.grpo(work, force=force)
        if as_json:
            output.emit({"adapter": str(work.run.adapter), "metrics": str(work.run.metrics)})
        else:
            output.say(f"trained: {work.run.adapter}; next: climb eval {recipe}")
    return 0
