"""The ladder's families: several objects at positions of their own, turned cubes, many objects, chains."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from climbable.core.skill import split_level
from climbable.skills.scene.objects import BALLS, CUBES, coordinate, length, make_object, names
from climbable.skills.scene.relations import FACES, relate

Spec = dict[str, Any]

ANGLES = (15, 30, 45, 60, 75)
"""Degrees that cubes are turned by: far enough from each other and from a quarter turn, which leaves a cube as it was."""


def drawer(family: str) -> Callable[[random.Random], list[Spec]]:
    """What draws the objects of `family`, written with its level."""
    name, level = split_level(family)
    return lambda draw: FAMILIES[name](draw, level)


def subkind(family: str, objects: list[Spec]) -> str:
    """``place/3``, ``rotated/45``, ``many/6``, ``chain/on/+x``: what tasks of a family differ in."""
    name = split_level(family)[0]
    if name == "rotated":
        return f"{family}/{next(thing['yaw'] for thing in objects if 'yaw' in thing)}"
    if name == "chain":
        steps = [relate(objects, place) for place in range(1, len(objects))]
        return f"{family}/{'/'.join(step.face or step.kind for step in steps[:1])}"
    return f"{family}/{len(objects)}"


def _place(draw: random.Random, level: int) -> list[Spec]:
    """Cubes and spheres on the ground, each at a position of its own."""
    count = draw.choice((2, 3) if level == 1 else (4, 5))
    return _apart(draw, lambda: _standing(draw, [draw.choice((CUBES, CUBES, BALLS)) for _ in range(count)]))


def _rotated(draw: random.Random, level: int) -> list[Spec]:
    """A turned cube, on the ground beside a plain one or, at level 2, on top of it."""
    if level == 2:
        base, top = names(draw, [CUBES, CUBES])
        size = length(draw, 6, 15)
        x, y, edge = coordinate(draw), coordinate(draw), length(draw, 4, round(size * 10))
        return [
            make_object(base, "cube", size, (x, y, size / 2), grounded=True),
            make_object(top, "cube", edge, (x, y, size + edge / 2), grounded=False) | {"yaw": draw.choice(ANGLES)},
        ]
    objects = _apart(draw, lambda: _standing(draw, [CUBES] * draw.choice((1, 2))))
    return [objects[0] | {"yaw": draw.choice(ANGLES)}, *objects[1:]]


def _many(draw: random.Random, level: int) -> list[Spec]:
    """Towers and single objects: each is on the ground or on the one before it."""
    count = draw.choice((4, 5) if level == 1 else (6, 7, 8))
    return _apart(draw, lambda: _towers(draw, count))


def _chain(draw: random.Random, level: int) -> list[Spec]:
    """Each object beside or on top of the one before it."""
    count = 3 if level == 1 else draw.choice((4, 5))
    return _apart(draw, lambda: _linked(draw, count), touching=True)


FAMILIES: dict[str, Callable[[random.Random, int], list[Spec]]] = {
    "place": _place,
    "rotated": _rotated,
    "many": _many,
    "chain": _chain,
}


def _standing(draw: random.Random, kinds: list[tuple[str, ...]]) -> list[Spec]:
    objects = []
    for name, kind in zip(names(draw, kinds), kinds, strict=True):
        size = length(draw, 3, 12)
        shape = "sphere" if kind is BALLS else "cube"
        objects.append(make_object(name, shape, size, (coordinate(draw), coordinate(draw), size / 2), grounded=True))
    return objects


def _towers(draw: random.Random, count: int) -> list[Spec]:
    objects: list[Spec] = []
    top = 0.0
    for name in names(draw, [CUBES] * count):
        size = length(draw, 3, 10)
        # One tower at least, and one object that begins anew: else it would be `stack` or `place`.
        fresh = not objects or (len(objects) > 1 and draw.random() < 0.6) or len(objects) == count - 1
        x, y = (coordinate(draw), coordinate(draw)) if fresh else objects[-1]["center"][:2]
        top = 0.0 if fresh else top
        objects.append(make_object(name, "cube", size, (x, y, top + size / 2), grounded=fresh))
        top += size
    return objects


def _linked(draw: random.Random, count: int) -> list[Spec]:
    kinds: list[tuple[str, ...]] = [*[CUBES] * (count - 1), draw.choice((CUBES, BALLS))]
    objects: list[Spec] = []
    for name, kind in zip(names(draw, kinds), kinds, strict=True):
        shape, size = "sphere" if kind is BALLS else "cube", length(draw, 4, 12)
        if not objects:
            centre = [coordinate(draw), coordinate(draw), size / 2]
            objects.append(make_object(name, shape, size, centre, grounded=True))
            continue
        last = objects[-1]
        centre = list(last["center"])
        beside = last["grounded"] and draw.random() < 0.7
        if beside:
            axis, direction = FACES[draw.choice(tuple(FACES))]
            centre[axis] += direction * (last["size"] + size) / 2
            centre[2] = size / 2
        else:
            centre[2] += (last["size"] + size) / 2
        objects.append(make_object(name, shape, size, centre, grounded=beside))
    return objects


def _apart(draw: random.Random, make: Callable[[], list[Spec]], *, touching: bool = False) -> list[Spec]:
    """What `make` draws, once no two objects are in each other's way."""
    in_the_way = _overlap if touching else _crowded
    while True:
        objects = make()
        if not any(in_the_way(a, b) for place, a in enumerate(objects) for b in objects[:place]):
            return objects


def _overlap(a: Spec, b: Spec) -> bool:
    """Whether the boxes of two objects share space."""
    reach = (a["size"] + b["size"]) / 2
    return all(abs(a["center"][axis] - b["center"][axis]) < reach - 1e-6 for axis in range(3))


def _crowded(a: Spec, b: Spec) -> bool:
    """Whether two objects, which may be turned, are less than 0.2 m apart on the ground and no tower."""
    if a["center"][:2] == b["center"][:2]:
        return bool(a["grounded"] and b["grounded"])
    turned = 1.5 if "yaw" in a or "yaw" in b else 1.0
    wide = turned * (a["size"] + b["size"]) / 2 + 0.2
    return all(abs(a["center"][axis] - b["center"][axis]) < wide for axis in (0, 1))
