"""What a child takes off before it touches anything untrusted, in this order, for good."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass

from . import landlock, namespaces, seccomp, syscalls

OPEN_FILES = 256
PROCESSES = 64
FIRST_UID = 1_000_000_000
"""Beyond every uid that a system hands out; each child takes the next."""


@dataclass(frozen=True)
class Confinement:
    """How the children of this zygote are confined; computed once, since a child has no time for it."""

    mode: str
    readable: list[str]
    landlock: bool
    filter: bytes

    def uid(self, turn: int) -> int:
        """The user of the child at `turn`: its own where we are root, ours where we are not."""
        return FIRST_UID + turn % 1_000_000 if self.mode == namespaces.ROOT else os.getuid()


def confine(
    how: Confinement,
    *,
    uid: int,
    folder: str,
    writable: bool,
    keep: set[int],
    address_space: int,
    file_size: int,
    cpu_s: int,
) -> None:
    """Gives up, for this process and all that it starts, everything that a script or a parser has no need of.

    `folder` becomes the working folder, and with `writable` the only place to write; `keep` are the descriptors that stay
    open; `address_space` and `file_size` are bytes. Any OSError must end the child.
    """
    last = 2
    for descriptor in sorted(keep):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, 1 << 20)
    os.setsid()
    if how.mode != namespaces.NONE:
        syscalls.unshare(syscalls.CLONE_NEWIPC)
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_FSIZE, file_size),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(limit, (value, value))
    if how.mode == namespaces.ROOT:
        os.setgroups([])
    if how.mode != namespaces.NONE:
        resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))
        syscalls.drop_bounding_set()
    if how.mode == namespaces.ROOT:
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    os.chdir(folder)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.clear_capabilities()
    if how.landlock:
        landlock.restrict(how.readable, [folder, "/dev/null"] if writable else ["/dev/null"])
    seccomp.install(how.filter)
