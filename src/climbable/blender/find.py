"""Which program has Blender: a Python with bpy in an environment of its own, apart from the app's, or a ``blender``."""

from __future__ import annotations

import ctypes.util
import os
from pathlib import Path

from climbable.core.errors import Unavailable, UserError

VARIABLE = "CLIMBABLE_BLENDER"

SYSTEM_LIBRARIES = {
    "X11": "libx11-6",
    "Xrender": "libxrender1",
    "Xfixes": "libxfixes3",
    "Xi": "libxi6",
    "xkbcommon": "libxkbcommon0",
    "SM": "libsm6",
    "ICE": "libice6",
    "GL": "libgl1",
    "Xext": "libxext6",
}
"""The shared libraries that Blender's wheel expects of the system, with Debian's names for their packages."""


def cache_folder() -> Path:
    """The user's cache for Climbable: ``$XDG_CACHE_HOME/climbable`` or ``~/.cache/climbable``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "climbable"


def candidates() -> list[Path]:
    """Where an interpreter with Blender is looked for when nobody names one, in this order."""
    checkout = Path(__file__).parents[3]
    return [checkout / ".blender/bin/python", cache_folder() / "blender/bin/python"]


def find_interpreter(explicit: str | None = None) -> Path:
    """`explicit`, else ``$CLIMBABLE_BLENDER``, else the checkout's, else the user's cache.

    It is a Python that has bpy, or a ``blender`` executable.

    What is named must exist (`UserError`); what is only looked for may be missing (`Unavailable`).
    """
    named = explicit or os.environ.get(VARIABLE)
    if named:
        path = Path(named).expanduser().absolute()
        if not os.access(path, os.X_OK) or path.is_dir():
            raise UserError(
                f"{named!r} is no program that can be run; --blender and {VARIABLE} name a Python that has bpy, "
                "or a blender executable"
            )
        return path
    for path in candidates():
        if os.access(path, os.X_OK):
            return path
    raise Unavailable(
        f"no Blender is here: type `climb doctor --fix` (or `make setup` in a checkout), or name a Python that has bpy, "
        f"or a blender executable, with --blender or {VARIABLE}"
    )


def missing_system_libraries() -> list[str]:
    """The Debian packages of the system libraries that Blender needs and this machine lacks."""
    return [package for library, package in SYSTEM_LIBRARIES.items() if not _loads(library)]


def _loads(library: str) -> bool:
    name = ctypes.util.find_library(library)
    return name is not None
