"""Blender imported and made fit to be forked: one thread that matters, an empty scene, everything touched once."""

from __future__ import annotations

import ctypes
import glob
import importlib.util
import json
import os
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy loads; its workers would not survive a fork

import bpy
import numpy

from . import measure, script


class Program:
    """The warm Blender; its methods run in forked children."""

    def __init__(self) -> None:
        self.version = bpy.app.version_string
        _stop_image_threads()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "warm.blend")
            _empty_scene()
            bpy.ops.mesh.primitive_cube_add()
            bpy.ops.wm.save_as_mainfile(filepath=path, check_existing=False)
            measure.measure(path, 1000)
        _empty_scene()
        numpy.linalg.norm(numpy.zeros(3))
        sys.stdout.flush()
        sys.stderr.flush()

    def run(self, text: str, folder: str, report: int, orders: int, alone: bool) -> None:
        """In a child: runs the script and saves the scene that stands after its last line. Never returns."""
        script.run(text, folder, report, orders, alone)

    def measure(self, path: str, most_vertices: int, report: int) -> None:
        """In a child: opens the file and writes its measurement, as JSON, to `report`. Never returns."""
        try:
            found, status = measure.measure(path, most_vertices), 0
        except measure.Unfit as unfit:
            found, status = {"failed": unfit.reason, "detail": str(unfit)}, 1
        except MemoryError:
            found, status = {"failed": "memory", "detail": "no memory left to measure the scene"}, 1
        except Exception as error:
            found, status = {"failed": "unreadable", "detail": f"{type(error).__name__}: {error}"}, 1
        data = json.dumps(found, allow_nan=False).encode()
        while data:
            data = data[os.write(report, data) :]
        os._exit(status)


def _empty_scene() -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    # After the reset, which turns it on again: a thumbnail costs more than the rest of a save.
    bpy.context.preferences.filepaths.file_preview_type = "NONE"


def _stop_image_threads() -> None:
    """OpenEXR's thread pool would leave every forked child that saves an EXR image waiting for ever.

    Its library lies in the wheel's folder, in that of a ``blender`` executable, or was loaded by it from the system's.
    """
    spec = importlib.util.find_spec("bpy")  # bpy.__file__ names a file of its scripts instead
    assert spec is not None and spec.origin is not None
    folders = {os.path.dirname(spec.origin), os.path.dirname(os.path.realpath(bpy.app.binary_path or spec.origin))}
    names = [f"{folder}/lib/lib{name}*.so*" for folder in folders for name in ("OpenEXR", "IlmThread")]
    for path in [None, *(path for name in names for path in glob.glob(name))]:
        library = ctypes.CDLL(path)
        for version in range(1, 10):
            stop = getattr(library, f"_ZN7Imf_3_{version}20setGlobalThreadCountEi", None)
            if stop is not None:
                stop(0)
