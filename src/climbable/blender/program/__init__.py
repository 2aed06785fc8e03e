"""What runs inside Blender's interpreter: the only files that import bpy.

The folder is put on the path by itself and imported as the package ``program``, so it imports the standard library,
what comes with Blender, and its own files only. The zygote calls `load` once, and the result's `run` and `measure` in
its forked children.
"""

from __future__ import annotations

from typing import Any


def load() -> Any:
    """Imports Blender, makes it fit to be forked, and returns the program."""
    from . import warm

    return warm.Program()
