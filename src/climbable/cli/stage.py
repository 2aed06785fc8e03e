"""What the verbs that take a recipe share: loading it, opening the run's folder, and the work of one stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from climbable.cli.progress import make_progress
from climbable.pipeline import Work, open_run
from climbable.recipe import load_recipe
from climbable.skills import load_skill


@contextmanager
def open_work(recipe: Path, folder: Path | None, blender: str | None, *, fresh: bool = False) -> Iterator[Work]:
    """The work of the recipe in file `recipe`, in its run's folder, which is locked until the block ends."""
    loaded = load_recipe(recipe)
    skill = load_skill(loaded.skill)
    loaded.require_trainable(skill)
    with (
        open_run(loaded, folder, fresh=fresh) as run,
        Work(recipe=loaded, skill=skill, run=run, progress=make_progress(), interpreter=blender) as work,
    ):
        yield work
