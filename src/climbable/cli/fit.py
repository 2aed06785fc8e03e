"""``climb fit``: does a recipe fit a GPU?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from climbable.cli import options, output

if TYPE_CHECKING:
    from climbable.train.fit import Fit


@click.command()
@options.recipe
@click.option(
    "--gpu-gib", type=click.FloatRange(min=0, min_open=True), default=24.0, show_default=True, help="The GPU's memory."
)
@options.as_json
def command(recipe: Path, gpu_gib: float, as_json: bool) -> int:
    """Peak memory, predicted term by term before anything is loaded, and what to type where it does not fit.

    Exit status 1: it does not fit. The model may be a folder with config.json alone.

    \b
    Examples:
      climb fit recipes/scene-135m.toml
      climb fit recipes/scene-nemotron-4b.toml --gpu-gib 48
    """
    from climbable.recipe import load_recipe
    from climbable.skills import load_skill
    from climbable.train.fit import predict_fit

    loaded = load_recipe(recipe)
    fit = predict_fit(loaded, load_skill(loaded.skill), gpu_gib=gpu_gib)
    if as_json:
        output.emit(fit.to_json())
    else:
        show(fit)
    return 0 if fit.fits else 1


def show(fit: Fit) -> None:
    """Prints a prediction for a person."""
    from climbable.train.fit import GIB, MOMENTS

    moments = [moment for moment in MOMENTS if any(moment in term for term in fit.terms.values())]
    grid = output.table("GiB", *(f">{moment}" for moment in moments))
    for name, term in fit.terms.items():
        grid.add_row(name, *(f"{term[moment] / GIB:.2f}" if term.get(moment) else "" for moment in moments))
    grid.add_section()
    grid.add_row("in all", *(f"{fit.peaks[moment] / GIB:.2f}" for moment in moments))
    screen = output.console()
    screen.print(grid)
    screen.print(
        f"{fit.parameters / 1e6:,.0f} M parameters, {fit.trained / 1e6:,.1f} M trained; prompts of {fit.prompt_tokens} tokens"
    )
    verdict = "it fits" if fit.fits else "it does not fit"
    style = "green bold" if fit.fits else "red bold"
    screen.print(f"{verdict}: {fit.peak / GIB:.1f} of {fit.gpu / GIB:g} GiB", style=style)
    for line in fit.advice:
        screen.print(f"→ {line}")
