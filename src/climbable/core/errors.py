"""The errors that Climbable raises on purpose, each with the exit status that the command line gives it.

A message holds the fact, the offending value, what is allowed, and the next command to type. A bad *completion* is
never an error: it is data, a `Score` with the outcome `failed` (see `climbable.core.types`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ClimbableError(Exception):
    """Base of all errors raised on purpose; `exit_status` is what `climb` exits with."""

    exit_status = 3


class UserError(ClimbableError):
    """The caller's mistake: an unknown name, a malformed file, a recipe with a typo. Nothing was lost or written."""

    exit_status = 2


class StageSaysNo(ClimbableError):
    """A stage answered no: the gate is closed, the pilot found no gradient, a bar was missed."""

    exit_status = 1


class Unavailable(ClimbableError):
    """Our fault: something Climbable needs is missing or broken here (Blender, a sandbox layer, torch, disk)."""

    exit_status = 3


def nearest(value: str, allowed: Iterable[str]) -> str:
    """A hint such as ``did you mean 'scene'? Known: langgraph, scene`` for an error message."""
    known = sorted(allowed)
    close = difflib.get_close_matches(value, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}Known: {', '.join(known)}"
