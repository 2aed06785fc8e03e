"""How a scene is asked for: several phrasings a family, each of which says everything that the checks look at."""

from __future__ import annotations

import random
from typing import Any

SYSTEM = "Write a Blender 4.5 Python script that builds the scene. Answer with the script only."
"""Most of a row is the prompt, so this is short."""

Spec = dict[str, Any]


def number(value: float) -> str:
    """A length as people write it: ``0.8``, ``-2``."""
    return f"{round(value, 4):g}"


def ask(family: str, objects: list[Spec], draw: random.Random) -> str:
    """The sentence for these objects, in a phrasing that `draw` chooses."""
    return str(draw.choice(_PHRASINGS[family])(objects))


def _at(thing: Spec) -> tuple[str, str]:
    return number(thing["center"][0]), number(thing["center"][1])


def _size(thing: Spec) -> str:
    return number(thing["size"])


def _stack_build(objects: list[Spec]) -> str:
    first, *others = objects
    x, y = _at(first)
    count = {2: "two", 3: "three"}[len(objects)]
    text = (
        f"Build a stack of {count} cubes. {first['name']} is a cube with {_size(first)} m edges that rests on the "
        f"ground with its centre above x = {x}, y = {y}."
    )
    for below, thing in zip(objects, others, strict=False):
        text += f" {thing['name']} is a cube with {_size(thing)} m edges, centred on top of {below['name']}."
    return text


def _stack_put(objects: list[Spec]) -> str:
    first, *others = objects
    x, y = _at(first)
    text = f"Put {first['name']}, a {_size(first)} m cube, on the ground at x = {x}, y = {y}."
    for below, thing in zip(objects, others, strict=False):
        text += f" Stack {thing['name']}, a {_size(thing)} m cube, centred on top of {below['name']}."
    return text


def _stack_tower(objects: list[Spec]) -> str:
    x, y = _at(objects[0])
    parts = ", then ".join(f"{thing['name']} with {_size(thing)} m edges" for thing in objects)
    return (
        f"A tower of cubes stands on the ground at ({x}, {y}), all centred on each other. From the bottom up: {parts}."
    )


def _face(objects: list[Spec]) -> str:
    from climbable.skills.scene.tasks import touched_face

    return touched_face(objects)


def _thing(thing: Spec) -> str:
    if thing["shape"] == "sphere":
        return f"a sphere {_size(thing)} m across"
    return f"a cube with {_size(thing)} m edges"


def _next_is(objects: list[Spec]) -> str:
    anchor, beside = objects
    x, y = _at(anchor)
    return (
        f"{anchor['name']} is a cube with {_size(anchor)} m edges that rests on the ground, its centre above x = {x}, "
        f"y = {y}. {beside['name']} is {_thing(beside)} that touches the {_face(objects)} face of {anchor['name']}, "
        "centres aligned."
    )


def _next_place(objects: list[Spec]) -> str:
    anchor, beside = objects
    x, y = _at(anchor)
    return (
        f"Place the cube {anchor['name']}, edge {_size(anchor)} m, on the ground at ({x}, {y}). Next to it, touching its "
        f"{_face(objects)} face at the same centre height, goes {beside['name']}, {_thing(beside)}."
    )


def _next_against(objects: list[Spec]) -> str:
    anchor, beside = objects
    x, y = _at(anchor)
    return (
        f"Set {beside['name']}, {_thing(beside)}, against the {_face(objects)} side of {anchor['name']} with their centres "
        f"in line. {anchor['name']} is a {_size(anchor)} m cube standing on the ground at x = {x}, y = {y}."
    )


def _between_are(objects: list[Spec]) -> str:
    left, right, middle = objects
    return (
        f"{left['name']} and {right['name']} are cubes with {_size(left)} m edges on the ground, their centres above "
        f"({', '.join(_at(left))}) and ({', '.join(_at(right))}). {middle['name']} is {_thing(middle)} on the ground, "
        "exactly halfway between them."
    )


def _between_put(objects: list[Spec]) -> str:
    left, right, middle = objects
    return (
        f"Put two {_size(left)} m cubes on the ground: {left['name']} at ({', '.join(_at(left))}) and {right['name']} at "
        f"({', '.join(_at(right))}). On the ground at the midpoint between the two goes {middle['name']}, {_thing(middle)}."
    )


_PHRASINGS = {
    "stack": (_stack_build, _stack_put, _stack_tower),
    "next_to": (_next_is, _next_place, _next_against),
    "between": (_between_are, _between_put),
}
