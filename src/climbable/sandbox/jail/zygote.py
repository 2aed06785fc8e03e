"""One warm process of which every sample is a fork: it holds Blender, and neither tasks nor answers nor scores.

For each script it forks a jailed child that runs it and saves the scene, waits until everything in that child's
process namespace is dead, picks the file up, and forks a second jailed child that opens the file and measures it. It
never runs or parses anything that a script made; what it sends back are bytes for the driver to distrust.
"""

from __future__ import annotations

import gc
import importlib
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from . import child, landlock, namespaces, seccomp, syscalls, wire
from .child import Bounds, Child
from .confine import Confinement
from .pickup import Refused, pick_up
from .remove import remove_tree

REPORT_BYTES = 16 << 10
"""Of what a script's child reports, only the end is kept."""
MEASUREMENT_BYTES = 32 << 20
THREADS = 2
"""What Blender 4.5 keeps after it was made quiet; a fork copies none of them, and none holds a lock while idle."""


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
        try:
            reply = zygote.serve(job)
        except Exception as error:  # never the script's fault; the driver takes a fresh zygote after such an answer
            reply = {"outcome": "unmeasured", "reason": None, "detail": f"{type(error).__name__}: {error}"}
        wire.send(connection, reply)


class Zygote:
    """The warm process, confined once, and the way of one sample through it."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.mode: str = config["mode"]
        self.alone = self.mode != namespaces.NONE
        """Whether each child is the first process of a namespace of its own."""
        self.turn = 0
        shown = [config["jail"], config["program"], *config["shown"]]
        readable = namespaces.visible(shown)
        self.scratch, self.artefacts = config["scratch"], config["artefacts"]
        if self.alone:
            namespaces.enter(self.mode)
            self.scratch, self.artefacts = namespaces.SCRATCH, namespaces.ARTEFACTS
        self._proc = os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY)
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY)
        if self.alone:
            namespaces.build_root(config["root"], readable)
        elif landlock.abi() < landlock.LEAST_ABI_ALONE:
            raise OSError(
                f"without namespaces Landlock ABI {landlock.LEAST_ABI_ALONE} is needed, here is {landlock.abi()}"
            )
        else:
            os.mkdir(self.scratch, 0o700)
        os.environ.update(HOME=self.scratch, TMPDIR=self.scratch)
        self.program = self._import_program(config["program"])
        if self.alone:
            namespaces.seal_root()
        else:
            remove_tree(self.scratch)  # Blender has left a folder in it; every sample makes its own
        threads = len(self._listed("task"))
        if threads > THREADS:
            raise OSError(f"{threads} threads are left after warming up; a fork is safe with at most {THREADS}")
        self.how = Confinement(
            mode=self.mode,
            readable=[*readable, self.artefacts, *namespaces.DEVICES],
            landlock=landlock.abi() > 0,
            filter=seccomp.program(syscalls.MACHINE, forks=self.alone),
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

    def serve(self, job: dict[str, Any]) -> dict[str, Any]:
        """One script's way: run, pick up, measure. Whatever goes wrong in here by itself is ours: ``unmeasured``."""
        self.turn += 1
        target = os.path.join(self.artefacts, f"{secrets.token_hex(12)}.blend")
        run = Bounds(
            wall_s=job["wall_s"],
            memory_mib=job["memory_mib"],
            file_mib=job["scratch_mib"],
            output_bytes=REPORT_BYTES,
        )
        measure = Bounds(
            wall_s=job["measure_s"],
            memory_mib=job["measure_memory_mib"],
            file_mib=0,
            output_bytes=MEASUREMENT_BYTES,
        )
        reply: dict[str, Any] = {"seconds": {}}
        try:
            failed = self._run(job, run, target, reply)
            return reply | (failed or self._measure(job, measure, target, reply))
        finally:
            if os.path.lexists(target):
                os.unlink(target)

    def _run(self, job: dict[str, Any], bounds: Bounds, target: str, reply: dict[str, Any]) -> dict[str, Any] | None:
        """Runs the script and brings what it saved to `target`; what is returned says why there is nothing."""
        if self.alone:
            namespaces.mount_scratch(self.how.uid(self.turn), job["scratch_mib"])
        else:
            os.mkdir(self.scratch, 0o700)
        try:
            ran = self._child(
                lambda report, orders: self.program.run(job["script"], self.scratch, report, orders, self.alone),
                bounds,
                folder=self.scratch,
                writable=True,
            )
            reply["seconds"]["run"] = ran.seconds
            reply |= {"token": ran.token, "told": ran.output.decode("latin-1")}
            done = bool(ran.token) and ran.output.endswith(f"\n{ran.token} done\n".encode())
            failed = child.ending(ran, bounds, done=done)
            if failed is not None:
                return failed
            try:
                pick_up(os.path.join(self.scratch, f"{ran.token}.blend"), target, most_bytes=job["artefact_mib"] << 20)
            except Refused as refused:
                return {"outcome": "failed", "reason": refused.reason, "detail": refused.detail}
            return None
        finally:
            if self.alone:
                namespaces.unmount_scratch()
            else:
                remove_tree(self.scratch)

    def _measure(self, job: dict[str, Any], bounds: Bounds, target: str, reply: dict[str, Any]) -> dict[str, Any]:
        """A clean child opens `target`; what it says of it goes to the driver unread."""
        seen = self._child(
            lambda report, _: self.program.measure(target, job["vertices"], report),
            bounds,
            folder=self.artefacts,
            writable=False,
        )
        reply["seconds"]["measure"] = seen.seconds
        failed = child.ending(seen, bounds, measuring=True)
        return failed or {"outcome": "scored", "measurement": seen.output.decode("latin-1")}

    def _child(self, work: Callable[[int, int], None], bounds: Bounds, *, folder: str, writable: bool) -> Child:
        return child.run(
            work,
            self.how,
            bounds,
            uid=self.how.uid(self.turn),
            folder=folder,
            writable=writable,
            proc=self._proc,
            own_pids=self._own_pids,
        )

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

    def _listed(self, name: str) -> list[str]:
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._proc)
        try:
            return os.listdir(descriptor)
        finally:
            os.close(descriptor)
