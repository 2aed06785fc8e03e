"""The nouns of Climbable as frozen values: task, check, score and the outcomes a completion can have.

Everything here is serialisable and compares by value. Behaviour lives elsewhere: tasks are generated in `skills`,
completions become scores in `verify`, scores become groups in `rollout`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from climbable.core.errors import UserError


class Outcome(StrEnum):
    """What became of a completion."""

    SCORED = "scored"
    """It ran and was measured."""
    FAILED = "failed"
    """It is at fault: it earns the skill's floor."""
    UNMEASURED = "unmeasured"
    """We are at fault: it has no reward, leaves its group and is counted; a trainer gets ``None``, never 0."""


class Reason(StrEnum):
    """Why a completion failed."""

    NO_CODE = "no_code"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT = "output"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing to ask of a policy, with all that the checks need to judge the answer.

    `spec` is JSON-serialisable and is never shown to the policy. The same id gives the same task everywhere.
    """

    id: str
    skill: str
    family: str
    split: str
    index: int
    prompt: str
    spec: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """``sha256:…`` of ``{"prompt", "spec"}`` as UTF-8 JSON with sorted keys and no spaces."""
        body = json.dumps(
            {"prompt": self.prompt, "spec": dict(self.spec)}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        return "sha256:" + hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The task as the plain object that `climb tasks --json` prints."""
        return {
            "id": self.id,
            "skill": self.skill,
            "family": self.family,
            "split": self.split,
            "index": self.index,
            "prompt": self.prompt,
            "spec": dict(self.spec),
            "digest": self.digest,
        }

    @classmethod
    def from_json(cls, value: object) -> Task:
        """Reads a task object. Any id, family and split are fine; a wrong `digest` or a missing field is a `UserError`."""
        if not isinstance(value, Mapping):
            raise UserError(
                f"a task is a JSON object, not {type(value).__name__}; `climb tasks SKILL --json` prints some"
            )
        kinds: dict[str, type] = {"id": str, "skill": str, "prompt": str, "spec": Mapping}
        for name, kind in kinds.items():
            if name not in value:
                raise UserError(
                    f"the task has no {name!r}; it needs id, skill, prompt and spec (`climb tasks SKILL --json`)"
                )
            if not isinstance(value[name], kind):
                wanted = "an object" if kind is Mapping else "a string"
                raise UserError(f"the task's {name!r} is {value[name]!r:.80}; it must be {wanted}")
        index = value.get("index", 0)
        if isinstance(index, bool) or not isinstance(index, int):
            raise UserError(f"the task's 'index' is {index!r:.80}; it must be an integer")
        family, split = value.get("family", ""), value.get("split", "")
        if not isinstance(family, str) or not isinstance(split, str):
            raise UserError("the task's 'family' and 'split' must be strings")
        task = cls(
            id=value["id"],
            skill=value["skill"],
            family=family,
            split=split,
            index=index,
            prompt=value["prompt"],
            spec=MappingProxyType(dict(value["spec"])),
        )
        digest = value.get("digest")
        if digest is not None and digest != task.digest:
            raise UserError(
                f"the digest of task {task.id!r} is {digest!r:.90}, but its prompt and spec give {task.digest!r}: "
                "one of them was edited; leave 'digest' out to accept the task as it is"
            )
        return task


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One completion as a policy gave it: `tokens` counts what it generated, without padding."""

    text: str
    tokens: int
    truncated: bool
    """It ended because it reached the limit of new tokens, not by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One requirement of a task, passed or not. `expected` and `measured` are JSON values in `unit`."""

    name: str
    passed: bool
    expected: Any = None
    measured: Any = None
    tolerance: float | None = None
    unit: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The check as a JSON object; a number that is not finite becomes ``null``."""
        return {
            "name": self.name,
            "passed": self.passed,
            "expected": finite_json(self.expected),
            "measured": finite_json(self.measured),
            "tolerance": self.tolerance,
            "unit": self.unit,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A skill's verdict on a measured artefact: its checks, whether it is solved, and the reward's parts.

    The reward is the sum of `parts`, whose order is kept. `extras` are booleans or numbers that a skill reports beside
    `solved` (such as `rendered`).
    """

    checks: tuple[Check, ...]
    solved: bool
    parts: Mapping[str, float]
    extras: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one completion of one task earned, check by check.

    `reward` is ``None`` exactly when the outcome is `unmeasured`. Rewards and parts are rounded to 4 decimals where
    they are made, so that every reader sees the same number.
    """

    task: str
    outcome: Outcome
    reward: float | None
    solved: bool = False
    reason: Reason | None = None
    detail: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert (self.reward is None) == (self.outcome is Outcome.UNMEASURED), "only an unmeasured sample has no reward"
        assert self.reward is None or math.isfinite(self.reward), "a reward is finite"

    @property
    def fault(self) -> str:
        """Reason and detail without the line's number, so that samples that failed alike can be counted."""
        return f"{self.reason}: {(self.detail or '').split(' (line')[0][:100]}"

    def to_json(self) -> dict[str, Any]:
        """The score as the contract's JSON object."""
        return {
            "task": self.task,
            "outcome": self.outcome.value,
            "reason": self.reason.value if self.reason else None,
            "detail": self.detail,
            "reward": self.reward,
            "solved": self.solved,
            **finite_json(dict(self.extras)),
            "parts": dict(self.parts),
            "checks": [check.to_json() for check in self.checks],
            "seconds": {stage: round(value, 4) for stage, value in self.seconds.items()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Score:
        """Reads back what `to_json` wrote."""
        known = {"task", "outcome", "reason", "detail", "reward", "solved", "parts", "checks", "seconds"}
        return cls(
            task=value["task"],
            outcome=Outcome(value["outcome"]),
            reason=Reason(value["reason"]) if value.get("reason") else None,
            detail=value.get("detail"),
            reward=value["reward"],
            solved=value["solved"],
            parts=value.get("parts", {}),
            checks=tuple(Check(**check) for check in value.get("checks", ())),
            extras={key: item for key, item in value.items() if key not in known},
            seconds=value.get("seconds", {}),
        )


def finite_json(value: Any) -> Any:
    """`value` with every float that is not finite replaced by ``None``, in lists and objects too."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(item) for item in value]
    return value
