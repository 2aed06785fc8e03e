"""The system calls that Python's standard library lacks, through libc, with errors as `OSError`."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)

MACHINE = platform.machine()

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_NEW_ANY = (
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
)
CLONE_THREAD = 0x00010000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_NOSYMFOLLOW = 256
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

_NUMBERS = {
    "x86_64": {"pivot_root": 155, "seccomp": 317, "landlock": 444, "capset": 126},
    "aarch64": {"pivot_root": 41, "seccomp": 277, "landlock": 444, "capset": 91},
}


def number(name: str) -> int:
    """The number of a system call on this architecture; an OSError on one without a table."""
    try:
        return _NUMBERS[MACHINE][name]
    except KeyError:
        raise OSError(f"no system call table for {MACHINE}") from None


def call(nr: int, *args: Any) -> int:
    """``syscall(2)``: its result, or an OSError."""
    result = int(_libc.syscall(ctypes.c_long(nr), *args))
    if result < 0:
        _fail(f"system call {nr}")
    return result


def unshare(flags: int) -> None:
    """``unshare(2)``."""
    if _libc.unshare(ctypes.c_int(flags)):
        _fail(f"unshare({flags:#x})")


def setns(descriptor: int, kind: int) -> None:
    """``setns(2)``."""
    if _libc.setns(descriptor, kind):
        _fail("setns")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """``mount(2)``."""
    if _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()):
        _fail(f"mount {source} on {target}")


def umount(target: str, flags: int = 0) -> None:
    """``umount2(2)``."""
    if _libc.umount2(target.encode(), flags):
        _fail(f"umount {target}")


def pivot_root(new_root: str, put_old: str) -> None:
    """``pivot_root(2)``."""
    call(number("pivot_root"), new_root.encode(), put_old.encode())


def prctl(option: int, *args: int) -> None:
    """``prctl(2)``; absent arguments are 0, as the kernel wants them."""
    padded = [ctypes.c_ulong(arg) for arg in (*args, 0, 0, 0, 0)[:4]]
    if _libc.prctl(ctypes.c_int(option), *padded):
        _fail(f"prctl({option})")


def die_with_parent(signal_number: int, parent: int) -> None:
    """Asks for `signal_number` when the parent dies; ends at once if it is already gone."""
    prctl(PR_SET_PDEATHSIG, signal_number)
    if os.getppid() != parent:
        os._exit(1)


def drop_bounding_set() -> None:
    """Gives up every capability that a program could still gain; needs the right to do so."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            if capability == 0:
                raise
            return  # beyond the last capability that this kernel knows


def clear_capabilities() -> None:
    """Empties the ambient, effective, permitted and inheritable sets."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    call(number("capset"), ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def _fail(what: str) -> None:
    code = ctypes.get_errno()
    raise OSError(code, f"{what}: {os.strerror(code)}")
