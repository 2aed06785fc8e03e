"""One confined child, from its fork until the kernel has ended all that it started, and what its end says."""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import namespaces, syscalls
from .confine import Confinement, confine

READY = b"R"
"""The first byte of a child's report, written by our own code before anything untrusted runs."""
END = b"\nthe script has ended\n"
"""In a child's report: it asks for its token. Only then is one drawn, so while a script runs there is none to find."""
READY_S = 10.0
"""For closing the jail, which takes milliseconds; a machine that needs longer is too busy to judge a script."""
_MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What one child may use."""

    wall_s: float
    memory_mib: int
    file_mib: int
    output_bytes: int

    @property
    def cpu_s(self) -> int:
        """Of all its threads together; wall time is the limit that a script meets first."""
        return int(self.wall_s) + 10


@dataclass(frozen=True, kw_only=True)
class Child:
    """What is known of a child that has ended."""

    ready: bool
    output: bytes
    token: str
    """Empty if the child never asked for one."""
    status: int
    timed_out: bool
    grown_mib: float
    cpu_s: float
    seconds: float


def run(
    work: Callable[[int, int], None],
    how: Confinement,
    bounds: Bounds,
    *,
    uid: int,
    folder: str,
    writable: bool,
    proc: int,
    own_pids: int,
) -> Child:
    """Runs `work(report, orders)` in a confined child and waits until it and all that it started are dead.

    `proc` is a descriptor of this process's folder in /proc, `own_pids` one of its process namespace.
    """
    report, theirs = os.pipe2(os.O_CLOEXEC)
    orders, ours = os.pipe2(os.O_CLOEXEC)
    mapped, own = _memory(proc)
    started, parent = time.monotonic(), os.getpid()
    if how.mode != namespaces.NONE:
        syscalls.unshare(syscalls.CLONE_NEWPID)
    child = os.fork()
    if child == 0:
        try:
            if how.mode == namespaces.NONE:
                syscalls.die_with_parent(signal.SIGKILL, parent)
            confine(
                how,
                uid=uid,
                folder=folder,
                writable=writable,
                keep={theirs, orders},
                address_space=mapped + bounds.memory_mib * _MIB,
                file_size=bounds.file_mib * _MIB,
                cpu_s=bounds.cpu_s,
            )
        except BaseException as error:  # no layer, no script: the parent hears of it and the sample is unmeasured
            os.write(theirs, f"F{type(error).__name__}: {error}".encode())
            os._exit(70)
        os.write(theirs, READY)
        try:
            work(theirs, orders)
        finally:
            os._exit(71)
    if how.mode != namespaces.NONE:
        syscalls.setns(own_pids, syscalls.CLONE_NEWPID)
    os.close(theirs)
    os.close(orders)
    try:
        return _watch(child, report, ours, bounds, started=started, own=own)
    finally:
        os.close(report)
        os.close(ours)


def ending(child: Child, bounds: Bounds, *, measuring: bool = False, done: bool = True) -> dict[str, Any] | None:
    """What a child's end says by itself: ``None`` if it ended as it should have."""
    if not child.ready:
        told = child.output.decode("utf-8", "replace")[:200]
        why = f"this machine is too busy: it took longer than {READY_S:g} s" if child.timed_out else told
        return _unmeasured(f"the jail could not be closed: {why}")
    what = "measuring the scene" if measuring else "the script"
    if child.timed_out:
        return _failed("timeout", f"{what} took longer than {bounds.wall_s:g} s")
    code = os.waitstatus_to_exitcode(child.status)
    if code == 0 and done:
        return None
    if code < 0:
        return _killed(child, bounds, -code, measuring)
    if measuring:
        told = child.output.decode("latin-1")
        return _failed("unreadable", "the saved scene cannot be measured") | {"told": told, "measured": True}
    detail = f"the script ended its process early, with exit status {code}, before its last line had run"
    return _failed("crashed", detail)


def _killed(child: Child, bounds: Bounds, number: int, measuring: bool) -> dict[str, Any]:
    """Death by a signal. No script can send itself SIGKILL (see `seccomp`), so one that we did not send is the machine's.

    There are two exceptions, and both show in the figures: its own limit of CPU time, and memory near its own limit.
    """
    what = "measuring the scene" if measuring else "the script"
    if child.grown_mib > 0.9 * bounds.memory_mib:
        detail = f"more memory than the {bounds.memory_mib} MiB allowed" + (
            " to measure the scene" if measuring else ""
        )
        return _failed("memory", detail)
    if number == signal.SIGKILL and child.cpu_s >= bounds.cpu_s:
        return _failed("timeout", f"{what} used more than {bounds.cpu_s} s of CPU time")
    if number == signal.SIGKILL:
        return _unmeasured(f"{what} was killed from outside, as a machine does that runs out of memory")
    name = signal.Signals(number).name
    if measuring:
        return _failed("unreadable", f"Blender died of {name} on the saved scene")
    return _failed("crashed", f"Blender died of {name} while the script ran")


def _failed(reason: str, detail: str) -> dict[str, Any]:
    return {"outcome": "failed", "reason": reason, "detail": detail}


def _unmeasured(detail: str) -> dict[str, Any]:
    return {"outcome": "unmeasured", "reason": None, "detail": detail}


def _memory(proc: int) -> tuple[int, int]:
    """How many bytes this process has mapped, and how many a fork of it has in memory from the start."""
    descriptor = os.open("statm", os.O_RDONLY, dir_fd=proc)
    try:
        mapped, resident, of_files, *_ = (int(pages) for pages in os.read(descriptor, 100).split())
        return mapped * resource.getpagesize(), (resident - of_files) * resource.getpagesize()
    finally:
        os.close(descriptor)


def _watch(child: int, report: int, orders: int, bounds: Bounds, *, started: float, own: int) -> Child:
    """Reads the child's report until the child is dead, and kills it at the deadline.

    Its time begins when it says that it is ready. It is the first process of its namespace, so the kernel has ended
    everything in there once it is reaped.
    """
    handle = os.pidfd_open(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(report, select.POLLIN)
    output, token, timed_out, dead = bytearray(), "", False, False
    deadline = started + READY_S
    try:
        while not dead:
            left = deadline - time.monotonic()
            if left <= 0 and not timed_out:
                timed_out = True
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            events = dict(poll.poll(max(0.0, left) * 1000 if not timed_out else 5000))
            dead = handle in events
            if report not in events:
                continue
            first, block = not output, os.read(report, 1 << 16)
            output += block
            if first and block[:1] == READY and not timed_out:
                deadline = time.monotonic() + bounds.wall_s
            if not block:
                poll.unregister(report)
            elif len(output) > bounds.output_bytes + (1 << 16):
                del output[1 : len(output) - bounds.output_bytes]
            if not token and END in output[-len(block) - len(END) :] and output[:1] == READY:
                token = _hand_token(orders)
    finally:
        os.close(handle)
    _, status, usage = os.wait4(child, 0)
    os.set_blocking(report, False)
    with contextlib.suppress(BlockingIOError):
        while block := os.read(report, 1 << 16):
            output += block
    return Child(
        ready=output[:1] == READY,
        output=bytes(output[1:]),
        token=token,
        status=status,
        timed_out=timed_out,
        grown_mib=usage.ru_maxrss / 1024 - own / _MIB,
        cpu_s=usage.ru_utime + usage.ru_stime,
        seconds=time.monotonic() - started,
    )


def _hand_token(orders: int) -> str:
    token = secrets.token_hex(12)
    with contextlib.suppress(OSError):  # a script may have closed its end
        os.write(orders, token.encode())
    return token
