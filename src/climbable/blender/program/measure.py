"""Measures the scene in a saved file: evaluated geometry of everything that Blender shows, in world space, in metres.

Nothing in the file is run: it is opened without scripts, and only drivers that need none are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bmesh
import bpy
import numpy as np

_MOST_OBJECTS = 10_000
_MOST_EXTRA = 1_000


class Unfit(Exception):
    """The scene cannot be opened or is too much to measure; `reason` is the outcome's."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def measure(path: str, most_vertices: int) -> dict[str, Any]:
    """``{"objects", "extra", "blender"}`` of the file's active scene and view layer at its current frame.

    `objects` are visible mesh objects with a face, `extra` is other visible geometry with a face: instances and objects
    that are no meshes. Lengths in metres, areas in m², volumes in m³; ``null`` where a coordinate is not finite.
    """
    try:
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=True, use_scripts=False)
    except RuntimeError as error:
        raise Unfit("unreadable", f"Blender cannot open the saved scene: {error}".strip()[:300]) from None
    _refuse_bombs(most_vertices)
    layer = bpy.context.view_layer
    _leave_edit_mode(layer)
    rendered = set(_render_visible(layer.layer_collection))
    objects: list[dict[str, Any]] = []
    extra: list[dict[str, Any]] = []
    vertices = 0
    for instance in bpy.context.evaluated_depsgraph_get().object_instances:
        source = instance.object.original
        if not _rendered(instance, source, rendered):
            continue
        mesh = _mesh_of(instance.object)
        if mesh is None or not len(mesh.polygons):
            continue
        vertices += len(mesh.vertices)
        if vertices > most_vertices:
            raise Unfit("memory", f"more than {most_vertices} vertices after modifiers and instances")
        if instance.is_instance or source.type != "MESH" or instance.object.type != "MESH":
            if len(extra) < _MOST_EXTRA:
                kind = "instance" if instance.is_instance else "non-mesh"
                extra.append({"name": source.name, "type": source.type, "kind": kind, "polygons": len(mesh.polygons)})
        else:
            if len(objects) >= _MOST_OBJECTS:
                raise Unfit("memory", f"more than {_MOST_OBJECTS} visible objects")
            objects.append({"name": source.name, "type": source.type} | _geometry(mesh, instance.matrix_world))
    return {"objects": objects, "extra": extra, "blender": bpy.app.version_string}


def _refuse_bombs(most_vertices: int) -> None:
    """Counts what is stored and what modifiers will make of it, before anything is evaluated."""
    stored = sum(len(mesh.vertices) for mesh in bpy.data.meshes)
    if stored > most_vertices:
        raise Unfit("memory", f"{stored} vertices are stored; {most_vertices} are allowed")
    for thing in bpy.data.objects:
        if thing.type != "MESH":
            continue
        predicted = float(len(thing.data.vertices))
        for modifier in thing.modifiers:
            if not modifier.show_viewport:
                continue
            if modifier.type == "ARRAY" and modifier.fit_type == "FIXED_COUNT":
                predicted *= max(1, modifier.count)
            elif modifier.type in ("SUBSURF", "MULTIRES"):
                predicted *= 4.0 ** min(getattr(modifier, "levels", 0), 16)
        if predicted > most_vertices:
            raise Unfit("memory", f"the modifiers of {thing.name!r} would make {predicted:.0f} vertices")


def _leave_edit_mode(layer: Any) -> None:
    """An object saved in edit mode has no faces when it is evaluated, though its mesh was flushed into the file."""
    for thing in layer.objects:
        if thing.mode == "EDIT" and thing.visible_get():
            layer.objects.active = thing
            bpy.ops.object.mode_set(mode="OBJECT")


def _render_visible(top: Any, shown: bool = True) -> Iterator[Any]:
    """The objects that some collection shows in the render: not excluded and not hidden, nor any collection above."""
    collection = top.collection
    if top.exclude or collection.hide_render or not shown:
        if top.exclude:
            # A collection that is left out takes only its own objects along; those below have their own switch.
            for child in top.children:
                yield from _render_visible(child, not collection.hide_render and shown)
        return
    yield from collection.objects
    for child in top.children:
        yield from _render_visible(child)


def _rendered(instance: Any, source: Any, rendered: set[Any]) -> bool:
    """Whether the render shows what the viewport shows here (which is all that a depsgraph iterates)."""
    shown = instance.parent.original if instance.is_instance and instance.parent else source
    if shown.hide_render or shown not in rendered:
        return False
    if instance.is_instance:
        return not source.hide_render
    return not source.is_instancer or bool(source.show_instancer_for_render)


def _mesh_of(evaluated: Any) -> Any:
    if evaluated.type == "MESH":
        return evaluated.data
    try:
        return evaluated.to_mesh()
    except RuntimeError:
        return None  # lights, cameras, empties and what else has no faces


def _geometry(mesh: Any, matrix_world: Any) -> dict[str, Any]:
    """Box, hull and area of the vertices that a face uses, in world space and double precision."""
    local = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
    mesh.vertices.foreach_get("co", local)
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    used = np.unique(corners)
    matrix = np.array(matrix_world, dtype=np.float64)
    with np.errstate(all="ignore"):
        world = local.reshape(-1, 3).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
    points = world[used]
    counts = {"vertices": len(used), "polygons": len(mesh.polygons)}
    names = ("min", "max", "hull_volume", "hull_area", "area", "nearest", "right")
    if not np.isfinite(points).all():
        return counts | {"finite": False} | dict.fromkeys(names)
    low, high = points.min(axis=0), points.max(axis=0)
    mesh.calc_loop_triangles()
    triangles = np.empty(len(mesh.loop_triangles) * 3, dtype=np.int32)
    mesh.loop_triangles.foreach_get("vertices", triangles)
    volume, hull_area = _hull(points, (low + high) / 2)
    values = (
        low.tolist(),
        high.tolist(),
        volume,
        hull_area,
        _area(world[triangles].reshape(-1, 3, 3)),
        float(np.linalg.norm(points - (low + high) / 2, axis=1).min()),
        _right(points, low[0], high[0]),
    )
    if not all(np.isfinite(value).all() for value in values):  # finite coordinates whose products are not
        return counts | {"finite": False} | dict.fromkeys(names)
    return counts | {"finite": True} | dict(zip(names, values, strict=True))


def _right(points: Any, low: float, high: float) -> float:
    """The mean y of the points with the largest x: of a turned cuboid, where its rightmost edge stands."""
    return float(points[points[:, 0] >= high - 1e-4 * (high - low), 1].mean())


def _area(triangles: Any) -> float:
    """The sum of the areas of `triangles`, shaped (n, 3, 3)."""
    with np.errstate(all="ignore"):
        cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        return float(np.linalg.norm(cross, axis=1).sum() / 2)


def _hull(points: Any, centre: Any) -> tuple[float, float]:
    """Volume and area of the convex hull; a flat one has volume 0.

    Blender's hull works in single precision, so the points are moved to their centre and brought to unit size first.
    """
    scale = float(np.abs(points - centre).max())
    if scale == 0.0:
        return 0.0, 0.0
    builder = bmesh.new()
    try:
        for point in np.unique(((points - centre) / scale).astype(np.float32), axis=0).tolist():
            builder.verts.new(point)
        if len(builder.verts) < 4:
            return 0.0, 0.0
        bmesh.ops.convex_hull(builder, input=builder.verts)
        bmesh.ops.triangulate(builder, faces=builder.faces[:])
        builder.verts.index_update()
        places = np.array([vertex.co[:] for vertex in builder.verts], dtype=np.float64)
        corners = [[a.index, b.index, c.index] for a, b, c in (face.verts for face in builder.faces)]
        hull = places[np.array(corners, dtype=np.intp).reshape(-1, 3)]
    finally:
        builder.free()
    if not len(hull):
        return 0.0, 0.0
    volume = abs(float(np.einsum("ij,ij->i", hull[:, 0], np.cross(hull[:, 1], hull[:, 2])).sum())) / 6
    return volume * scale**3, _area(hull) * scale**2
