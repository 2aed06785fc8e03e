"""How a long stage says what it is doing: a protocol with a silent form; the terminal's form is in `climbable.cli`."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """One stage at a time: `start`, then `advance` per finished unit, then `finish`."""

    def start(self, stage: str, total: int, unit: str) -> None:
        """Begins `stage`, which will take `total` units such as ``steps`` or ``samples``."""

    def advance(self, units: int = 1, **figures: float | str) -> None:
        """Counts `units` as done and shows the latest `figures`, such as ``reward=0.41``."""

    def finish(self) -> None:
        """Ends the stage."""

    def say(self, line: str) -> None:
        """Prints a line that stays."""


class Silent:
    """Says nothing."""

    def start(self, stage: str, total: int, unit: str) -> None:
        """Nothing."""

    def advance(self, units: int = 1, **figures: float | str) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""

    def say(self, line: str) -> None:
        """Nothing."""
