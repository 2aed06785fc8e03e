"""How the ladder's scenes are asked for. Every number that a script needs stands in the sentence."""

from __future__ import annotations

import random
from typing import Any

from climbable.core.skill import split_level
from climbable.skills.scene.relations import relate
from climbable.skills.scene.wording import number

Spec = dict[str, Any]

_ASIDES = (
    "The room is {a} m high. ",
    "Ignore the old plan of {a} m by {b} m. ",
    "There are {c} lamps, which are left out. ",
    "Take your time, {c} minutes will do. ",
)
"""Numbers that no object has."""


def ask(family: str, objects: list[Spec], draw: random.Random) -> str:
    """The sentence for these objects, in a phrasing that `draw` chooses."""
    name, level = split_level(family)
    text = str(draw.choice(_PHRASINGS[name])(objects))
    if name == "place" and level > 1:
        numbers = {"a": draw.randint(21, 39) / 10, "b": draw.randint(41, 59) / 10, "c": draw.randint(6, 12)}
        text = draw.choice(_ASIDES).format(**numbers) + text
    return text


def _at(thing: Spec) -> str:
    return f"({number(thing['center'][0])}, {number(thing['center'][1])})"


def _xy(thing: Spec) -> str:
    return f"x = {number(thing['center'][0])}, y = {number(thing['center'][1])}"


def _a(thing: Spec) -> str:
    if thing["shape"] == "sphere":
        return f"a sphere {number(thing['size'])} m across"
    return f"a cube with {number(thing['size'])} m edges"


def _sentence(words: list[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else words[0]


def _place_puts(objects: list[Spec]) -> str:
    return " ".join(f"Put {thing['name']}, {_a(thing)}, on the ground at {_at(thing)}." for thing in objects)


def _place_rests(objects: list[Spec]) -> str:
    parts = [
        f"{thing['name']} is {_a(thing)} that rests on the ground, its centre above {_xy(thing)}." for thing in objects
    ]
    return " ".join(parts)


def _place_lists(objects: list[Spec]) -> str:
    things = _sentence([f"{thing['name']}, {_a(thing)}" for thing in objects])
    return f"On the ground stand {things}, their centres above {_sentence([_at(thing) for thing in objects])}."


def _turn(thing: Spec) -> str:
    return (
        f", turned {thing['yaw']} degrees about its vertical axis, counter-clockwise from above"
        if "yaw" in thing
        else ""
    )


def _turn_short(thing: Spec) -> str:
    return f" rotated by {thing['yaw']}° around z" if "yaw" in thing else ""


def _rotated_is(objects: list[Spec]) -> str:
    parts = []
    for place, thing in enumerate(objects):
        if relate(objects, place).kind == "on":
            parts.append(
                f"{thing['name']} is {_a(thing)}, centred on top of {objects[place - 1]['name']}{_turn(thing)}."
            )
        else:
            parts.append(
                f"{thing['name']} is {_a(thing)} on the ground with its centre above {_xy(thing)}{_turn(thing)}."
            )
    return " ".join(parts)


def _rotated_put(objects: list[Spec]) -> str:
    parts = []
    for place, thing in enumerate(objects):
        what = f"{thing['name']}, a {number(thing['size'])} m cube{_turn_short(thing)}"
        if relate(objects, place).kind == "on":
            parts.append(f"Stack {what}, centred on {objects[place - 1]['name']}.")
        else:
            parts.append(f"Put {what}, on the ground at {_at(thing)}.")
    return " ".join(parts)


def _rotated_stands(objects: list[Spec]) -> str:
    parts = []
    for place, thing in enumerate(objects):
        plain = f"{thing['name']} with {number(thing['size'])} m edges"
        turned = f", twisted {thing['yaw']} degrees to the left as seen from above" if "yaw" in thing else ""
        if relate(objects, place).kind == "on":
            parts.append(f"on top of it, centred, is {plain}{turned}")
        else:
            parts.append(f"on the ground at {_xy(thing)} is {plain}{turned}")
    return "Cubes: " + "; ".join(parts) + "."


def _many_put(objects: list[Spec]) -> str:
    parts = []
    for place, thing in enumerate(objects):
        if relate(objects, place).kind == "on":
            parts.append(f"{thing['name']}, {number(thing['size'])} m, centred on top of {objects[place - 1]['name']}")
        else:
            parts.append(f"{thing['name']}, {number(thing['size'])} m, on the ground at {_at(thing)}")
    return "Build these cubes, each with its edge: " + "; ".join(parts) + "."


def _many_are(objects: list[Spec]) -> str:
    parts = []
    for place, thing in enumerate(objects):
        if relate(objects, place).kind == "on":
            parts.append(f"On {objects[place - 1]['name']}, centred, goes {thing['name']}, {_a(thing)}.")
        else:
            parts.append(f"{thing['name']}, {_a(thing)}, stands on the ground at {_xy(thing)}.")
    return " ".join(parts)


def _chain_goes(objects: list[Spec]) -> str:
    text = f"{objects[0]['name']}, {_a(objects[0])}, stands on the ground at {_at(objects[0])}."
    for place, thing in enumerate(objects[1:], 1):
        link, before = relate(objects, place), objects[place - 1]["name"]
        if link.kind == "on":
            text += f" On top of {before}, centred, goes {thing['name']}, {_a(thing)}."
        else:
            text += f" {thing['name']}, {_a(thing)}, stands on the ground and touches the middle of {before}'s {link.face} face."
    return text


def _chain_put(objects: list[Spec]) -> str:
    text = f"Start with {objects[0]['name']}, {_a(objects[0])}, on the ground at {_xy(objects[0])}."
    for place, thing in enumerate(objects[1:], 1):
        link, before = relate(objects, place), objects[place - 1]["name"]
        if link.kind == "on":
            text += f" Then put {thing['name']}, {_a(thing)}, centred on top of {before}."
        else:
            text += f" Then put {thing['name']}, {_a(thing)}, on the ground against the {link.face} face of {before}, in line with it."
    return text


_PHRASINGS = {
    "place": (_place_puts, _place_rests, _place_lists),
    "rotated": (_rotated_is, _rotated_put, _rotated_stands),
    "many": (_many_put, _many_are),
    "chain": (_chain_goes, _chain_put),
}
