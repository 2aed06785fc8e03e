"""Reads an answer as one JSON object and nothing else, more strictly than Python does by itself.

RFC 8259; what it leaves open is closed here: a duplicate key at any depth, NaN, a byte order mark, nesting deeper than 64
and numbers of over 300 digits are not JSON. Never raises anything but `CompletionFault`, for any text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from climbable.core.skill import CompletionFault
from climbable.core.types import Reason

WHITE = " \t\r\n"
"""All that JSON takes for white space."""
DEEPEST = 64
MOST_DIGITS = 300

_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_FENCE = re.compile(
    r"(?P<fence>(?P<mark>[`~])(?P=mark){2,})[^`\r\n]*\r?\n(?P<body>.*\n)? {0,3}(?P=fence)(?P=mark)*", re.DOTALL
)


def unwrap(completion: str) -> str:
    """The answer without white space, one leading ``<think>…</think>`` and one closed code fence around it."""
    text = completion.strip(WHITE)
    if thoughts := _THOUGHTS.match(text):
        text = text[thoughts.end() :].strip(WHITE)
    if fence := _FENCE.fullmatch(text):
        text = (fence["body"] or "").strip(WHITE)
    if not text:
        raise CompletionFault(Reason.UNREADABLE, "the answer is empty; one JSON object was asked for")
    return text


def parse(text: str) -> dict[str, Any]:
    """The object in `text`."""
    try:
        value = json.loads(
            text, parse_constant=_constant, object_pairs_hook=_object, parse_int=_integer, parse_float=_float
        )
    except RecursionError:
        raise _unreadable("it is nested too deeply") from None
    except ValueError as error:
        raise _unreadable(str(error)) from None
    if not isinstance(value, dict):
        raise _unreadable(f"it is a {_NAMES.get(type(value), 'value')}, not an object")
    if _depth(value) > DEEPEST:
        raise _unreadable(f"it is nested deeper than {DEEPEST}")
    return value


_NAMES = {list: "list", str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r:.60} is there twice")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int:
    return int(_short(digits))


def _float(digits: str) -> float:
    return float(_short(digits))


def _short(digits: str) -> str:
    if sum(map(str.isdigit, digits)) > MOST_DIGITS:
        raise ValueError(f"a number has over {MOST_DIGITS} digits")
    return digits


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return depth


def _unreadable(why: str) -> CompletionFault:
    return CompletionFault(Reason.UNREADABLE, f"the answer is not one JSON object: {why}"[:300])
