"""Puts Blender into an environment of its own: ``python -m climbable.blender.install FOLDER``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from climbable.blender.find import missing_system_libraries
from climbable.core.errors import ClimbableError, Unavailable, UserError

BPY = "bpy==4.5.15"
"""Blender 4.5 LTS; its wheel is for Python 3.11 alone."""


def install(target: Path, python: str = "python3.11") -> None:
    """Makes `target` an environment with Blender, and the system has the libraries that it needs; then imports it once."""
    install_system_libraries()
    if shutil.which(python) is None:
        raise UserError(f"{python!r} is not here; Blender 4.5 needs Python 3.11: name one with --python")
    version = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], capture_output=True, text=True
    )
    if version.stdout.strip() != "3.11":
        raise UserError(
            f"{python!r} is Python {version.stdout.strip()}; Blender 4.5 needs Python 3.11: name one with --python"
        )
    interpreter = target / "bin/python"
    _run([python, "-m", "venv", str(target)])
    _run([str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", BPY])
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
    parser.add_argument("--python", default="python3.11", help="a Python 3.11 (default: %(default)s)")
    options = parser.parse_args()
    try:
        install(options.target, options.python)
    except ClimbableError as error:
        print(f"climbable: {error}", file=sys.stderr)
        sys.exit(error.exit_status)


if __name__ == "__main__":
    main()
