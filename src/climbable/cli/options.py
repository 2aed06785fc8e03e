"""Options and arguments that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

ENGINES = ("docker", "podman")
"""As `climbable.sandbox.container.ENGINES`, which is not imported for a help text."""

Verb = TypeVar("Verb", bound=Callable[..., Any])

as_json: Callable[[Verb], Verb] = click.option(
    "--json", "as_json", is_flag=True, help="JSON on stdout, everything else on stderr."
)

skill: Callable[[Verb], Verb] = click.argument("skill")

recipe: Callable[[Verb], Verb] = click.argument("recipe", type=click.Path(path_type=Path))

run_folder: Callable[[Verb], Verb] = click.option(
    "--run",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The run's folder; default: runs/ and the recipe's name.",
)

blender: Callable[[Verb], Verb] = click.option(
    "--blender",
    metavar="PATH",
    help="A Python that has bpy, or a blender executable; default: CLIMBABLE_BLENDER, then what is installed.",
)


def sandbox(verb: Verb) -> Verb:
    """The options that set up a `Verifier`: workers, time, memory, container and Blender."""
    verb = click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=40.0,
        show_default=True,
        metavar="S",
        help="Seconds of wall time for one script.",
    )(verb)
    verb = click.option(
        "--memory",
        type=click.IntRange(min=256),
        default=4096,
        show_default=True,
        metavar="MIB",
        help="Memory for one script.",
    )(verb)
    verb = click.option(
        "--workers", type=click.IntRange(min=0), default=0, metavar="N", help="Scripts at once; default: one a core."
    )(verb)
    verb = click.option(
        "--container",
        type=click.Choice(ENGINES),
        help="Run scripts in a container of this engine, where the system has no jail of its own.",
    )(verb)
    return blender(verb)
