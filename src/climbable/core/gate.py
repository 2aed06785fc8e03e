"""The gate: is this reward climbable for this policy at all? A verdict with figures, reasons and advice.

It wants the mean reward inside a band (neither hopeless nor solved) and enough groups whose rewards differ, measured
at the temperature that training will use. A spread that is nearly always only "failed or not" is no go, since climbing it
teaches harmless code and nothing of the skill.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from climbable.core.group import Group, Signal, has_signal, signal
from climbable.core.stats import Interval, bootstrap_mean, never_seen_bound, wilson
from climbable.core.types import Outcome

MOST_UNMEASURED = 0.1
"""With a larger share of samples unmeasured there is no verdict."""

MANY_TRUNCATED = 0.25
"""With a larger share of answers cut at the limit, the limit is worth a word."""

MOST_CRASH_ONLY = 0.9
"""From this share of the groups with signal on, a spread that is only failing or not is no go: what is left of it is chance."""

MOST_FAILURES = 8
"""So many kinds of failure are named."""


class Answer(StrEnum):
    """What the gate says."""

    GO = "go"
    NO_GO = "no-go"
    UNMEASURED = "unmeasured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What the gate asks for."""

    least_mean: float = 0.15
    most_mean: float = 0.85
    least_signal: float = 0.4
    """Share of groups whose rewards differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """The gate's answer; shares are of samples unless they say groups."""

    answer: Answer
    bar: Bar
    reward: Interval
    signal: Signal
    signal_share: Interval
    solved: Interval
    failed: Interval
    unmeasured: int
    crash_only: float
    """Share of the groups with signal in which all scored samples earned the same: they differ only by failing."""
    graded: Interval
    """Share of the groups with signal in which scored samples differ among each other: the rest."""
    truncated: float
    """Share of the answers that did not end within ``sampling.max_new_tokens``."""
    failures: tuple[tuple[str, int], ...]
    """The most frequent reasons and details of failed samples."""
    reasons: tuple[str, ...]
    advice: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it, for ``gate.json``."""
        return {
            "answer": self.answer.value,
            "bar": {
                "least_mean": self.bar.least_mean,
                "most_mean": self.bar.most_mean,
                "least_signal": self.bar.least_signal,
            },
            "reward": self.reward.to_json(),
            "signal": self.signal.to_json(),
            "signal_share": self.signal_share.to_json(),
            "solved": self.solved.to_json(),
            "failed": self.failed.to_json(),
            "unmeasured": self.unmeasured,
            "crash_only": self.crash_only,
            "graded": self.graded.to_json(),
            "truncated": self.truncated,
            "failures": [list(failure) for failure in self.failures],
            "reasons": list(self.reasons),
            "advice": list(self.advice),
        }


def judge_gate(groups: Sequence[Group], *, ceiling: float = 1.0, bar: Bar | None = None) -> GateVerdict:
    """The verdict on the groups of a policy that is not yet trained; `ceiling` is the skill's highest reward."""
    bar = bar or Bar()
    samples = [sample for group in groups for sample in group.samples]
    measured = [sample for sample in samples if sample.score.reward is not None]
    failed = [sample for sample in measured if sample.score.outcome is Outcome.FAILED]
    reward = bootstrap_mean(
        [sample.score.reward for sample in measured if sample.score.reward is not None],
        clusters=[sample.task.id for sample in measured],
    )
    counts = signal([group.rewards for group in groups], ceiling=ceiling)
    counted = counts.groups - counts.unmeasured
    solved = sum(sample.score.solved for sample in measured)
    flat = [group for group in groups if has_signal(group.rewards) and not has_signal(_scored(group))]
    answer, reasons = _answer(bar, reward, counts, flat, len(samples) - len(measured), len(samples))
    verdict = GateVerdict(
        answer=answer,
        bar=bar,
        reward=reward,
        signal=counts,
        signal_share=wilson(counts.with_signal, counted),
        solved=wilson(solved, len(measured)),
        failed=wilson(len(failed), len(measured)),
        unmeasured=len(samples) - len(measured),
        crash_only=len(flat) / counts.with_signal if counts.with_signal else 0.0,
        graded=wilson(counts.with_signal - len(flat), counts.with_signal),
        truncated=sum(sample.truncated for sample in samples) / len(samples) if samples else 0.0,
        failures=tuple(Counter(sample.score.fault for sample in failed).most_common(MOST_FAILURES)),
        reasons=tuple(reasons),
        advice=(),
    )
    return replace(verdict, advice=tuple(_advice(verdict)))


def _answer(
    bar: Bar, reward: Interval, counts: Signal, flat: Sequence[Group], unmeasured: int, samples: int
) -> tuple[Answer, list[str]]:
    if not samples or unmeasured / samples > MOST_UNMEASURED:
        return Answer.UNMEASURED, [
            f"{unmeasured} of {samples} samples could not be measured: that says nothing about the policy"
        ]
    reasons = []
    if not bar.least_mean <= reward.estimate <= bar.most_mean:
        where = "below" if reward.estimate < bar.least_mean else "above"
        reasons.append(f"mean reward {reward.estimate:.3f} is {where} the band {bar.least_mean} to {bar.most_mean}")
    if counts.share < bar.least_signal:
        reasons.append(
            f"{counts.share:.0%} of the groups have rewards that differ, less than {bar.least_signal:.0%} "
            f"({counts.solved} solved, {counts.hopeless} hopeless)"
        )
    graded = counts.with_signal - len(flat)
    if flat and len(flat) >= MOST_CRASH_ONLY * counts.with_signal:
        reasons.append(
            f"{len(flat)} of the {counts.with_signal} groups that differ do so only by failing or not ({_usual(flat)}), "
            f"{graded} between graded answers: there is too little of the skill to prefer"
        )
    if reasons:
        return Answer.NO_GO, reasons
    return Answer.GO, [
        f"mean reward {reward.estimate:.3f} is inside the band {bar.least_mean} to {bar.most_mean}, "
        f"and {counts.share:.0%} of the groups have rewards that differ"
    ]


def _advice(verdict: GateVerdict) -> list[str]:
    if verdict.answer is Answer.UNMEASURED:
        return ["`climb doctor` says what is missing; then measure again"]
    advice = []
    if verdict.answer is Answer.NO_GO and verdict.reward.estimate > verdict.bar.most_mean:
        advice.append("there is little left to learn: harder tasks, or other families")
    elif verdict.answer is Answer.NO_GO:
        advice.append("warm up with some supervised rows (`climb warmup RECIPE`), or make the tasks easier")
        if verdict.failed.estimate > 0.5:
            advice.append("more than half of the samples fail: a lower temperature may help as well")
        elif verdict.signal.share < verdict.bar.least_signal:
            advice.append("groups that all earn the same: a higher temperature or larger groups may tell samples apart")
    if 0.5 <= verdict.crash_only < MOST_CRASH_ONLY:
        advice.append(
            f"in {verdict.crash_only:.0%} of the differing groups the spread is only failing or not: look at the samples"
        )
    if verdict.truncated > MANY_TRUNCATED:
        advice.append(
            f"{verdict.truncated:.0%} of the answers were cut at the limit: raise sampling.max_new_tokens if a good "
            "answer is that long"
        )
    if verdict.solved.n and not verdict.solved.estimate:
        bound = never_seen_bound(verdict.solved.n)
        advice.append(
            f"no sample of {verdict.solved.n} was solved, so its chance is at most {bound:.2%} (95 %): "
            "partial credit has to lead there"
        )
    return advice


def _scored(group: Group) -> list[float | None]:
    return [sample.score.reward for sample in group.samples if sample.score.outcome is Outcome.SCORED]


def _usual(flat: Sequence[Group]) -> str:
    """Such as ``mostly 0.1 against 0``: what scored and what failed samples of these groups earn."""
    pairs = Counter(
        (max(reward for reward in _scored(group) if reward is not None), sample.score.reward)
        for group in flat
        for sample in group.samples
        if sample.score.outcome is Outcome.FAILED and sample.score.reward is not None
    )
    (scored, failed), _ = pairs.most_common(1)[0]
    return f"mostly {scored:.4g} against {failed:.4g}"
