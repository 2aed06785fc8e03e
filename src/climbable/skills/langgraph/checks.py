"""The checks of the skill `langgraph`: JSON at all, the command, and each flag that is set in the expected or the given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from climbable.core.types import Check, Judgement, Task
from climbable.skills.langgraph.answer import parse

FLAGS = ("template", "path", "port", "no_browser", "watch", "tag", "output_path")
KEYS = ("command", *FLAGS)

FOR_JSON = 0.3
WRONG_COMMAND = -1.0
FLOOR, CEILING = -1.0, 1.3


def judge(task: Task, artefact: str) -> Judgement:
    """0.3 for JSON; with the right command the share of set flags that are right on top of it, with a wrong one −1."""
    expected, given = task.spec["expected"], parse(artefact)
    right = _same(given.get("command"), expected["command"])
    flags = [check for flag in (*FLAGS, *_strangers(given)) for check in _flag(flag, expected, given)]
    checks = (
        Check(name="json", passed=True, expected="an object", measured="an object"),
        Check(name="command", passed=right, expected=expected["command"], measured=given.get("command")),
        *flags,
    )
    share = sum(check.passed for check in flags) / len(flags) if flags else 1.0
    parts = {"json": FOR_JSON, "flags": round(share, 4)} if right else {"json": FOR_JSON, "command": WRONG_COMMAND}
    return Judgement(checks=checks, solved=all(check.passed for check in checks), parts=parts)


def _flag(name: str, expected: Mapping[str, Any], given: Mapping[str, Any]) -> list[Check]:
    """The flag's check, or none where it is set in neither. A key that the schema lacks is set, even with ``null``."""
    stranger = name not in FLAGS
    wanted, got = (None if stranger else expected.get(name)), given.get(name)
    if wanted is None and got is None and not stranger:
        return []
    passed = not stranger and _same(got, wanted)
    return [Check(name=f"flag.{name}", passed=passed, expected=wanted, measured=got)]


def _strangers(given: Mapping[str, Any]) -> list[str]:
    return [key for key in given if key not in KEYS]


def _same(given: Any, expected: Any) -> bool:
    """Equal in value and type: ``true`` is not 1, and 8080.0 is no port."""
    return type(given) is type(expected) and bool(given == expected)
