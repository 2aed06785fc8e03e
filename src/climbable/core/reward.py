"""Partial credit: a reward that a policy can climb before it solves anything."""

from __future__ import annotations

from collections.abc import Sequence

from climbable.core.types import Check


def partial_credit(
    checks: Sequence[Check], *, solved: bool, ran: float = 0.1, share: float = 0.5, bonus: float = 0.4
) -> dict[str, float]:
    """The reward's parts: `ran` for a result at all, `share` × passed / all checks, `bonus` if solved.

    Each part is rounded to 4 decimals, and so is their sum wherever it becomes a reward: 6 of 7 checks give
    0.1 + 0.4286 = 0.5286.
    """
    passed = sum(check.passed for check in checks)
    earned = share * passed / len(checks) if checks else 0.0
    return {"ran": ran, "checks": round(earned, 4), "bonus": bonus if solved else 0.0}
