"""Saved completions scored again after a checker changed: the same tasks and answers, fresh verification, and what moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from climbable.core import records
from climbable.core.errors import UserError
from climbable.core.progress import Progress
from climbable.core.stats import Paired, paired
from climbable.core.types import Score
from climbable.verify import Verifier

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One family, or all of them. Only samples that were measured both times count, but for `unmeasured`."""

    samples: int
    solved_before: int
    solved_after: int
    unmeasured_before: int
    unmeasured_after: int
    reward: Paired
    """The change of the mean reward, tested over tasks."""

    def to_json(self) -> dict[str, Any]:
        """Counts, pass@1 and the test."""
        n = max(1, self.samples)
        return {
            "samples": self.samples,
            "pass_at_1": {"before": self.solved_before / n, "after": self.solved_after / n},
            "solved": {"before": self.solved_before, "after": self.solved_after},
            "unmeasured": {"before": self.unmeasured_before, "after": self.unmeasured_after},
            "reward": self.reward.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """What a changed checker changed."""

    stages: tuple[str, ...]
    parts: Mapping[str, Part]
    """``all`` and every family."""
    moved: tuple[dict[str, Any], ...]
    """Samples whose outcome, reward or `solved` is another one, each with both."""

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "stages": list(self.stages),
            "parts": {name: part.to_json() for name, part in self.parts.items()},
            "moved": list(self.moved),
        }


def evaluated_stages(rollouts: Path) -> list[str]:
    """The evaluations that `rollouts` holds completions of."""
    stages = dict.fromkeys(str(row["stage"]) for row in records.read(rollouts))
    return [stage for stage in stages if stage.startswith("eval.")]


def rescore(rollouts: Path, verifier: Verifier, beside: Path, *, stages: Sequence[str], progress: Progress) -> Rescored:
    """Verifies the completions of `stages` in `rollouts` anew (all stages where empty), and writes their rows to `beside`.

    `rollouts` is read and left as it is. No row, or a task that the skill no longer makes, is a `UserError`.
    """
    found = list(records.read(rollouts))
    known = list(dict.fromkeys(str(row["stage"]) for row in found))
    if missing := [stage for stage in stages if stage not in known]:
        raise UserError(f"{rollouts} has no completions of stage {missing[0]!r}; it has: {', '.join(known) or 'none'}")
    rows = [row for row in found if not stages or row["stage"] in stages]
    if not rows:
        raise UserError(f"{rollouts} holds no completions: `climb run RECIPE` makes some")
    progress.start("rescore", len(rows), "samples")
    pairs = ((verifier.skill.task_by_id(row["task"]), row["completion"]) for row in rows)
    scores = []
    for score in verifier.stream(pairs):
        scores.append(score)
        progress.advance()
    progress.finish()
    lines = [dict(row) | {"score": score.to_json()} for row, score in zip(rows, scores, strict=True)]
    records.write_whole(beside, "".join(records.dumps(line) + "\n" for line in lines))
    return compare_scores(rows, scores)


def compare_scores(rows: Sequence[Row], scores: Sequence[Score]) -> Rescored:
    """What moved between the scores in `rows` and the new `scores`, in the same order."""
    both = [(row, Score.from_json(row["score"]), score) for row, score in zip(rows, scores, strict=True)]
    families = list(dict.fromkeys(row["task"].split("/")[1] for row in rows))
    parts = {"all": _part(both)}
    for family in families:
        parts[family] = _part([each for each in both if each[0]["task"].split("/")[1] == family])
    return Rescored(
        stages=tuple(dict.fromkeys(str(row["stage"]) for row in rows)),
        parts=parts,
        moved=tuple(_shown(row, old, new) for row, old, new in both if _differs(old, new)),
    )


def _part(both: Sequence[tuple[Row, Score, Score]]) -> Part:
    by_task: dict[str, list[tuple[float, float]]] = {}
    solved_before = solved_after = samples = 0
    for row, old, new in both:
        if old.reward is None or new.reward is None:
            continue
        samples += 1
        solved_before += old.solved
        solved_after += new.solved
        by_task.setdefault(row["task"], []).append((old.reward, new.reward))
    return Part(
        samples=samples,
        solved_before=solved_before,
        solved_after=solved_after,
        unmeasured_before=sum(old.reward is None for _, old, _ in both),
        unmeasured_after=sum(new.reward is None for _, _, new in both),
        reward=paired(
            [sum(before for before, _ in each) / len(each) for each in by_task.values()],
            [sum(after for _, after in each) / len(each) for each in by_task.values()],
        ),
    )


def _differs(old: Score, new: Score) -> bool:
    return (old.outcome, old.reward, old.solved, old.reason) != (new.outcome, new.reward, new.solved, new.reason)


def _shown(row: Row, old: Score, new: Score) -> dict[str, Any]:
    return {
        "stage": row["stage"],
        "step": row.get("step"),
        "task": row["task"],
        "sample": row["sample"],
        "before": {"outcome": old.outcome.value, "reward": old.reward, "solved": old.solved, "why": _why(old)},
        "after": {"outcome": new.outcome.value, "reward": new.reward, "solved": new.solved, "why": _why(new)},
    }


def _why(score: Score) -> str:
    """The checks that failed, or what the sample failed of."""
    if score.reason or score.detail:
        return ": ".join(part for part in (score.reason, score.detail) if part)
    return ", ".join(check.name for check in score.checks if not check.passed) or "every check passed"
