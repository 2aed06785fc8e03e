"""The ladder: once a level is solved, most prompts come from the next rung, and some still from all that came before.

The first level is the recipe's families; the rungs follow in the recipe's order. Where the ladder stands is a function
of the groups that are recorded, so that a resumed run stands where it stood.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from climbable.recipe import LadderSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the ladder looks at in a group."""

    family: str
    solved: int
    measured: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Climb:
    """A move up: the steps after `step` draw from `rung`."""

    step: int
    rung: str
    solved: str
    """The level below, by its families."""
    pass_at_1: float
    groups: int
    """The latest groups of that level, which this share is of."""

    def to_json(self) -> dict[str, Any]:
        """For the step's line in ``metrics.jsonl``."""
        return {"rung": self.rung, "solved": self.solved, "pass_at_1": self.pass_at_1, "groups": self.groups}


class Ladder:
    """Where the run stands. A level is solved when pass@1 over its latest `window` groups is `solved_at` or more."""

    def __init__(self, settings: LadderSettings, families: Sequence[str]) -> None:
        self._settings = settings
        self._levels = [tuple(families), *((rung,) for rung in settings.rungs)]
        self._place = 0
        self._latest: deque[Result] = deque(maxlen=settings.window)

    @property
    def level(self) -> str:
        """The families of the newest level that is drawn from."""
        return ", ".join(self._levels[self._place])

    def families(self, prompts: int) -> list[tuple[str, ...]]:
        """For each of a step's prompts the families that it may be drawn from; at least one prompt is the newest level's."""
        earlier = tuple(name for level in self._levels[: self._place] for name in level)
        kept = min(prompts - 1, round(self._settings.keep * prompts)) if earlier else 0
        return [self._levels[self._place]] * (prompts - kept) + [earlier] * kept

    def note(self, step: int, results: Sequence[Result]) -> Climb | None:
        """Looks at a step's groups; a `Climb` if they complete the newest level and there is a rung above.

        Groups without a measured sample say nothing, and don't fill the window.
        """
        newest = self._levels[self._place]
        self._latest.extend(result for result in results if result.family in newest and result.measured)
        if self._place + 1 == len(self._levels) or len(self._latest) < self._settings.window:
            return None
        share = sum(result.solved / result.measured for result in self._latest) / len(self._latest)
        if share < self._settings.solved_at:
            return None
        solved, groups = self.level, len(self._latest)
        self._place += 1
        self._latest.clear()
        return Climb(step=step, rung=self.level, solved=solved, pass_at_1=share, groups=groups)
