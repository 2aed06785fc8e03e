"""The checks of the skill `scene` on a measured scene: name and shape, size, ground, place, and nothing else there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from climbable.core.reward import partial_credit
from climbable.core.types import Check, Judgement, Task

TOLERANCE_M = 0.03
SINGLE_PRECISION_M = 1e-5
"""To spare on every comparison: Blender stores single precision, and 3 cm sharp must pass."""

CUBE_FILL = 0.95
"""A cube's hull fills at least this much of its box, which only an upright cuboid does."""
SPHERE_FILL = (0.35, 0.56)
"""A sphere's hull fills π/6 = 0.52 of its box, less with few vertices."""
SPHERE_NEAREST = 0.95
"""No vertex of a sphere lies nearer to its centre than this share of the radius, less the tolerance."""
SURFACE = 0.95
"""The faces' area against the hull's: loose corners of a cube are no cube."""

TOLERANCE_DEG = 2.0
"""Of a turned cube's angle: 2.5 cm at the corners of a cube of 1 m."""

Measured = Mapping[str, Any]


def judge(task: Task, artefact: Any) -> Judgement:
    """The judgement on a measurement, as `climbable.blender` makes them."""
    objects: Mapping[str, Measured] = {thing["name"]: thing for thing in artefact["objects"]}
    wanted = task.spec["objects"]
    checks = tuple(
        check
        for spec in wanted
        for check in (_turned_checks if "yaw" in spec else _checks)(spec, objects.get(spec["name"]))
    )
    asked = sum(spec["name"] in objects for spec in wanted)
    alone = len(artefact["objects"]) == asked and not artefact["extra"]  # a linked object may share a local one's name
    solved = all(check.passed for check in checks) and alone
    return Judgement(checks=checks, solved=solved, parts=partial_credit(checks, solved=solved))


def shape_of(thing: Measured) -> str:
    """``cube``, ``sphere`` or ``other``, from the hull of the used vertices and the faces' area."""
    extents = [high - low for low, high in zip(thing["min"], thing["max"], strict=True)]
    box = math.prod(extents)
    if box <= 0 or thing["area"] < SURFACE * thing["hull_area"]:
        return "other"
    fill = thing["hull_volume"] / box
    if fill >= CUBE_FILL:
        return "cube"
    radius = max(extents) / 2
    if SPHERE_FILL[0] <= fill <= SPHERE_FILL[1] and thing["nearest"] >= SPHERE_NEAREST * radius - TOLERANCE_M:
        return "sphere"
    return "other"


def turn_of(thing: Measured) -> tuple[float, float]:
    """``(yaw, share)`` of a square prism that is turned about z: degrees from 0 to 90, and its edge by its box's width.

    Its rightmost edge, seen from the centre, stands at 45° + yaw, less a quarter turn. What is no such prism has a hull of
    another volume, and `_turned_checks` calls it something else.
    """
    extents = [high - low for low, high in zip(thing["min"], thing["max"], strict=True)]
    if math.prod(extents) <= 0 or thing["hull_volume"] >= CUBE_FILL * math.prod(extents):
        return 0.0, 1.0
    across = thing["right"] - (thing["min"][1] + thing["max"][1]) / 2
    yaw = (math.degrees(math.atan2(across, extents[0] / 2)) + 45.0) % 90.0
    return yaw, 1.0 / (math.cos(math.radians(yaw)) + math.sin(math.radians(yaw)))


def _turned_checks(spec: Mapping[str, Any], found: Measured | None) -> list[Check]:
    """The checks of a cube that is to be turned: its own edges are measured, not those of its box."""
    name = spec["name"]
    if found is None or not found["finite"]:
        return [*_checks(spec, found), _angle(f"{name}.rotation", spec["yaw"], None)]
    yaw, share = turn_of(found)
    extents = [high - low for low, high in zip(found["min"], found["max"], strict=True)]
    edges = [extents[0] * share, extents[1] * share, extents[2]]
    fits = _alike(found["hull_volume"], math.prod(edges)) and _alike(found["hull_area"], _surface(edges))
    cube = fits and found["area"] >= SURFACE * found["hull_area"]
    return [
        Check(name=f"{name}.name", passed=cube, expected="cube", measured="cube" if cube else "other"),
        _near(f"{name}.size", [spec["size"]] * 3, edges if fits else extents),
        *_checks(spec, found)[2:],
        _angle(f"{name}.rotation", spec["yaw"], yaw if fits else None),
    ]


def _alike(hull: float, cuboid: float) -> bool:
    """A sphere has the volume of a turned cube that fills its box, but not the area."""
    return CUBE_FILL * cuboid <= hull <= cuboid / CUBE_FILL and cuboid > 0


def _surface(edges: list[float]) -> float:
    a, b, c = edges
    return 2 * (a * b + b * c + c * a)


def _angle(name: str, expected: float, measured: float | None) -> Check:
    """A quarter turn leaves a cube as it was."""
    off = None if measured is None else abs((measured - expected + 45.0) % 90.0 - 45.0)
    passed = off is not None and off <= TOLERANCE_DEG + SINGLE_PRECISION_M
    shown = None if measured is None else round(measured, 4)
    return Check(name=name, passed=passed, expected=expected, measured=shown, tolerance=TOLERANCE_DEG, unit="deg")


def _checks(spec: Mapping[str, Any], found: Measured | None) -> list[Check]:
    name = spec["name"]
    there = found is not None and found["finite"]
    shape = shape_of(found) if found is not None and there else ("not finite" if found is not None else None)
    low, high = (found["min"], found["max"]) if found is not None and there else ([math.nan] * 3, [math.nan] * 3)
    extents = [h - a for a, h in zip(low, high, strict=True)] if there else None
    centre = [(a + h) / 2 for a, h in zip(low, high, strict=True)] if there else None
    checks = [
        Check(name=f"{name}.name", passed=shape == spec["shape"], expected=spec["shape"], measured=shape),
        _near(f"{name}.size", [spec["size"]] * 3, extents),
    ]
    if spec["grounded"]:
        checks.append(_near(f"{name}.grounded", 0.0, low[2] if there else None))
    checks.append(_near(f"{name}.position", list(spec["center"]), centre))
    return checks


def _near(name: str, expected: Any, measured: Any) -> Check:
    """Every axis within the tolerance, inclusive; nothing is near what is not there."""
    pairs = zip(expected, measured or (), strict=False) if isinstance(expected, list) else [(expected, measured)]
    passed = measured is not None and all(abs(a - b) <= TOLERANCE_M + SINGLE_PRECISION_M for a, b in pairs)
    if isinstance(measured, list):
        measured = [round(value, 6) for value in measured]
    elif measured is not None:
        measured = round(measured, 6)
    return Check(name=name, passed=passed, expected=expected, measured=measured, tolerance=TOLERANCE_M, unit="m")
