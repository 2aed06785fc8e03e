"""Estimates with their uncertainty: pass@k, shares, means and paired comparisons. Seeded, and nothing but arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

Z_95 = 1.959963984540054
"""The 0.975 quantile of the normal distribution."""

RESAMPLES = 2000
EXACT_PAIRS = 16
"""Up to this many differing pairs, a sign-flip test counts every pattern of signs instead of drawing some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with a 95 % interval; `n` is the number of independent units behind it."""

    estimate: float
    low: float
    high: float
    n: int

    def to_json(self) -> dict[str, Any]:
        """The four numbers."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high, "n": self.n}

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}]"


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that one of `k` samples passes, from `c` passes in `n`: 1 − C(n−c, k) / C(n, k), unbiased.

    Chen et al. 2021, equation 1. A ValueError if not 0 ≤ c ≤ n and 1 ≤ k ≤ n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@k needs 0 ≤ c ≤ n and 1 ≤ k ≤ n, not n={n}, c={c}, k={k}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def wilson(successes: int, n: int, *, z: float = Z_95) -> Interval:
    """The share `successes` / `n` with its Wilson score interval (Wilson 1927); for n = 0 nothing is known: [0, 1]."""
    if not 0 <= successes <= n:
        raise ValueError(f"a share needs 0 ≤ successes ≤ n, not {successes} of {n}")
    if n == 0:
        return Interval(estimate=0.0, low=0.0, high=1.0, n=0)
    share, square = successes / n, z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(estimate=share, low=low, high=high, n=n)


def bootstrap_mean(
    values: Sequence[float], *, clusters: Sequence[Hashable] | None = None, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """The mean of `values` with a percentile bootstrap interval (Efron 1979).

    With `clusters`, one label a value, whole clusters are drawn: samples of one task, or variants of one layout, are no
    independent evidence. `n` is then the number of clusters. No value gives [0, 0] with n = 0.
    """
    labels: Sequence[Hashable] = clusters if clusters is not None else range(len(values))
    if len(labels) != len(values):
        raise ValueError(f"{len(values)} values need as many cluster labels, not {len(labels)}")
    by_cluster: dict[Hashable, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        by_cluster.setdefault(label, []).append(value)
    if not by_cluster:
        return Interval(estimate=0.0, low=0.0, high=0.0, n=0)
    sums = [(math.fsum(members), len(members)) for members in by_cluster.values()]
    draw = random.Random(seed)
    means = []
    for _ in range(resamples):
        drawn = draw.choices(sums, k=len(sums))
        means.append(math.fsum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    return Interval(
        estimate=math.fsum(values) / len(values),
        low=quantile(means, 0.025),
        high=quantile(means, 0.975),
        n=len(sums),
    )


def clustered_share(passes: Sequence[tuple[int, int]], *, seed: int = 0) -> Interval:
    """The mean over tasks of passes / samples, from one (passes, samples) a task, with an interval over tasks.

    A bootstrap over tasks, except where every task has the same share: there it would claim certainty, so the
    Wilson interval for that many tasks is given.
    """
    shares = [c / n for c, n in passes if n]
    if not shares or min(shares) == max(shares):
        whole = wilson(round(sum(shares)), len(shares))
        estimate = shares[0] if shares else 0.0
        return Interval(estimate=estimate, low=min(whole.low, estimate), high=max(whole.high, estimate), n=len(shares))
    return bootstrap_mean(shares, seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Two policies on the same tasks: the mean difference (second − first) and how surprising it would be by chance."""

    difference: Interval
    p_value: float
    better: int
    worse: int
    same: int
    test: str

    def to_json(self) -> dict[str, Any]:
        """The difference, its p-value and the counts behind it."""
        return {
            "difference": self.difference.to_json(),
            "p_value": self.p_value,
            "better": self.better,
            "worse": self.worse,
            "same": self.same,
            "test": self.test,
        }


def paired(first: Sequence[float], second: Sequence[float], *, seed: int = 0, resamples: int = 10_000) -> Paired:
    """A two-sided sign-flip permutation test on per-task means of two policies (Fisher 1935).

    Exact for up to `EXACT_PAIRS` differing tasks (with passes of 0 or 1 it is then McNemar's exact test); beyond that
    from `resamples` seeded flips, where p is (hits + 1) / (resamples + 1).
    """
    if len(first) != len(second):
        raise ValueError(f"a paired test needs as many tasks on both sides, not {len(first)} and {len(second)}")
    differences = [b - a for a, b in zip(first, second, strict=True)]
    moved = [d for d in differences if abs(d) > 1e-12]
    observed = abs(math.fsum(moved)) - 1e-9
    if len(moved) <= EXACT_PAIRS:
        hits = sum(
            abs(math.fsum(d if signs >> i & 1 else -d for i, d in enumerate(moved))) >= observed
            for signs in range(1 << len(moved))
        )
        p_value, test = hits / (1 << len(moved)), "sign-flip permutation, exact"
    else:
        draw = random.Random(seed)
        hits = 0
        for _ in range(resamples):
            signs = draw.getrandbits(len(moved))
            hits += abs(math.fsum(d if signs >> i & 1 else -d for i, d in enumerate(moved))) >= observed
        p_value, test = (hits + 1) / (resamples + 1), f"sign-flip permutation, {resamples} flips"
    return Paired(
        difference=bootstrap_mean(differences, seed=seed),
        p_value=p_value,
        better=sum(d > 1e-12 for d in differences),
        worse=sum(d < -1e-12 for d in differences),
        same=len(differences) - len(moved),
        test=test,
    )


def never_seen_bound(n: int, *, confidence: float = 0.95) -> float:
    """The upper bound for the chance of what happened in 0 of `n` tries: 1 − (1 − confidence)^(1/n), about 3 / n."""
    return 1.0 - (1.0 - confidence) ** (1.0 / n) if n else 1.0


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of sorted values by linear interpolation (Hyndman and Fan 1996, type 7)."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    if place == below or ordered[below] == ordered[above]:
        return ordered[below]  # an infinite value too
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
