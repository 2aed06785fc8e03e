"""The form of a measurement, checked before anything looks at it: it comes from a process that parsed a hostile file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OBJECT = {"name": str, "type": str, "finite": bool, "vertices": int, "polygons": int}
_NUMBERS = ("hull_volume", "hull_area", "area", "nearest", "right")
_VECTORS = ("min", "max")
_EXTRA = {"name": str, "type": str, "kind": str, "polygons": int}


def read_measurement(value: Any) -> Mapping[str, Any]:
    """`value` if it is a measurement as `program.measure` makes them; a ValueError names what is not."""
    if not isinstance(value, dict) or set(value) != {"objects", "extra", "blender"}:
        raise ValueError("not an object with objects, extra and blender")
    for thing in _listed(value, "objects"):
        _fields(thing, _OBJECT, extra=(*_NUMBERS, *_VECTORS))
        for name in _NUMBERS:
            _number(thing[name], thing["finite"], name)
        for name in _VECTORS:
            vector = thing[name] if thing["finite"] else [thing[name]]
            if not isinstance(vector, list) or len(vector) != (3 if thing["finite"] else 1):
                raise ValueError(f"{name} is no vector")
            for number in vector:
                _number(number, thing["finite"], name)
    for thing in _listed(value, "extra"):
        _fields(thing, _EXTRA)
    if not isinstance(value["blender"], str):
        raise ValueError("blender is no string")
    return value


def _listed(value: dict[str, Any], name: str) -> list[Any]:
    things = value[name]
    if not isinstance(things, list):
        raise ValueError(f"{name} is no list")
    return things


def _fields(thing: Any, kinds: Mapping[str, type], extra: tuple[str, ...] = ()) -> None:
    if not isinstance(thing, dict) or set(thing) != {*kinds, *extra}:
        raise ValueError("an object has other fields")
    for name, kind in kinds.items():
        if type(thing[name]) is not kind:
            raise ValueError(f"{name} is no {kind.__name__}")


def _number(value: Any, finite: bool, name: str) -> None:
    if (type(value) not in (int, float)) if finite else value is not None:
        raise ValueError(f"{name} is no number")
