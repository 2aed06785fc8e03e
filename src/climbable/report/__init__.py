"""A run as one HTML file that opens offline.

``load`` reads the folder, whatever state it is in; ``words`` says what happened; ``tables`` and ``charts`` show it;
``signal`` says where there is something to learn; ``samples`` picks five completions to look at; ``page`` puts them into ``page.html.j2``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from climbable.core.run import RunFolder

__all__ = ["outlook", "write_report"]


def outlook(run: RunFolder) -> list[str]:
    """In sentences: what is solved and what is hopeless, how long the signal will last, and what to do about it."""
    from climbable.report.load import load_run
    from climbable.report.signal import sentences

    return sentences(load_run(run))


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
