"""Scripted policies of the skill `scene`: mistakes that small models make, each worth a part of the reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from climbable.core.types import Task
from climbable.skills.scene.teacher import teach


def _changed(task: Task, change: Callable[[dict[str, Any]], None]) -> str:
    objects = [{**thing, "center": list(thing["center"])} for thing in task.spec["objects"]]
    for thing in objects:
        change(thing)
    return teach(replace(task, spec={"objects": objects}), 0)


def default_size(task: Task, sample: int) -> str:
    """Every object 2 m large, as Blender makes them unasked."""
    return _changed(task, lambda thing: thing.update(size=2.0))


def sunk(task: Task, sample: int) -> str:
    """Every centre at z = 0."""
    return _changed(task, lambda thing: thing["center"].__setitem__(2, 0.0))


def aside(task: Task, sample: int) -> str:
    """Everything 4 cm aside, just outside the tolerance."""
    return _changed(task, lambda thing: thing["center"].__setitem__(0, round(thing["center"][0] + 0.04, 4)))


SCRIPTED: Mapping[str, Callable[[Task, int], str]] = {"default_size": default_size, "sunk": sunk, "aside": aside}
