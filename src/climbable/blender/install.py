"""Puts Blender into an environment of its own: ``python -m climbable.blender.install [--version 5.3] FOLDER``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from climbable.blender.find import missing_system_libraries
from climbable.core.errors import ClimbableError, Unavailable, UserError, nearest

VERSIONS = {
    "4.5": ("bpy==4.5.15", "3.11"),
    "5.0": ("bpy==5.0.0", "3.11"),
    "5.3": ("bpy==5.3.0", "3.13"),
}
"""Blender → (its wheel, the one Python that the wheel is for): those on which the handed cases were run."""
DEFAULT = "4.5"


def install(target: Path, python: str | None = None, version: str = DEFAULT) -> None:
    """Makes `target` an environment with Blender, and the system has the libraries that it needs; then imports it once.

    `python` is by default what Blender's `version` needs.
    """
    if version not in VERSIONS:
        raise UserError(f"no Blender {version!r} is known: {nearest(version, VERSIONS)}")
    bpy, needed = VERSIONS[version]
    python = python or f"python{needed}"
    if shutil.which(python) is None:
        raise UserError(f"{python!r} is not here; Blender {version} needs Python {needed}: name one with --python")
    found = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], capture_output=True, text=True
    ).stdout.strip()
    if found != needed:
        raise UserError(
            f"{python!r} is Python {found or 'unknown'}; Blender {version} needs Python {needed}: name one with --python"
        )
    install_system_libraries()
    interpreter = target / "bin/python"
    _run([python, "-m", "venv", str(target)])
    _run([str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", bpy])
    _run([str(interpreter), "-I", "-c", "import os, bpy; os._exit(0)"])


def install_system_libraries() -> None:
    """Installs what `missing_system_libraries` names where we are root on Debian; else says the line to paste."""
    missing = missing_system_libraries()
    if not missing:
        return
    line = f"apt-get install -y --no-install-recommends {' '.join(missing)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Unavailable(f"Blender needs system libraries that are missing here; paste this: sudo {line}")
    print(f"climbable: installing the system libraries that Blender needs: {' '.join(missing)}", file=sys.stderr)
    _run(["apt-get", "update", "-qq"])
    _run(line.split())


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=sys.stderr)
    if done.returncode:
        raise Unavailable(f"this failed with exit status {done.returncode}: {' '.join(command)}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m climbable.blender.install", description=__doc__)
    parser.add_argument("target", type=Path, help="the environment's folder")
    parser.add_argument("--version", default=DEFAULT, help=f"{', '.join(VERSIONS)} (default: %(default)s)")
    parser.add_argument("--python", help="the Python that it is for: 3.11 up to Blender 5.0, 3.13 for 5.3")
    options = parser.parse_args()
    try:
        install(options.target, options.python, options.version)
    except ClimbableError as error:
        print(f"climbable: {error}", file=sys.stderr)
        sys.exit(error.exit_status)


if __name__ == "__main__":
    main()
