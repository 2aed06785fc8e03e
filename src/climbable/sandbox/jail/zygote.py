"""One warm process of which every sample is a fork: it holds Blender, and neither tasks nor answers nor scores.

For each script it forks a jailed child that runs it and saves the scene, waits until everything in that child's
process namespace is dead, picks the file up, and forks a second jailed child that opens the file and measures it. It
never runs or parses anything that a script made; what it sends back are bytes for the driver to distrust.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import secrets
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from . import landlock, namespaces, seccomp, syscalls, wire
from .confine import Confinement, confine
from .pickup import Refused, pick_up
from .remove import remove_tree

REPORT_BYTES = 16 << 10
"""Of what a script's child reports, only the end is kept."""
MEASUREMENT_BYTES = 32 << 20
READY = b"R"
"""The first byte of a child's pipe, written by our own code before anything untrusted runs."""
THREADS = 2
"""What Blender 4.5 keeps after it was made quiet; a fork copies none of them, and none holds a lock while idle."""
_MIB = 1 << 20


def main(descriptor: int) -> None:
    """Serves samples over the socket `descriptor` until the driver is gone. Runs in Blender's interpreter."""
    connection = socket.socket(fileno=descriptor)
    config = wire.receive(connection)
    syscalls.die_with_parent(signal.SIGKILL, config["driver"])
    try:
        zygote = Zygote(config)
    except Exception as error:  # whatever is missing here, the driver tries the next mode or says why
        wire.send(connection, {"error": f"{type(error).__name__}: {error}"})
        return
    wire.send(connection, zygote.hello)
    while True:
        try:
            job = wire.receive(connection)
        except EOFError:
            return
        wire.send(connection, zygote.serve(job, connection))


class Child:
    """What is known of a child that has ended."""

    def __init__(
        self, *, ready: bool, output: bytes, status: int, timed_out: bool, most_kib: int, seconds: float
    ) -> None:
        self.ready = ready
        self.output = output
        self.status = status
        self.timed_out = timed_out
        self.most_mib = most_kib / 1024
        self.seconds = seconds


class Zygote:
    """The warm process, confined once, and the way of one sample through it."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.mode: str = config["mode"]
        self.turn = 0
        shown = [config["jail"], config["program"]]
        readable = namespaces.visible(shown)
        self.scratch, self.artefacts = config["scratch"], config["artefacts"]
        if self.mode != namespaces.NONE:
            namespaces.enter(self.mode)
            self.scratch, self.artefacts = namespaces.SCRATCH, namespaces.ARTEFACTS
        self._proc = os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY)
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY)
        if self.mode != namespaces.NONE:
            namespaces.build_root(config["root"], readable)
        os.environ.update(HOME=self.scratch, TMPDIR=self.scratch)
        self.program = self._import_program(config["program"])
        if self.mode != namespaces.NONE:
            namespaces.seal_root()
        elif landlock.abi() < landlock.LEAST_ABI_ALONE:
            raise OSError(
                f"without namespaces Landlock ABI {landlock.LEAST_ABI_ALONE} is needed, here is {landlock.abi()}"
            )
        threads = len(self._listed("task"))
        if threads > THREADS:
            raise OSError(f"{threads} threads are left after warming up; a fork is safe with at most {THREADS}")
        self.how = Confinement(
            mode=self.mode,
            readable=[*readable, self.artefacts, *namespaces.DEVICES],
            landlock=landlock.abi() > 0,
            filter=seccomp.program(syscalls.MACHINE, forks=self.mode != namespaces.NONE),
        )
        self.hello = {
            "mode": self.mode,
            "threads": threads,
            "landlock": landlock.abi(),
            "machine": syscalls.MACHINE,
            "blender": self.program.version,
        }
        gc.collect()
        gc.freeze()

    def serve(self, job: dict[str, Any], connection: socket.socket) -> dict[str, Any]:
        """One script's way: run, pick up, measure. Whatever goes wrong in here by itself is ours: ``unmeasured``."""
        self.turn += 1
        if self.mode == namespaces.NONE:
            os.makedirs(self.scratch, 0o700, exist_ok=True)
        else:
            namespaces.mount_scratch(self.how.uid(self.turn), job["scratch_mib"])
        name = f"{secrets.token_hex(12)}.blend"
        source, target = os.path.join(self.scratch, name), os.path.join(self.artefacts, name)
        try:
            return self._sample(job, connection, source, target)
        finally:
            if os.path.lexists(target):
                os.unlink(target)

    def _sample(self, job: dict[str, Any], connection: socket.socket, source: str, target: str) -> dict[str, Any]:
        token = secrets.token_hex(8)
        try:
            run = self._fork(
                lambda report: self.program.run(job["script"], source, report, token, self.mode != namespaces.NONE),
                connection,
                writable=True,
                wall_s=job["wall_s"],
                memory_mib=job["memory_mib"],
                file_mib=job["scratch_mib"],
                output_bytes=REPORT_BYTES,
            )
            told = run.output.decode("latin-1")
            reply: dict[str, Any] = {"seconds": {"run": run.seconds}, "token": token, "told": told}
            ended = _ending(run, job, done=run.output.endswith(f"\n{token} done\n".encode()))
            if ended is not None:
                return reply | ended
            try:
                pick_up(source, target, most_bytes=job["artefact_mib"] * _MIB)
            except Refused as refused:
                return reply | {"outcome": "failed", "reason": refused.reason, "detail": refused.detail}
        finally:
            self._clear_scratch()
        seen = self._fork(
            lambda report: self.program.measure(target, job["vertices"], report),
            connection,
            writable=False,
            wall_s=job["measure_s"],
            memory_mib=job["measure_memory_mib"],
            file_mib=0,
            output_bytes=MEASUREMENT_BYTES,
        )
        reply["seconds"]["measure"] = seen.seconds
        ended = _ending(seen, job, measuring=True)
        return reply | (ended or {"outcome": "scored", "measurement": seen.output.decode("latin-1")})

    def _fork(
        self,
        work: Callable[[int], None],
        connection: socket.socket,
        *,
        writable: bool,
        wall_s: float,
        memory_mib: int,
        file_mib: int,
        output_bytes: int,
    ) -> Child:
        """Runs `work` in a confined child and waits until it and all that it started are dead."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        address_space = self._address_space() + memory_mib * _MIB
        uid = self.how.uid(self.turn)
        started = time.monotonic()
        if self.mode != namespaces.NONE:
            syscalls.unshare(syscalls.CLONE_NEWPID)
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                confine(
                    self.how,
                    uid=uid,
                    folder=self.scratch if writable else self.artefacts,
                    writable=writable,
                    keep={writing},
                    address_space=address_space,
                    file_size=file_mib * _MIB,
                    cpu_s=int(wall_s) + 10,
                )
            except BaseException as error:  # no layer, no script: the parent hears of it and the sample is unmeasured
                os.write(writing, f"F{type(error).__name__}: {error}".encode())
                os._exit(70)
            os.write(writing, READY)
            try:
                work(writing)
            finally:
                os._exit(71)
        if self.mode != namespaces.NONE:
            syscalls.setns(self._own_pids, syscalls.CLONE_NEWPID)
        os.close(writing)
        try:
            return _watch(child, reading, started, wall_s, output_bytes)
        finally:
            os.close(reading)

    def _import_program(self, folder: str) -> Any:
        """Imports Blender on one CPU, so that it starts no workers, and takes the pin off again."""
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(allowed)})
        sys.path.insert(0, os.path.dirname(folder))
        try:
            return importlib.import_module(os.path.basename(folder)).load()
        finally:
            sys.path.pop(0)
            os.sched_setaffinity(0, allowed)

    def _address_space(self) -> int:
        """What this process has mapped, in bytes; a child's limit comes on top of it."""
        descriptor = os.open("statm", os.O_RDONLY, dir_fd=self._proc)
        try:
            return int(os.read(descriptor, 100).split()[0]) * resource.getpagesize()
        finally:
            os.close(descriptor)

    def _listed(self, name: str) -> list[str]:
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._proc)
        try:
            return os.listdir(descriptor)
        finally:
            os.close(descriptor)

    def _clear_scratch(self) -> None:
        if self.mode == namespaces.NONE:
            remove_tree(self.scratch)
        else:
            namespaces.unmount_scratch()


def _watch(child: int, reading: int, started: float, wall_s: float, output_bytes: int) -> Child:
    """Reads the child's pipe until the child is dead, and kills it at the deadline.

    The child is the first process of its namespace, so the kernel has ended everything in it once it is reaped.
    """
    handle = os.pidfd_open(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(reading, select.POLLIN)
    output, timed_out, dead = bytearray(), False, False
    try:
        while not dead:
            left = started + wall_s - time.monotonic()
            if left <= 0 and not timed_out:
                timed_out = True
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            events = dict(poll.poll(max(0.0, left) * 1000 if not timed_out else 5000))
            dead = handle in events
            if reading in events:
                block = os.read(reading, 1 << 16)
                output += block
                if not block:
                    poll.unregister(reading)
                elif len(output) > output_bytes + (1 << 16):
                    del output[1 : len(output) - output_bytes]
    finally:
        os.close(handle)
    _, status, usage = os.wait4(child, 0)
    os.set_blocking(reading, False)
    try:
        while block := os.read(reading, 1 << 16):
            output += block
    except BlockingIOError:
        pass
    return Child(
        ready=output[:1] == READY,
        output=bytes(output[1:]),
        status=status,
        timed_out=timed_out,
        most_kib=usage.ru_maxrss,
        seconds=time.monotonic() - started,
    )


def _ending(child: Child, job: dict[str, Any], *, measuring: bool = False, done: bool = True) -> dict[str, Any] | None:
    """What a child's end says by itself: ``None`` if it ended as it should have."""
    if child.timed_out:
        what, limit = ("measuring the scene", job["measure_s"]) if measuring else ("the script", job["wall_s"])
        return {"outcome": "failed", "reason": "timeout", "detail": f"{what} took longer than {limit:g} s"}
    if not child.ready:
        detail = f"the jail could not be closed: {child.output.decode('utf-8', 'replace')[:200]}"
        return {"outcome": "unmeasured", "reason": None, "detail": detail}
    code = os.waitstatus_to_exitcode(child.status)
    if code == 0 and done:
        return None
    if code < 0:
        name = signal.Signals(-code).name
        limit = job["measure_memory_mib" if measuring else "memory_mib"]
        if -code == signal.SIGKILL or child.most_mib > 0.9 * limit:
            detail = f"more memory than the {limit} MiB allowed" + (" to measure the scene" if measuring else "")
            return {"outcome": "failed", "reason": "memory", "detail": detail}
        if measuring:
            return {"outcome": "failed", "reason": "unreadable", "detail": f"Blender died of {name} on the saved scene"}
        return {"outcome": "failed", "reason": "crashed", "detail": f"Blender died of {name} while the script ran"}
    if measuring:
        told = child.output.decode("latin-1")
        return {
            "outcome": "failed",
            "reason": "unreadable",
            "detail": "the saved scene cannot be measured",
            "told": told,
            "measured": True,
        }
    detail = f"the script ended its process early, with exit status {code}, before its last line had run"
    return {"outcome": "failed", "reason": "crashed", "detail": detail}
