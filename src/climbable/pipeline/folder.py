"""Opens a run's folder for one process at a time, and keeps two recipes from sharing one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from climbable.core import records
from climbable.core.errors import UserError
from climbable.core.run import RunFolder
from climbable.pipeline.environment import describe
from climbable.recipe import Recipe, dump_recipe


@contextmanager
def open_run(recipe: Recipe, path: Path | None = None, *, fresh: bool = False) -> Iterator[RunFolder]:
    """The folder of `recipe`'s run, locked until the block ends; by default ``runs/`` and the recipe's name.

    A new folder gets ``recipe.toml`` and ``environment.json``. A `UserError`: it holds another recipe's run, it holds a
    run although `fresh` asks for none, or another process works in it.
    """
    run = RunFolder(path or Path("runs") / recipe.name)
    run.path.mkdir(parents=True, exist_ok=True)
    with _lock(run):
        resolved = dump_recipe(recipe)
        if run.recipe.exists():
            if run.recipe.read_text(encoding="utf-8") != resolved:
                raise UserError(
                    f"{run.path} holds the run of another recipe ({_difference(run.recipe, resolved)}): "
                    "name another folder with --run DIR"
                )
            if fresh:
                raise UserError(f"{run.path} already holds this run: go on with --resume, or name another --run DIR")
        elif strangers := _strangers(run):
            raise UserError(f"{run.path} is no run's folder: it holds {strangers[0]!r}; name a new one with --run DIR")
        else:
            records.write_json(run.environment, describe())
            records.write_whole(run.recipe, resolved)
        yield run


_LOCK = ".lock"


@contextmanager
def _lock(run: RunFolder) -> Iterator[None]:
    """Holds the folder's lock, which the system lets go when the process ends, however it ends."""
    with (run.path / _LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another process is working in {run.path}: wait for it, or name another --run DIR"
            ) from None
        yield


def _strangers(run: RunFolder) -> list[str]:
    """Files that no run begins with; a kill may leave ``environment.json`` and parts of files, whose names begin with a dot."""
    return [name for name in os.listdir(run.path) if name != run.environment.name and not name.startswith(".")]


def _difference(path: Path, resolved: str) -> str:
    """The first line in which two resolved recipes differ."""
    there = path.read_text(encoding="utf-8").splitlines()
    here = resolved.splitlines()
    for old, new in zip(there, here, strict=False):
        if old != new:
            return f"{old!r} there, {new!r} here"
    return f"{len(there)} lines there, {len(here)} here"
