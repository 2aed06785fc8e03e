"""A zygote's folder in the system's place for temporary files, and what became of those whose driver was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from pathlib import Path

from climbable.sandbox.jail.remove import remove_tree

PREFIX = "climbable-"
_LOCK = "driver.lock"
_YOUNG_S = 60.0
"""A folder this young may not have been locked yet."""


class Folder:
    """A fresh folder with ``root`` and ``artefacts`` in it, locked for as long as the process that made it lives."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix=PREFIX)
        self._lock = os.open(os.path.join(self.path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in ("root", "artefacts"):
            os.mkdir(os.path.join(self.path, name))

    def remove(self) -> None:
        """Removes it with all that is in it; what cannot be removed is left to a later `sweep`."""
        with contextlib.suppress(OSError):
            remove_tree(self.path)
        os.close(self._lock)


def sweep() -> int:
    """Removes the folders of drivers that were killed; returns how many. A living driver's are locked and stay."""
    removed = 0
    for path in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            if found.st_uid == os.geteuid() and time.time() - found.st_mtime > _YOUNG_S and _abandoned(path):
                remove_tree(str(path))
                removed += 1
    return removed


def _abandoned(path: Path) -> bool:
    with (path / _LOCK).open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
