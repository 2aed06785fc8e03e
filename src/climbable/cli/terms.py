"""``climb terms``: which terms of the objective act, and why."""

from __future__ import annotations

from pathlib import Path

import click

from climbable.cli import options, output


@click.command()
@options.recipe
@click.option(
    "--stage", type=click.Choice(["warmup", "train"]), default="train", show_default=True, help="Whose objective."
)
@options.as_json
def command(recipe: Path, stage: str, as_json: bool) -> int:
    """Which terms of the objective act in a recipe: equation, value and reason of each.

    They are read from the configuration that the trainer would get; nothing is trained.

    \b
    Examples:
      climb terms recipes/quickstart.toml
      climb terms recipes/quickstart.toml --stage warmup --json
    """
    from dataclasses import asdict

    from climbable.recipe import load_recipe
    from climbable.train.terms.resolve import recipe_terms

    found = recipe_terms(load_recipe(recipe), stage)
    if as_json:
        output.emit({"stage": stage, "terms": [asdict(term) for term in found]})
        return 0
    grid = output.table("term", "acts", "value", "equation, and why it acts or not")
    for term in found:
        grid.add_row(term.name, "yes" if term.active else "no", term.value, f"{term.equation}\n{term.why}\n")
    output.console().print(grid)
    return 0
