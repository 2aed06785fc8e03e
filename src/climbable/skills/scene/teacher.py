"""A teacher whose script earns the full reward on every task, in several code styles.

It reads the task's spec, which a policy never sees. The first styles are the ones that a small model learns from the
fewest rows: they hold only numbers that stand in the request, and leave the arithmetic to Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from climbable.core.skill import split_level
from climbable.core.types import Task
from climbable.skills.scene.relations import FACES, relate
from climbable.skills.scene.wording import number

Spec = dict[str, Any]


def teach(task: Task, style: int = 0) -> str:
    """The completion in one of the family's styles; any integer will do."""
    styles = SHORT_STYLES if split_level(task.family)[0] in ("many", "chain") else STYLES
    return styles[style % len(styles)](list(task.spec["objects"]))


def _operators(objects: list[Spec]) -> str:
    lines = ["import bpy", *_import_math(objects)]
    for thing in objects:
        lines += [
            _add(thing, _vector(thing["center"]) + _turned(thing)),
            f'bpy.context.object.name = "{thing["name"]}"',
        ]
    return "\n".join(lines)


def _expressions(objects: list[Spec]) -> str:
    """One operator an object, its place as the request implies it."""
    lines = ["import bpy", *_import_math(objects)]
    for place, thing in enumerate(objects):
        at = f"({', '.join(_expression(objects, place, axis) for axis in range(3))}){_turned(thing)}"
        size = number(thing["size"])
        if thing["shape"] == "sphere":
            lines.append(f"bpy.ops.mesh.primitive_uv_sphere_add(radius={size} / 2, location={at})")
        else:
            lines.append(f"bpy.ops.mesh.primitive_cube_add(size={size}, location={at})")
        lines.append(f'bpy.context.object.name = "{thing["name"]}"')
    return "\n".join(lines)


def _variables(objects: list[Spec]) -> str:
    """Sizes and places get names first; what follows from them is written with the names."""
    lines = ["import bpy", *_import_math(objects)]
    for place, thing in enumerate(objects):
        letter = _LETTERS[place]
        lines.append(f"{letter} = {number(thing['size'])}")
        x, y, z = (_by_name(objects, place, axis) for axis in range(3))
        lines.append(f"{letter}x, {letter}y, {letter}z = {x}, {y}, {z}")
        at = f"({letter}x, {letter}y, {letter}z){_turned(thing)}"
        if thing["shape"] == "sphere":
            lines.append(f"bpy.ops.mesh.primitive_uv_sphere_add(radius={letter} / 2, location={at})")
        else:
            lines.append(f"bpy.ops.mesh.primitive_cube_add(size={letter}, location={at})")
        lines.append(f'bpy.context.object.name = "{thing["name"]}"')
    return "\n".join(lines)


def _short(objects: list[Spec]) -> str:
    """A function a shape and a line an object, for scenes of many."""
    lines = ["import bpy"]
    for shape in sorted({thing["shape"] for thing in objects}):
        make = "cube_add(size=d" if shape == "cube" else "uv_sphere_add(radius=d / 2"
        lines += [f"def {shape}(n, d, x, y, z):", f"    bpy.ops.mesh.primitive_{make}, location=(x, y, z))"]
        lines.append("    bpy.context.object.name = n")
    for place, thing in enumerate(objects):
        at = ", ".join(_expression(objects, place, axis) for axis in range(3))
        lines.append(f'{thing["shape"]}("{thing["name"]}", {number(thing["size"])}, {at})')
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
    return "\n".join(lines + _turn_afterwards(objects))


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
        "    bpy.context.active_object.name = name\n" + "\n".join(_turn_afterwards(objects))
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
    return "\n".join(lines + _turn_afterwards(objects))


def _fenced(objects: list[Spec]) -> str:
    return f"```python\n{_operators(objects)}\n```"


STYLES: tuple[Callable[[list[Spec]], str], ...] = (
    _expressions,
    _variables,
    _operators,
    _function,
    _loop,
    _bmesh,
    _fenced,
)


SHORT_STYLES = (_short, *STYLES)
"""Of the families with many objects, whose scripts would be long otherwise."""

_LETTERS = "abcdefgh"


def _import_math(objects: list[Spec]) -> list[str]:
    return ["import math"] if any("yaw" in thing for thing in objects) else []


def _turned(thing: Spec) -> str:
    return f", rotation=(0, 0, math.radians({thing['yaw']}))" if "yaw" in thing else ""


def _turn_afterwards(objects: list[Spec]) -> list[str]:
    turned = [thing for thing in objects if "yaw" in thing]
    lines = [f'bpy.data.objects["{thing["name"]}"].rotation_euler[2] = radians({thing["yaw"]})' for thing in turned]
    return ["from math import radians", *lines] if lines else []


def _add(thing: Spec, at: str) -> str:
    if thing["shape"] == "sphere":
        return f"bpy.ops.mesh.primitive_uv_sphere_add(radius={number(thing['size'] / 2)}, location={at})"
    return f"bpy.ops.mesh.primitive_cube_add(size={number(thing['size'])}, location={at})"


def _vector(values: list[float]) -> str:
    return f"({', '.join(number(value) for value in values)})"


def _expression(objects: list[Spec], place: int, axis: int) -> str:
    """One coordinate of the centre, as the request implies it."""
    thing, link = objects[place], relate(objects, place)
    size, base = number(thing["size"]), objects[link.other]
    if axis == 2:
        if link.kind == "on":
            return f"{_top(objects, link.other)} + {size} / 2"
        # Beside another and not on the ground, its centre is in line with that of the cube that it touches.
        return f"{size} / 2" if thing["grounded"] else f"{number(base['size'])} / 2"
    if link.kind == "beside" and FACES[link.face][0] == axis:
        return f"{_expression(objects, link.other, axis)} {link.face[0]} ({number(base['size'])} + {size}) / 2"
    if link.kind != "at":
        return _expression(objects, link.other, axis)
    return number(thing["center"][axis])


def _top(objects: list[Spec], place: int) -> str:
    """The height of an object's upper face, from the ground up."""
    size, link = number(objects[place]["size"]), relate(objects, place)
    return f"{_top(objects, link.other)} + {size}" if link.kind == "on" else size


def _by_name(objects: list[Spec], place: int, axis: int) -> str:
    """The same with the names that `_variables` gives."""
    thing, link, letter = objects[place], relate(objects, place), _LETTERS[place]
    base, name = _LETTERS[link.other], "xyz"[axis]
    if axis == 2 and link.kind == "on":
        return f"{base}z + {base} / 2 + {letter} / 2"
    if axis == 2:
        return f"{letter} / 2" if thing["grounded"] else f"{base}z"
    if link.kind == "beside" and FACES[link.face][0] == axis:
        return f"{base}{name} {link.face[0]} ({base} + {letter}) / 2"
    return f"{base}{name}" if link.kind != "at" else number(thing["center"][axis])
