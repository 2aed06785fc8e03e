"""Runs a script in a jail, waits until all of it is dead, and hands what it saved to a clean jailed process.

``driver`` (no Blender, no secrets below it) → ``jail/zygote`` (one warm process a worker) → a child for the script →
``jail/pickup`` → a child that measures → ``reply`` (distrusts every byte). The layers are one file each in ``jail``.
"""

from climbable.sandbox.container import Container
from climbable.sandbox.driver import Sandbox
from climbable.sandbox.run import Limits, Run

__all__ = ["Container", "Limits", "Run", "Sandbox"]
