"""Starts the zygote inside a ``blender`` executable: ``blender --background … --python in_blender.py -- SOCKET FOLDER DRIVER``.

Blender has threads of its own by then, and a user namespace is for processes with one. So a fork goes on, which has one.
"""

import importlib
import os
import signal
import sys

_descriptor, _folder, _driver = sys.argv[-3:]
sys.path.insert(0, _folder)
namespaces, syscalls, zygote = (
    importlib.import_module(f"jail.{name}") for name in ("namespaces", "syscalls", "zygote")
)
sys.path.pop(0)
syscalls.die_with_parent(signal.SIGKILL, int(_driver))
if _child := os.fork():
    namespaces.wait_for(_child)
try:
    zygote.main(int(_descriptor))
finally:
    os._exit(0)  # Blender's own end would take back what the first process still uses
