"""How long the signal will last: the share of groups with signal, fitted over the steps, and when it falls below a bar.

The model: at step t a group has signal with the chance p(t), logit p(t) = a + b t (logistic decay), fitted by maximum
likelihood to the counts of each step (Cox 1958; Newton's method). The interval is a bootstrap over steps, since the groups
of one step share the weights that sampled them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from climbable.core.stats import RESAMPLES, quantile

LEAST_STEPS = 8
"""With fewer steps there is no fit."""

Counts = tuple[float, int, int]
"""Step, groups with signal, groups that were measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """logit p(t) = `intercept` + `slope` × t."""

    intercept: float
    slope: float

    def share(self, step: float) -> float:
        """p(step)."""
        return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, self.intercept + self.slope * step))))

    def reaches(self, share: float) -> float:
        """The step at which p falls to `share`; infinite if it does not fall."""
        return (math.log(share / (1.0 - share)) - self.intercept) / self.slope if self.slope < 0 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhaustion:
    """The fit at the latest step, and the steps that are left until the share falls below `bar`."""

    share: float
    bar: float
    left: float
    """Steps; 0 where the share is below the bar already, infinite where it does not fall."""
    low: float
    high: float
    """95 % interval of `left`."""
    steps: int
    """Behind the fit."""

    def to_json(self) -> dict[str, Any]:
        """All of it; ``null`` for infinite."""
        finite = {
            name: value if math.isfinite(value := getattr(self, name)) else None for name in ("left", "low", "high")
        }
        return {"share": self.share, "bar": self.bar, "steps": self.steps, **finite}


def fit(counts: Sequence[Counts]) -> Curve | None:
    """The curve of the greatest likelihood; ``None`` where there is none (too few steps, or a clean break between 0 and 1)."""
    usable = [(step, k, n) for step, k, n in counts if n]
    if len({step for step, _, _ in usable}) < 2:
        return None
    total = sum(n for _, _, n in usable)
    middle = math.fsum(step * n for step, _, n in usable) / total
    scale = max(abs(step - middle) for step, _, _ in usable)
    points = [((step - middle) / scale, k, n) for step, k, n in usable]
    a = b = 0.0
    for _ in range(50):
        shares = [Curve(intercept=a, slope=b).share(x) for x, _, _ in points]
        weights = [n * p * (1 - p) for (_, _, n), p in zip(points, shares, strict=True)]
        g0 = math.fsum(k - n * p for (_, k, n), p in zip(points, shares, strict=True))
        g1 = math.fsum(x * (k - n * p) for (x, k, n), p in zip(points, shares, strict=True))
        h00 = math.fsum(weights)
        h01 = math.fsum(w * x for w, (x, _, _) in zip(weights, points, strict=True))
        h11 = math.fsum(w * x * x for w, (x, _, _) in zip(weights, points, strict=True))
        determinant = h00 * h11 - h01 * h01
        if determinant <= 1e-12 * total * total:
            return None  # the likelihood grows without end
        da, db = (h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant
        longest = max(abs(da), abs(db))
        if longest > 2.0:  # a long way is gone in small steps, or Newton's method may miss the top
            da, db = da * 2.0 / longest, db * 2.0 / longest
        a, b = a + da, b + db
        if longest < 1e-12:
            return Curve(intercept=a - b * middle / scale, slope=b / scale)
    return None


def exhaustion(
    counts: Sequence[Counts], *, bar: float = 0.1, resamples: int = RESAMPLES // 4, seed: int = 0
) -> Exhaustion | None:
    """When the share falls below `bar`, from the counts of each step; ``None`` with too few steps, or no curve."""
    usable = [each for each in counts if each[2]]
    curve = fit(usable) if len(usable) >= LEAST_STEPS else None
    if curve is None:
        return None
    now = max(step for step, _, _ in usable)
    draw = random.Random(seed)
    curves = [fit(draw.choices(usable, k=len(usable))) for _ in range(resamples)]
    lefts = sorted(_left(each, now, bar) for each in curves if each)
    if not lefts:
        return None
    return Exhaustion(
        share=curve.share(now),
        bar=bar,
        left=_left(curve, now, bar),
        low=quantile(lefts, 0.025),
        high=quantile(lefts, 0.975),
        steps=len(usable),
    )


def _left(curve: Curve, now: float, bar: float) -> float:
    return 0.0 if curve.share(now) < bar else max(0.0, curve.reaches(bar) - now)
