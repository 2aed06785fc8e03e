"""Landlock: what may be read and written, and no network; needs neither root nor namespaces.

Kernel documentation: userspace-api/landlock.rst. ABI 4 adds TCP, ABI 6 abstract sockets and signals.
"""

from __future__ import annotations

import ctypes
import os
import struct

from . import syscalls

LEAST_ABI_ALONE = 6
"""Without namespaces nothing else keeps signals and abstract sockets apart."""

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_ABI_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


def abi() -> int:
    """The Landlock version of this kernel; 0 where there is none."""
    try:
        return syscalls.call(syscalls.number("landlock"), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def restrict(readable: list[str], writable: list[str]) -> None:
    """Confines this thread for good: `readable` paths may be read, below `writable` anything but devices may be made."""
    version = abi()
    if not version:
        raise OSError("this kernel has no Landlock")
    handled = _handled(version)
    network = 0b11 if version >= 4 else 0
    scoped = 0b11 if version >= 6 else 0
    attributes = struct.pack("QQQ", handled, network, scoped)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    nr = syscalls.number("landlock")
    ruleset = syscalls.call(nr, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    try:
        for path in readable:
            _allow(nr + 1, ruleset, path, (_READ_FILE | _READ_DIR) & handled)
        for path in writable:
            _allow(nr + 1, ruleset, path, handled & ~(_EXECUTE | _IOCTL_DEV | _MAKE_CHAR | _MAKE_BLOCK))
        syscalls.call(nr + 2, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _handled(version: int) -> int:
    return (1 << _ABI_RIGHTS.get(version, 16)) - 1


def _allow(nr: int, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = struct.pack("=Qi", rights, descriptor)
        syscalls.call(nr, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)
