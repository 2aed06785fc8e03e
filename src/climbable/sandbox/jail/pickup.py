"""The artefact changes hands here, after everything that could still write to it is dead."""

from __future__ import annotations

import os
import stat


class Refused(Exception):
    """There is no artefact, or it is not the plain file that it must be; `reason` is the outcome's."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def pick_up(source: str, target: str, *, most_bytes: int) -> None:
    """Copies a regular file with one link, and nothing else, to a new read-only file.

    Never follows a link, never blocks on a pipe, never reads more than `most_bytes`.
    """
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused("unreadable", f"no scene was saved: {os.strerror(error.errno or 0)}") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise Refused("unreadable", "the saved scene is not a plain file")
        if found.st_size > most_bytes:
            raise Refused("output", f"the saved scene has {found.st_size >> 20} MiB; {most_bytes >> 20} are allowed")
        copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o444)
        try:
            left = most_bytes
            while left and (block := os.read(descriptor, min(left, 1 << 20))):
                left -= len(block)
                while block:
                    block = block[os.write(copy, block) :]
        finally:
            os.close(copy)
    finally:
        os.close(descriptor)
