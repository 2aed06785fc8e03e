"""Namespaces and a root of our own: once per zygote, before anything heavy is imported.

After `enter` the process is the first one of its process namespace and sees a read-only tree with the interpreter, its
libraries and the folders it was given: no /proc, no /sys, no home folders, no network but a loopback that is down.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys

from . import syscalls

ROOT, USER, NONE = "root namespaces", "user namespaces", "landlock"
"""The modes, strongest first."""

SCRATCH = "/scratch"
ARTEFACTS = "/artefacts"
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
"""All that scripts may read below ``/dev``."""
_SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/fonts")
_ALL = (
    syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWCGROUP
)


def enter(mode: str) -> None:
    """Makes the namespaces of `mode` and goes on as their first process; the caller's process waits, and dies with it.

    An OSError means that this machine does not allow the mode; nothing is changed then.
    """
    uid, gid = os.getuid(), os.getgid()
    if mode == ROOT:
        if uid != 0:
            raise OSError("not root")
        syscalls.unshare(_ALL)
    else:
        syscalls.unshare(_ALL | syscalls.CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    child = os.fork()
    if child:
        wait_for(child)
    # getppid is 0 here: the parent is outside of this namespace. The pipe of the driver tells of its death as well.
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_for(child: int) -> None:
    """Waits until `child` is dead and ends this process as it ended."""
    while True:
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def visible(extra: list[str]) -> list[str]:
    """The paths that the tree shows: the system's, the interpreter's, and `extra`; parents before what they hold."""
    paths = {*_SYSTEM, *extra, sys.prefix, sys.base_prefix, sys.exec_prefix, *(path for path in sys.path if path)}
    paths |= set(filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")))
    paths.add(os.path.dirname(os.path.realpath(sys.executable)))
    whole = sorted({os.path.abspath(path) for path in paths if os.path.exists(path)} - {"/"})
    return [
        path
        for path in whole
        if not any(path != top and _below(path, top) and not os.path.islink(top) for top in whole)
    ]


def build_root(base: str, paths: list[str]) -> None:
    """Replaces the file system by a tree of `paths`, put together in the folder `base`; the old one is gone afterwards."""
    syscalls.mount("none", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    hard = syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("tmpfs", base, "tmpfs", hard, "size=1m,mode=755")
    for path in paths:
        _show(path, base)
    os.makedirs(base + "/dev", exist_ok=True)
    for device in DEVICES:
        with open(base + device, "w"):
            pass
        syscalls.mount(device, base + device, "", syscalls.MS_BIND)
    for folder in (SCRATCH, ARTEFACTS, "/old"):
        os.makedirs(base + folder, exist_ok=True)
    os.makedirs(base + "/proc", exist_ok=True)
    with contextlib.suppress(
        OSError
    ):  # Blender from 5.1 on reads its own maps while it is imported; `seal_root` takes it away
        syscalls.mount("proc", base + "/proc", "proc", hard | syscalls.MS_NOEXEC)
    if not os.path.lexists(base + "/tmp"):  # it is there already only if the interpreter itself lives in it
        os.symlink(SCRATCH, base + "/tmp")
    os.chdir(base)
    syscalls.pivot_root(".", "old")
    os.chdir("/")
    syscalls.umount("/old", syscalls.MNT_DETACH)
    os.rmdir("/old")
    syscalls.mount("tmpfs", ARTEFACTS, "tmpfs", hard | syscalls.MS_NOEXEC, "mode=755")
    # Blender wants a folder for temporary files while it starts; every sample covers it with a scratch of its own.
    syscalls.mount("tmpfs", SCRATCH, "tmpfs", hard | syscalls.MS_NOEXEC, "size=16m,mode=755")


def seal_root() -> None:
    """Makes the tree itself read-only and takes /proc out of it, once everything is imported."""
    _hide_proc()
    flags = syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY | syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("none", "/", "", flags)


def _hide_proc() -> None:
    with contextlib.suppress(OSError):  # where it could not be mounted there is nothing to take away
        syscalls.umount("/proc", syscalls.MNT_DETACH)
    if os.listdir("/proc"):
        raise OSError("/proc is still there")


def mount_scratch(uid: int, mib: int) -> None:
    """A fresh private scratch for one sample, with a quota on bytes and on files."""
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC | syscalls.MS_NOSYMFOLLOW
    options = f"size={mib}m,nr_inodes=16384,mode=700,uid={uid},gid={uid}"
    syscalls.mount("tmpfs", SCRATCH, "tmpfs", flags, options)


def unmount_scratch() -> None:
    """Throws the scratch away with all that is in it."""
    syscalls.umount(SCRATCH)


def _show(path: str, base: str) -> None:
    target = base + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        if not os.path.lexists(target):
            os.symlink(os.readlink(path), target)
        return
    if stat.S_ISDIR(os.stat(path).st_mode):
        os.makedirs(target, exist_ok=True)
    else:
        with open(target, "w"):
            pass
    syscalls.mount(path, target, "", syscalls.MS_BIND | syscalls.MS_REC)
    flags = syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY | syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("none", target, "", flags)


def _below(path: str, top: str) -> bool:
    return path.startswith(top + "/")
