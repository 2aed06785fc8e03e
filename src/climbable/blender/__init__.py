"""Where Blender is found, and what runs inside it (`program`, the only files that import bpy)."""

from pathlib import Path

from climbable.blender.find import find_interpreter
from climbable.blender.measurement import read_measurement

PROGRAM = Path(__file__).parent / "program"
"""The folder that the sandbox loads in Blender's interpreter."""

__all__ = ["PROGRAM", "find_interpreter", "read_measurement"]
