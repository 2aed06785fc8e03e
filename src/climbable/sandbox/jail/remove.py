"""Removes a folder that a script could write to, however deep it nested it and whatever permissions it took away."""

from __future__ import annotations

import os
import secrets


def remove_tree(path: str) -> None:
    """Removes `path` and all in it. Follows no link, recurses into nothing: an inner folder is moved to the top first.

    A recursion would end at Python's limit, and a path in PATH_MAX, both long before a script's nesting does.
    """
    os.chmod(path, 0o700)
    top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        mark = secrets.token_hex(8)
        moved = 0
        while names := os.listdir(top):
            for name in names:
                if _unlinked(name, top):
                    continue
                inner = _open_folder(name, top)
                try:
                    for child in os.listdir(inner):
                        if not _unlinked(child, inner):
                            os.close(_open_folder(child, inner))  # a folder that cannot be written cannot be moved
                            moved += 1
                            os.rename(child, f"{mark}-{moved}", src_dir_fd=inner, dst_dir_fd=top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path)


def _unlinked(name: str, folder: int) -> bool:
    """Whether `name` was no folder and is gone now."""
    try:
        os.unlink(name, dir_fd=folder)
    except (IsADirectoryError, PermissionError):
        return False
    return True


def _open_folder(name: str, folder: int) -> int:
    os.chmod(name, 0o700, dir_fd=folder)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
