"""What the objects of a scene are drawn from: names, sizes and places."""

from __future__ import annotations

import random
from typing import Any

Spec = dict[str, Any]

_COLOURS = ("Red", "Blue", "Green", "Gold", "Grey", "Pink", "Black", "White", "Amber", "Teal", "Plum", "Coral")
CUBES = ("Box", "Crate", "Block", "Chest", "Plinth", "Brick", "Case", "Stand", "Cube", "Trunk")
BALLS = ("Ball", "Orb", "Globe", "Marble", "Pearl", "Bead", "Dot", "Sphere")


def make_object(name: str, shape: str, size: float, centre: Any, *, grounded: bool) -> Spec:
    """An object of a spec: lengths in metres, `centre` its centre."""
    return {
        "name": name,
        "shape": shape,
        "size": size,
        "center": [round(float(value), 4) + 0.0 for value in centre],
        "grounded": grounded,
    }


def names(draw: random.Random, kinds: list[tuple[str, ...]]) -> list[str]:
    """One name a kind, no two with the same colour."""
    colours = draw.sample(_COLOURS, len(kinds))
    return [colour + draw.choice(kind) for colour, kind in zip(colours, kinds, strict=True)]


def length(draw: random.Random, least: int, most: int) -> float:
    """A length between so many tenths of a metre."""
    return draw.randint(least, most) / 10


def coordinate(draw: random.Random) -> float:
    """A place on the ground, along one axis."""
    return draw.randint(-30, 30) / 10
