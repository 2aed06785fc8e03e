"""Where the signal is: a step's groups by family and sub-kind, compact enough for each line of ``metrics.jsonl``."""

from __future__ import annotations

from collections.abc import Sequence

from climbable.core.group import Group, Rewards, signal
from climbable.core.skill import Skill

SignalByKind = dict[str, dict[str, list[int]]]
"""Family (``many@2`` is level 2 of ``many``) → sub-kind → groups with signal, solved, hopeless, unmeasured."""


def signal_by_kind(groups: Sequence[Group], skill: Skill) -> SignalByKind:
    """Counts `groups` as `climbable.core.group.signal` does."""
    rewards: dict[str, dict[str, list[Rewards]]] = {}
    for group in groups:
        of_family = rewards.setdefault(group.task.family, {})
        of_family.setdefault(skill.subkind(group.task), []).append(group.rewards)
    counts: SignalByKind = {}
    for family, kinds in sorted(rewards.items()):
        for kind, members in sorted(kinds.items()):
            total = signal(members, ceiling=skill.ceiling)
            counts.setdefault(family, {})[kind] = [total.with_signal, total.solved, total.hopeless, total.unmeasured]
    return counts
