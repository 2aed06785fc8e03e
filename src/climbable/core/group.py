"""A group is the completions of one task, compared with each other; it has signal if their rewards differ.

Rewards are lists with ``None`` for what was not measured: it leaves the group. The same floor decides everywhere
whether rewards differ, since a spread that is only rounding would be blown up by the division through it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from climbable.core.types import Score, Task

SIGNAL_FLOOR = 1e-3
"""A group whose standard deviation is below this has no signal."""

EPSILON = 1e-4
"""Added to the spread before the division, as TRL's GRPOTrainer does."""

Rewards = Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One completion with its score."""

    task: Task
    sample: int
    completion: str
    tokens: int
    truncated: bool
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The scored completions of one task."""

    task: Task
    samples: tuple[Sample, ...]

    @property
    def rewards(self) -> tuple[float | None, ...]:
        """The rewards in the order of the samples, ``None`` where unmeasured."""
        return tuple(sample.score.reward for sample in self.samples)


def spread(rewards: Rewards) -> float:
    """The sample standard deviation (n − 1) of the measured rewards; 0 for fewer than two."""
    measured = [reward for reward in rewards if reward is not None]
    if len(measured) < 2:
        return 0.0
    mean = math.fsum(measured) / len(measured)
    return math.sqrt(math.fsum((reward - mean) ** 2 for reward in measured) / (len(measured) - 1))


def has_signal(rewards: Rewards) -> bool:
    """Whether the measured rewards differ by more than rounding."""
    return spread(rewards) >= SIGNAL_FLOOR


def advantages(rewards: Rewards) -> list[float | None]:
    """(reward − mean) / (spread + ε) within the group: GRPO, Shao et al. 2024, section 4.1.2, with TRL's ε.

    A group without signal has advantage 0 throughout; an unmeasured sample has ``None``, and does not shift the mean.
    """
    measured = [reward for reward in rewards if reward is not None]
    if not has_signal(rewards):
        return [None if reward is None else 0.0 for reward in rewards]
    mean, scale = math.fsum(measured) / len(measured), spread(rewards) + EPSILON
    return [None if reward is None else (reward - mean) / scale for reward in rewards]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """How many groups can teach something, and why the others can't."""

    groups: int
    with_signal: int
    solved: int
    """All alike, and all at the ceiling: nothing left to learn here."""
    hopeless: int
    """All alike, and below the ceiling: nothing to prefer."""
    unmeasured: int
    """Fewer than two samples were measured: not counted in any share."""

    @property
    def share(self) -> float:
        """Groups with signal among those that were measured; 0 where none was."""
        counted = self.groups - self.unmeasured
        return self.with_signal / counted if counted else 0.0

    def to_json(self) -> dict[str, Any]:
        """The counts and the share."""
        return {
            "groups": self.groups,
            "with_signal": self.with_signal,
            "solved": self.solved,
            "hopeless": self.hopeless,
            "unmeasured": self.unmeasured,
            "share": self.share,
        }


def signal(groups: Iterable[Rewards], *, ceiling: float) -> Signal:
    """Counts groups by whether their rewards differ; `ceiling` is the skill's highest reward."""
    total = differing = solved = hopeless = unmeasured = 0
    for rewards in groups:
        total += 1
        measured = [reward for reward in rewards if reward is not None]
        if len(measured) < 2:
            unmeasured += 1
        elif has_signal(rewards):
            differing += 1
        elif min(measured) >= ceiling - SIGNAL_FLOOR:
            solved += 1
        else:
            hopeless += 1
    return Signal(groups=total, with_signal=differing, solved=solved, hopeless=hopeless, unmeasured=unmeasured)
