"""Five completions to look at, chosen to differ: solved and half solved, trained and held out, and a failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from climbable.core.errors import UserError
from climbable.core.prompt import extract_script
from climbable.core.skill import Skill
from climbable.report.load import Row, RunData

STAGES = ("eval.trained", "eval.warmup", "gate", "eval.base", "gate.untrained", "train")
"""Where samples are taken from: the first stage that has some."""

COUNT = 5
MOST_LINES = 120

_LINE = re.compile(r"\(line (\d+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a script, with its number from 1."""

    number: int
    text: str
    failing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A completion with all that a person needs to judge it."""

    task: str
    stage: str
    policy: str
    prompt: str
    script: tuple[Line, ...]
    left_out: int
    """Lines of a long script that are not shown."""
    score: Mapping[str, Any]


def stage_of_samples(run: RunData) -> str | None:
    """The stage that the samples are taken from."""
    there = {row.get("stage") for row in run.rollouts}
    return next((stage for stage in STAGES if stage in there), None)


def pick(run: RunData, skill: Skill | None) -> list[Sampled]:
    """Up to five samples of the latest stage that has any; the same ones every time."""
    stage = stage_of_samples(run)
    rows = [row for row in run.rollouts if row.get("stage") == stage and isinstance(row.get("score"), dict)]
    held_out = set(skill.held_out_families()) if skill else set()
    chosen: list[Row] = []
    for wanted in _wishes(held_out):
        _take(chosen, rows, wanted)
    for row in rows:
        if len(chosen) < COUNT and all(row["task"] != other["task"] for other in chosen):
            chosen.append(row)
    return [_sampled(row, skill) for row in chosen[:COUNT]]


def _wishes(held_out: set[str]) -> list[Callable[[Row], bool]]:
    def family(row: Row) -> str:
        return str(row["task"]).partition("/")[2].partition("/")[0]

    def solved(row: Row) -> bool:
        return bool(row["score"].get("solved"))

    def partly(row: Row) -> bool:
        return row["score"].get("outcome") == "scored" and not solved(row)

    return [
        lambda row: solved(row) and family(row) not in held_out,
        lambda row: partly(row) and family(row) not in held_out,
        lambda row: solved(row) and family(row) in held_out,
        lambda row: partly(row) and family(row) in held_out,
        lambda row: row["score"].get("outcome") == "failed",
    ]


def _take(chosen: list[Row], rows: Sequence[Row], wanted: Callable[[Row], bool]) -> None:
    fresh = [row for row in rows if wanted(row) and all(row["task"] != other["task"] for other in chosen)]
    if fresh:
        # Of those half right, the one that came furthest shows most.
        chosen.append(max(fresh, key=lambda row: row["score"].get("reward") or 0.0))


def _sampled(row: Row, skill: Skill | None) -> Sampled:
    score = row["score"]
    completion = str(row.get("completion", ""))
    failing = _LINE.search(score.get("detail") or "")
    lines = (extract_script(completion) or completion).strip("\n").split("\n")
    number = int(failing[1]) if failing else 0
    script = tuple(Line(number=i, text=text, failing=i == number) for i, text in enumerate(lines, 1))
    return Sampled(
        task=str(row["task"]),
        stage=str(row.get("stage")),
        policy=str(row.get("policy")),
        prompt=_prompt(str(row["task"]), skill),
        script=script[:MOST_LINES],
        left_out=max(0, len(script) - MOST_LINES),
        score=score,
    )


def _prompt(task_id: str, skill: Skill | None) -> str:
    try:
        return skill.task_by_id(task_id).prompt if skill else ""
    except UserError:
        return ""  # a task that was given as an object: its prompt is not in the records
