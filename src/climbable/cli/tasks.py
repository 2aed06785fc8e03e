"""``climb tasks``: what is asked of a policy."""

from __future__ import annotations

import click

from climbable.cli import options, output
from climbable.core.skill import SPLITS


@click.command()
@options.skill
@click.option("--split", default="test", show_default=True, help=f"One of {', '.join(SPLITS)}.")
@click.option("--family", help="Only this one; default: every family that has the split.")
@click.option("-n", "count", type=click.IntRange(min=1), default=5, show_default=True, help="Tasks for each family.")
@click.option("--start", type=click.IntRange(min=0), default=0, show_default=True, help="The first index.")
@options.as_json
def command(skill: str, split: str, family: str | None, count: int, start: int, as_json: bool) -> int:
    """The tasks of a skill; with --json as JSON lines.

    \b
    Examples:
      climb tasks scene --family stack -n 3
      climb tasks scene --split train -n 100 --json > tasks.jsonl
    """
    from climbable.skills import load_skill

    known = load_skill(skill)
    families = [family] if family else [each.name for each in known.families if split != "train" or not each.held_out]
    tasks = (known.task(name, split, index) for name in families for index in range(start, start + count))
    if as_json:
        for task in tasks:
            output.emit(task.to_json(), indent=False)
        return 0
    grid = output.table("task", "prompt")
    for task in tasks:
        grid.add_row(task.id, output.plain(task.prompt))
    output.console().print(grid)
    return 0
