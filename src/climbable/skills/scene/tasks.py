"""Tasks of the skill `scene`: a few cubes and spheres with exact sizes and places."""

from __future__ import annotations

import random
from typing import Any

from climbable.core.types import Task
from climbable.skills.drawing import draw_in_split
from climbable.skills.scene import wording

FACES = {"+x": (0, 1), "-x": (0, -1), "+y": (1, 1), "-y": (1, -1)}
"""The named faces of a cube: axis and direction."""

_COLOURS = ("Red", "Blue", "Green", "Gold", "Grey", "Pink", "Black", "White", "Amber", "Teal", "Plum", "Coral")
_CUBES = ("Box", "Crate", "Block", "Chest", "Plinth", "Brick", "Case", "Stand", "Cube", "Trunk")
_BALLS = ("Ball", "Orb", "Globe", "Marble", "Pearl", "Bead", "Dot", "Sphere")

Spec = dict[str, Any]


def make_task(family: str, split: str, index: int) -> Task:
    """The task at (family, split, index): the same on every machine."""
    objects, draw = draw_in_split("scene", family, split, index, _DRAW[family])
    return Task(
        id=f"scene/{family}/{split}/{index}",
        skill="scene",
        family=family,
        split=split,
        index=index,
        prompt=wording.ask(family, objects, draw),
        spec={"objects": objects},
    )


def subkind(task: Task) -> str:
    """``stack/2``, ``next_to/+x/sphere``, ``between/cube``: what a family's tasks differ in."""
    objects = task.spec["objects"]
    if task.family == "next_to":
        return f"next_to/{touched_face(objects)}/{objects[1]['shape']}"
    if task.family == "between":
        return f"between/{objects[2]['shape']}"
    return f"{task.family}/{len(objects)}"


def touched_face(objects: list[Spec]) -> str:
    """The face of the first object that the second one touches."""
    return max(
        FACES,
        key=lambda face: FACES[face][1] * (objects[1]["center"][FACES[face][0]] - objects[0]["center"][FACES[face][0]]),
    )


def _stack(draw: random.Random) -> list[Spec]:
    x, y = _place(draw), _place(draw)
    objects: list[Spec] = []
    top = 0.0
    for name in _names(draw, [_CUBES] * draw.choice((2, 3))):
        size = _size(draw, 4, 15)
        objects.append(_object(name, "cube", size, (x, y, top + size / 2), grounded=not objects))
        top += size
    return objects


def _next_to(draw: random.Random) -> list[Spec]:
    shape = draw.choice(("cube", "sphere"))
    axis, direction = FACES[draw.choice(tuple(FACES))]
    first, second = _names(draw, [_CUBES, _CUBES if shape == "cube" else _BALLS])
    anchor = _size(draw, 6, 15)
    size = _size(draw, 3, round(anchor * 10))  # no larger than the anchor: with centres aligned it would sink
    centre = [_place(draw), _place(draw), anchor / 2]
    beside = list(centre)
    beside[axis] += direction * (anchor + size) / 2
    return [
        _object(first, "cube", anchor, centre, grounded=True),
        _object(second, shape, size, beside, grounded=False),
    ]


def _between(draw: random.Random) -> list[Spec]:
    shape = draw.choice(("cube", "sphere"))
    left, right, middle = _names(draw, [_CUBES, _CUBES, _CUBES if shape == "cube" else _BALLS])
    post, size = _size(draw, 4, 10), _size(draw, 3, 10)
    x, y = _place(draw), _place(draw)
    # Twice a multiple of 0.1 m apart, so that the middle is a round number too; far enough that nothing overlaps.
    half = [draw.randint(8, 20) / 10 * draw.choice((-1, 1)), draw.choice((0, 0, draw.randint(-15, 15))) / 10]
    draw.shuffle(half)
    return [
        _object(left, "cube", post, (x - half[0], y - half[1], post / 2), grounded=True),
        _object(right, "cube", post, (x + half[0], y + half[1], post / 2), grounded=True),
        _object(middle, shape, size, (x, y, size / 2), grounded=True),
    ]


_DRAW = {"stack": _stack, "next_to": _next_to, "between": _between}


def _object(name: str, shape: str, size: float, centre: Any, *, grounded: bool) -> Spec:
    return {
        "name": name,
        "shape": shape,
        "size": size,
        "center": [round(float(value), 4) + 0.0 for value in centre],
        "grounded": grounded,
    }


def _names(draw: random.Random, kinds: list[tuple[str, ...]]) -> list[str]:
    """One name a kind, no two with the same colour."""
    colours = draw.sample(_COLOURS, len(kinds))
    return [colour + draw.choice(kind) for colour, kind in zip(colours, kinds, strict=True)]


def _size(draw: random.Random, least: int, most: int) -> float:
    return draw.randint(least, most) / 10


def _place(draw: random.Random) -> float:
    return draw.randint(-30, 30) / 10
