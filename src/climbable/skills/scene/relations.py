"""How each object of a scene was placed: on the ground at a position of its own, on another, or beside another.

The spec holds sizes and centres alone, which is all that the checks need. Sentence and teacher need the relation behind
them, and it follows from the geometry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]

FACES = {"+x": (0, 1), "-x": (0, -1), "+y": (1, 1), "-y": (1, -1)}
"""The named faces of a cube: axis and direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Where an object stands."""

    kind: str
    """``at`` a position of its own, ``on`` another object or ``beside`` one."""
    other: int = -1
    """The place of that object in the list."""
    face: str = ""
    """The face of that object that it touches."""


def relate(objects: list[Spec], place: int) -> Relation:
    """How the object at `place` stands to those before it, the latest first."""
    thing = objects[place]
    for other in reversed(range(place)):
        base = objects[other]
        if thing["center"][:2] == base["center"][:2]:
            return Relation(kind="on", other=other)
        for face, (axis, direction) in FACES.items():
            reach = direction * (base["size"] + thing["size"]) / 2
            if _near(thing["center"][axis] - base["center"][axis], reach) and _near(
                thing["center"][1 - axis], base["center"][1 - axis]
            ):
                return Relation(kind="beside", other=other, face=face)
    return Relation(kind="at")


def _near(a: float, b: float) -> bool:
    return abs(a - b) < 1e-6
