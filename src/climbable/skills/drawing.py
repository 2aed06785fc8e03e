"""Draws what a task is about by a hash of where it stands, so that an id gives the same task on every machine.

Splits are disjoint by construction: what is drawn belongs to the split that its own hash names, and drawing goes on until
something of the asked split comes up.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from typing import TypeVar

Content = TypeVar("Content")

_SPLIT_OF = ("train",) * 8 + ("val", "test")


def draw_in_split(
    skill: str, family: str, split: str, index: int, make: Callable[[random.Random], Content]
) -> tuple[Content, random.Random]:
    """What `make` draws for the task at (skill, family, split, index), and the generator, for the wording to go on with."""
    attempt = 0
    while True:
        draw = random.Random(_hash(skill, family, split, index, attempt))
        content = make(draw)
        if _SPLIT_OF[_hash(json.dumps(content, sort_keys=True)) % len(_SPLIT_OF)] == split:
            return content, draw
        attempt += 1


def _hash(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256("/".join(str(part) for part in parts).encode()).digest(), "big")
