"""A run as one HTML file that opens offline.

``load`` reads the folder, whatever state it is in; ``words`` says what happened; ``tables`` and ``charts`` show it;
``samples`` picks five completions to look at; ``page`` puts them into ``page.html.j2``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from climbable.core.run import RunFolder

__all__ = ["write_report"]


def write_report(run: RunFolder, out: Path | None = None) -> Path:
    """Writes the page of `run` to `out` (default: ``report.html`` in its folder) and returns its path.

    A run that is unfinished, or was killed, gets the page of what it has. A folder that holds no run is a `UserError`;
    without jinja2 and matplotlib it is `Unavailable`.
    """
    from climbable.core import records
    from climbable.report.load import load_run
    from climbable.report.page import render

    target = out or run.report
    records.write_whole(target, render(load_run(run)))
    return target
