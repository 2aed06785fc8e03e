"""How a stage shows itself: a live line on a terminal, a plain line now and then elsewhere; all on stderr."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from climbable.cli.output import console, plain, say
from climbable.core.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


def make_progress() -> Progress:
    """The form that suits stderr."""
    return Live() if sys.stderr.isatty() else Lines()


def figure(value: float | str) -> str:
    """A figure for a progress line."""
    return plain(value, 40) if isinstance(value, str) else f"{value:.3g}"


def duration(seconds: float) -> str:
    """``48 s``, ``3 min``, ``1 h 05 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


class Lines:
    """A line at the start and the end of a stage, and at most one in `every_s` seconds between."""

    def __init__(self, every_s: float = 15.0) -> None:
        self._every_s = every_s
        self._stage, self._unit = "", ""
        self._total = self._done = 0
        self._began = self._said = 0.0
        self._figures: dict[str, float | str] = {}

    def start(self, stage: str, total: int, unit: str) -> None:
        """Begins `stage`."""
        self._stage, self._total, self._unit, self._done = stage, total, unit, 0
        self._began = self._said = time.monotonic()
        self._figures = {}
        say(f"{stage}: {total} {unit}")

    def advance(self, units: int = 1, **figures: float | str) -> None:
        """Counts; now and then says how far it is, and how long it will still take."""
        self._done += units
        self._figures |= figures
        now = time.monotonic()
        if now - self._said >= self._every_s:
            self._said = now
            left = (now - self._began) / max(1, self._done) * max(0, self._total - self._done)
            say(f"{self._stage}: {self._done}/{self._total} {self._unit}{self._shown()}, about {duration(left)} left")

    def finish(self) -> None:
        """Says how long it took."""
        took = duration(time.monotonic() - self._began)
        say(f"{self._stage}: {self._done} {self._unit} in {took}{self._shown()}")

    def say(self, line: str) -> None:
        """Prints a line."""
        say(line)

    def _shown(self) -> str:
        return "".join(f", {name} {figure(value)}" for name, value in self._figures.items())


class Live:
    """A line that is rewritten in place: stage, bar, how far, how long, the latest figures."""

    def __init__(self, screen: Console | None = None) -> None:
        self._console = screen or console(stderr=True)
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._figures: dict[str, float | str] = {}

    def start(self, stage: str, total: int, unit: str) -> None:
        """Begins `stage`; one that is still open ends."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self.finish()
        self._figures = {}
        self._bar = RichProgress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn(unit, markup=False),
            TimeElapsedColumn(),
            TextColumn("left", style="dim"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
            console=self._console,
        )
        self._bar.start()
        self._task = self._bar.add_task(stage, total=total, figures="")

    def advance(self, units: int = 1, **figures: float | str) -> None:
        """Counts and shows the latest figures."""
        if self._bar is None or self._task is None:
            return
        self._figures |= figures
        shown = "  ".join(f"{name} {figure(value)}" for name, value in self._figures.items())
        self._bar.update(self._task, advance=units, figures=shown)

    def finish(self) -> None:
        """Ends the stage and leaves its last line."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None

    def say(self, line: str) -> None:
        """Prints a line above the bar."""
        self._console.print(plain(line))
