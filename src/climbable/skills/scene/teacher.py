"""A teacher whose script earns the full reward on every task, in several code styles.

It reads the task's spec, which a policy never sees. Style 0 is the shortest in tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from climbable.core.types import Task
from climbable.skills.scene.wording import number

Spec = dict[str, Any]


def teach(task: Task, style: int = 0) -> str:
    """The completion in one of `STYLES`; any integer will do."""
    return STYLES[style % len(STYLES)](list(task.spec["objects"]))


def _operators(objects: list[Spec]) -> str:
    lines = ["import bpy"]
    for thing in objects:
        lines += [_add(thing, _vector(thing["center"])), f'bpy.context.object.name = "{thing["name"]}"']
    return "\n".join(lines)


def _expressions(objects: list[Spec]) -> str:
    """Places written as sums, so that the reader sees where a number comes from."""
    first = objects[0]
    x, y, _ = first["center"]
    lines = ["import bpy", f"x, y = {number(x)}, {number(y)}"]
    for thing in objects:
        terms = [_offset(name, start, value) for name, start, value in zip("xy", (x, y), thing["center"], strict=False)]
        lines += [_add(thing, f"({', '.join(terms)}, {_height(objects, thing)})")]
        lines += [f'bpy.context.object.name = "{thing["name"]}"']
    return "\n".join(lines)


def _function(objects: list[Spec]) -> str:
    lines = ["import bpy", ""]
    if any(thing["shape"] == "cube" for thing in objects):
        lines += ["def cube(name, edge, at):", "    bpy.ops.mesh.primitive_cube_add(size=edge, location=at)"]
        lines += ["    bpy.context.object.name = name", ""]
    if any(thing["shape"] == "sphere" for thing in objects):
        lines += ["def sphere(name, across, at):"]
        lines += ["    bpy.ops.mesh.primitive_uv_sphere_add(radius=across / 2, location=at)"]
        lines += ["    bpy.context.object.name = name", ""]
    for thing in objects:
        lines.append(f'{thing["shape"]}("{thing["name"]}", {number(thing["size"])}, {_vector(thing["center"])})')
    return "\n".join(lines)


def _loop(objects: list[Spec]) -> str:
    rows = "".join(
        f'    ("{thing["name"]}", "{thing["shape"]}", {number(thing["size"])}, {_vector(thing["center"])}),\n'
        for thing in objects
    )
    return (
        "import bpy\n\nparts = [\n" + rows + "]\nfor name, shape, size, at in parts:\n"
        '    if shape == "cube":\n'
        "        bpy.ops.mesh.primitive_cube_add(size=size, location=at)\n"
        "    else:\n"
        "        bpy.ops.mesh.primitive_uv_sphere_add(radius=size / 2, location=at)\n"
        "    bpy.context.active_object.name = name\n"
    )


def _bmesh(objects: list[Spec]) -> str:
    lines = ["import bpy", "import bmesh", ""]
    for thing in objects:
        if thing["shape"] == "cube":
            make = f"bmesh.ops.create_cube(bm, size={number(thing['size'])})"
        else:
            make = f"bmesh.ops.create_uvsphere(bm, u_segments=32, v_segments=16, radius={number(thing['size'] / 2)})"
        lines += [
            "bm = bmesh.new()",
            make,
            f'mesh = bpy.data.meshes.new("{thing["name"]}")',
            "bm.to_mesh(mesh)",
            "bm.free()",
        ]
        lines += [
            f'thing = bpy.data.objects.new("{thing["name"]}", mesh)',
            f"thing.location = {_vector(thing['center'])}",
        ]
        lines += ["bpy.context.collection.objects.link(thing)", ""]
    return "\n".join(lines)


def _fenced(objects: list[Spec]) -> str:
    return f"```python\n{_operators(objects)}\n```"


STYLES: tuple[Callable[[list[Spec]], str], ...] = (_operators, _expressions, _function, _loop, _bmesh, _fenced)


def _add(thing: Spec, at: str) -> str:
    if thing["shape"] == "sphere":
        return f"bpy.ops.mesh.primitive_uv_sphere_add(radius={number(thing['size'] / 2)}, location={at})"
    return f"bpy.ops.mesh.primitive_cube_add(size={number(thing['size'])}, location={at})"


def _vector(values: list[float]) -> str:
    return f"({', '.join(number(value) for value in values)})"


def _offset(name: str, start: float, value: float) -> str:
    difference = round(value - start, 4)
    if not difference:
        return name
    return f"{name} {'+' if difference > 0 else '-'} {number(abs(difference))}"


def _height(objects: list[Spec], thing: Spec) -> str:
    """The centre's height: half the size above what the object stands on, where it stands on something."""
    below = round(thing["center"][2] - thing["size"] / 2, 4)
    if below == 0:
        return f"{number(thing['size'])} / 2"
    if any(round(other["center"][2] + other["size"] / 2, 4) == below for other in objects):
        return f"{number(below)} + {number(thing['size'])} / 2"
    return number(thing["center"][2])
