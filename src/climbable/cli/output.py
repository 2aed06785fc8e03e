"""What a verb prints: JSON for programs, tables for people. Text that a model wrote is made harmless first."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from climbable.core.plain import plain, short
from climbable.core.types import finite_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["console", "emit", "plain", "say", "short", "table"]


def emit(value: Any, *, indent: bool = True) -> None:
    """One JSON value on stdout, in ASCII so that every terminal and lone surrogates survive it."""
    print(json.dumps(finite_json(value), allow_nan=False, indent=2 if indent else None))


def say(line: str = "") -> None:
    """A line on stderr."""
    print(plain(line), file=sys.stderr, flush=True)


def console(*, stderr: bool = False) -> Console:
    """A Rich console that takes text as it is: no markup, no emoji codes, no guessing at numbers."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=False)


def table(*columns: str, title: str | None = None) -> Table:
    """An airy table; a column whose name starts with ``>`` is aligned to the right."""
    from rich import box
    from rich.table import Table

    grid = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for name in columns:
        grid.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    return grid
