"""Tasks of the skill `scene`: a few cubes and spheres with exact sizes and places.

The families that came first, which are trained or held out; those of the ladder are in `ladder`.
"""

from __future__ import annotations

import random
from typing import Any

from climbable.core.skill import split_level
from climbable.core.types import Task
from climbable.skills.drawing import draw_in_split
from climbable.skills.scene import ladder, ladder_wording, wording
from climbable.skills.scene.objects import BALLS, CUBES, coordinate, length, make_object, names
from climbable.skills.scene.relations import FACES

Spec = dict[str, Any]


def make_task(family: str, split: str, index: int) -> Task:
    """The task at (family, split, index): the same on every machine."""
    objects, draw = draw_in_split("scene", family, split, index, _DRAW.get(family) or ladder.drawer(family))
    ask = wording.ask if family in _DRAW else ladder_wording.ask
    return Task(
        id=f"scene/{family}/{split}/{index}",
        skill="scene",
        family=family,
        split=split,
        index=index,
        prompt=ask(family, objects, draw),
        spec={"objects": objects},
    )


def subkind(task: Task) -> str:
    """``stack/2``, ``next_to/+x/sphere``, ``between/cube``: what a family's tasks differ in."""
    objects = task.spec["objects"]
    if task.family == "next_to":
        return f"next_to/{touched_face(objects)}/{objects[1]['shape']}"
    if task.family == "between":
        return f"between/{objects[2]['shape']}"
    if split_level(task.family)[0] in ladder.FAMILIES:
        return ladder.subkind(task.family, objects)
    return f"{task.family}/{len(objects)}"


def touched_face(objects: list[Spec]) -> str:
    """The face of the first object that the second one touches."""
    return max(
        FACES,
        key=lambda face: FACES[face][1] * (objects[1]["center"][FACES[face][0]] - objects[0]["center"][FACES[face][0]]),
    )


def _stack(draw: random.Random) -> list[Spec]:
    x, y = coordinate(draw), coordinate(draw)
    objects: list[Spec] = []
    top = 0.0
    for name in names(draw, [CUBES] * draw.choice((2, 3))):
        size = length(draw, 4, 15)
        objects.append(make_object(name, "cube", size, (x, y, top + size / 2), grounded=not objects))
        top += size
    return objects


def _next_to(draw: random.Random) -> list[Spec]:
    shape = draw.choice(("cube", "sphere"))
    axis, direction = FACES[draw.choice(tuple(FACES))]
    first, second = names(draw, [CUBES, CUBES if shape == "cube" else BALLS])
    anchor = length(draw, 6, 15)
    size = length(draw, 3, round(anchor * 10))  # no larger than the anchor: with centres aligned it would sink
    centre = [coordinate(draw), coordinate(draw), anchor / 2]
    beside = list(centre)
    beside[axis] += direction * (anchor + size) / 2
    return [
        make_object(first, "cube", anchor, centre, grounded=True),
        make_object(second, shape, size, beside, grounded=False),
    ]


def _between(draw: random.Random) -> list[Spec]:
    shape = draw.choice(("cube", "sphere"))
    left, right, middle = names(draw, [CUBES, CUBES, CUBES if shape == "cube" else BALLS])
    post, size = length(draw, 4, 10), length(draw, 3, 10)
    x, y = coordinate(draw), coordinate(draw)
    # Twice a multiple of 0.1 m apart, so that the middle is a round number too; far enough that nothing overlaps.
    half = [draw.randint(8, 20) / 10 * draw.choice((-1, 1)), draw.choice((0, 0, draw.randint(-15, 15))) / 10]
    draw.shuffle(half)
    return [
        make_object(left, "cube", post, (x - half[0], y - half[1], post / 2), grounded=True),
        make_object(right, "cube", post, (x + half[0], y + half[1], post / 2), grounded=True),
        make_object(middle, shape, size, (x, y, size / 2), grounded=True),
    ]


_DRAW = {"stack": _stack, "next_to": _next_to, "between": _between}
