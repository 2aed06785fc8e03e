"""A zygote's reply becomes a `Run`. Everything in it that a child wrote is hostile: sized, parsed with care, cleaned."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from climbable.core.types import Outcome, Reason
from climbable.sandbox.run import Run

Validate = Callable[[Any], Mapping[str, Any]]
"""The program's own check of a measurement's form; a ValueError where it has another."""

_MOST_DETAIL = 500
_TOLD_BY_SCRIPT = (Reason.CRASHED, Reason.MEMORY, Reason.OUTPUT, Reason.UNREADABLE)
_TOLD_BY_MEASURE = (Reason.UNREADABLE, Reason.MEMORY, Reason.TIMEOUT)


def read_reply(reply: Mapping[str, Any], validate: Validate) -> Run:
    """The run that a reply tells of. What a script's child told can make it `failed` in another way, never `scored`."""
    outcome = Outcome(reply["outcome"])
    seconds = reply.get("seconds", {})
    if outcome is Outcome.SCORED:
        try:
            return Run(outcome=outcome, artefact=validate(_json(reply["measurement"])), seconds=seconds)
        except ValueError as error:
            detail = clean(f"the measurement of the saved scene is not of its form: {error}")
            return Run(outcome=Outcome.FAILED, reason=Reason.UNREADABLE, detail=detail, seconds=seconds)
    reason = Reason(reply["reason"]) if reply["reason"] else None
    detail = reply["detail"]
    if reason is Reason.CRASHED:
        told = _last_line(reply.get("told", ""), reply["token"]) if reply.get("token") else ""
        reason, detail = _refine(told, "reason", _TOLD_BY_SCRIPT) or (reason, detail)
    elif reason is Reason.UNREADABLE and reply.get("measured"):
        reason, detail = _refine(reply["told"], "failed", _TOLD_BY_MEASURE) or (reason, detail)
    return Run(outcome=outcome, reason=reason, detail=clean(detail), seconds=seconds)


def clean(text: str) -> str:
    """One line without control characters or lone surrogates, of bounded length."""
    line = " ".join(text.split())
    line = "".join(c if unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line if len(line) <= _MOST_DETAIL else line[: _MOST_DETAIL - 1] + "…"


def _refine(told: str, key: str, allowed: tuple[Reason, ...]) -> tuple[Reason, str] | None:
    try:
        value = _json(told)
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get(key) not in allowed or not isinstance(value.get("detail"), str):
        return None
    return Reason(value[key]), value["detail"]


def _last_line(told: str, token: str) -> str:
    """What follows `token` in the last line that begins with it."""
    lines = [line for line in told.split("\n") if line.startswith(token + " ")]
    return lines[-1].removeprefix(token + " ") if lines else ""


def _json(text: str) -> Any:
    """JSON as bytes in latin-1, which is how a zygote hands on what it did not look at."""
    try:
        return json.loads(text.encode("latin-1"), parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")
