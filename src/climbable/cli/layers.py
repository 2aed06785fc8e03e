"""The sandbox's layers on this machine, each found by trying it in a process of its own: what `climb doctor` tells of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from climbable.cli.finding import Finding

_PROBES = """
import ctypes, json, os, resource, signal, socket, sys
sys.path.insert(0, sys.argv[1])
from jail import landlock, seccomp, syscalls

KINDS = dict(mount=syscalls.CLONE_NEWNS, process=syscalls.CLONE_NEWPID, network=syscalls.CLONE_NEWNET,
             IPC=syscalls.CLONE_NEWIPC, UTS=syscalls.CLONE_NEWUTS, cgroup=syscalls.CLONE_NEWCGROUP)

def namespaces(first):
    made = []
    for name, flag in KINDS.items():
        if attempt(lambda: syscalls.unshare(first | flag)) == "":
            made.append(name)
    if len(made) < len(KINDS):
        raise OSError("these can be made: " + (", ".join(made) or "none"))

def user_namespaces():
    namespaces(syscalls.CLONE_NEWUSER)
    uid = os.getuid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)

def private_scratch():
    syscalls.unshare(syscalls.CLONE_NEWNS | (syscalls.CLONE_NEWUSER if os.getuid() else 0))
    syscalls.mount("none", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC | syscalls.MS_NOSYMFOLLOW
    syscalls.mount("tmpfs", "/tmp", "tmpfs", flags, "size=1m,nr_inodes=8")

def other_user():
    os.setresuid(1_000_000_000, 1_000_000_000, 1_000_000_000)

def no_new_privileges():
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.clear_capabilities()

def system_calls():
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(seccomp.program(syscalls.MACHINE, forks=True))
    try:
        socket.socket()
    except PermissionError:
        return
    raise OSError("the filter was accepted, but a socket could be made")

def files():
    if not landlock.abi():
        raise OSError("this kernel has none, or it was not switched on")
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(["/usr"], [])
    try:
        os.listdir("/")
    except PermissionError:
        pass
    else:
        raise OSError("the rules were accepted, but a folder beyond them could be read")
    if landlock.abi() < landlock.LEAST_ABI_ALONE:
        raise OSError(f"ABI {landlock.abi()}: files only; signals and abstract sockets need ABI {landlock.LEAST_ABI_ALONE}")

def limits():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    try:
        bytearray(1 << 31)
    except MemoryError:
        return
    raise OSError("a limit of memory was accepted, but not kept")

def sure_kill():
    child = os.fork()
    if child == 0:
        signal.pause()
    signal.pidfd_send_signal(os.pidfd_open(child), signal.SIGKILL)
    os.waitpid(child, 0)

def attempt(probe):
    '''What `probe` says in a process of its own; nothing if it worked.'''
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        try:
            probe()
        except BaseException as error:
            os.write(theirs, (str(error) or type(error).__name__).encode()[:300])
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as told:
        text = told.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    return text or ("" if status == 0 else f"it was killed by signal {status & 127}")

print(json.dumps({
    "root namespaces": attempt(lambda: namespaces(0)), "user namespaces": attempt(user_namespaces),
    "private scratch": attempt(private_scratch), "a user a sample": attempt(other_user), "landlock": attempt(files),
    "seccomp": attempt(system_calls), "no new privileges": attempt(no_new_privileges), "limits": attempt(limits),
    "kill by pidfd": attempt(sure_kill), "landlock ABI": landlock.abi(),
}))
"""

_ROOT_FIX = "in Docker: docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined …; elsewhere: run as root"
_LAYERS: tuple[tuple[str, str, str, bool], ...] = (
    ("root namespaces", "all samples share your user id", _ROOT_FIX, False),
    (
        "user namespaces",
        "without root, scripts share the machine's processes and network tables, and only Landlock hides files",
        "",
        False,
    ),
    ("private scratch", "a script can fill the disk that holds the temporary folder", _ROOT_FIX, False),
    ("a user a sample", "what belongs to you is kept from scripts by fewer layers", "run as root", False),
    (
        "landlock",
        "one layer less between a script and the files that its jail shows; without namespaces it is the only one",
        "a kernel of 6.12 or later, built with CONFIG_SECURITY_LANDLOCK=y and booted with lsm=landlock,…",
        False,
    ),
    (
        "seccomp",
        "scripts could make sockets and start programs, so none is run",
        "a kernel with CONFIG_SECCOMP_FILTER=y on x86_64 or aarch64",
        True,
    ),
    ("no new privileges", "no filter can be put on, so no script is run", "a kernel of 4.8 or later", True),
    ("limits", "a script could take all memory, so none is run", "a kernel that keeps RLIMIT_AS", True),
    ("kill by pidfd", "a script could outlive its time, so none is run", "a kernel of 5.4 or later", True),
)
"""Layer, what its lack costs, what to type, whether no script is run without it."""

_SWITCHES = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
)
"""What keeps ordinary users from user namespaces: the file below /proc/sys, the value that does, and what to type."""


def layers() -> list[Finding]:
    """Every layer, tried: it works, or what its lack costs and what to type."""
    folder = Path(__file__).parents[1] / "sandbox"
    command = [sys.executable, "-I", "-c", _PROBES, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        told = (done.stderr.strip().splitlines() or ["no word"])[-1]
        fix = "the jail is for Linux; elsewhere use --container docker (docs/blenders.md)"
        return [
            Finding(part="layers", works=False, here=told, cost="no layer could be tried", fix=fix, needed=True),
        ]
    return findings(json.loads(done.stdout))


def findings(told: Mapping[str, object]) -> list[Finding]:
    """What the probes told, in words."""
    result = []
    for name, cost, fix, needed in _LAYERS:
        works = told[name] == ""
        here = "works" if works else str(told[name])
        if name == "landlock" and works:
            here = f"works, ABI {told['landlock ABI']}"
        part, switch = f"layer {name}", user_namespace_switch() if name == "user namespaces" else fix
        result.append(Finding(part=part, works=works, here=here, cost=cost, fix=switch, needed=needed))
    return result


def user_namespace_switch(settings: Path = Path("/proc/sys")) -> str:
    """The line that lets ordinary users make user namespaces here."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    for name, blocking, line in _SWITCHES:
        try:
            if (settings / name).read_text().strip() == blocking:
                return sudo + line
        except OSError:
            continue
    return f"a kernel with CONFIG_USER_NS=y; {_ROOT_FIX}"
