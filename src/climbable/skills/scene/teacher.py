"""A teacher whose script earns the full reward on every task, in several code styles.

It reads the task's spec, which a policy never sees. Style 0 is the one that a small model learns from the fewest rows.
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
    """Only numbers that stand in the request, and the arithmetic left to Python: a small model copies before it adds."""
    lines = ["import bpy"]
    for place, thing in enumerate(objects):
        at = f"({', '.join(_expression(objects[:place], thing, axis) for axis in range(3))})"
        size = number(thing["size"])
        if thing["shape"] == "sphere":
            lines.append(f"bpy.ops.mesh.primitive_uv_sphere_add(radius={size} / 2, location={at})")
        else:
            lines.append(f"bpy.ops.mesh.primitive_cube_add(size={size}, location={at})")
        lines.append(f'bpy.context.object.name = "{thing["name"]}"')
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


STYLES: tuple[Callable[[list[Spec]], str], ...] = (_expressions, _operators, _function, _loop, _bmesh, _fenced)


def _add(thing: Spec, at: str) -> str:
    if thing["shape"] == "sphere":
        return f"bpy.ops.mesh.primitive_uv_sphere_add(radius={number(thing['size'] / 2)}, location={at})"
    return f"bpy.ops.mesh.primitive_cube_add(size={number(thing['size'])}, location={at})"


def _vector(values: list[float]) -> str:
    return f"({', '.join(number(value) for value in values)})"


def _expression(earlier: list[Spec], thing: Spec, axis: int) -> str:
    """One coordinate of the centre, as the request implies it."""
    size, value = thing["size"], thing["center"][axis]
    if axis == 2:
        below = [] if thing["grounded"] else _carriers(earlier, thing)
        if thing["grounded"] or below:
            return " + ".join([number(other["size"]) for other in below] + [f"{number(size)} / 2"])
        return f"{number(earlier[0]['size'])} / 2"  # its centre is in line with that of the cube that it touches
    if not thing["grounded"] and (difference := round(value - earlier[0]["center"][axis], 4)):
        sign = "+" if difference > 0 else "-"
        return f"{number(earlier[0]['center'][axis])} {sign} ({number(earlier[0]['size'])} + {number(size)}) / 2"
    if len(earlier) == 2 and thing["grounded"]:
        return f"({number(earlier[0]['center'][axis])} + {number(earlier[1]['center'][axis])}) / 2"
    return number(value)


def _carriers(earlier: list[Spec], thing: Spec) -> list[Spec]:
    """What carries `thing`, from the ground up; nothing if it hangs beside another."""
    return earlier if earlier and thing["center"][:2] == earlier[0]["center"][:2] else []
