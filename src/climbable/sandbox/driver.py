"""The sandbox as the rest of Climbable sees it: scripts in, runs out, one warm zygote a worker.

The driver holds the queue and nothing of Blender. Each worker is a thread that owns one zygote process: it sends a
script, waits for the reply within a deadline, and replaces a zygote that dies, retrying its sample once.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeGuard

from climbable.core.errors import Unavailable
from climbable.core.types import Outcome
from climbable.sandbox import selftest
from climbable.sandbox.container import Container
from climbable.sandbox.folders import Folder, sweep
from climbable.sandbox.jail import child, namespaces, wire
from climbable.sandbox.reply import Validate, clean, read_reply
from climbable.sandbox.run import Limits, Run

MODES = (namespaces.ROOT, namespaces.USER, namespaces.NONE)
"""How a zygote can be confined, strongest first; the first that works here is taken."""

START_S = 120.0
"""A cold disk can take most of a minute to bring Blender in."""
GRACE_S = 2 * child.READY_S + 15.0
"""Beyond a sample's own limits, before its zygote counts as stuck: two jails to close, and a scratch to clear."""

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""Of a zygote. With huge pages a fork has fewer page tables to copy: 0.5 ms instead of 0.9, twice a sample."""

_FOLDER = Path(__file__).parent
_BOOT = "import sys; sys.path.insert(0, sys.argv[2]); from jail import zygote; sys.path.pop(0); zygote.main(int(sys.argv[1]))"


class Sandbox:
    """Runs scripts, each in a fresh jail, and has a clean jailed process measure what they saved. Thread-safe.

    `interpreter` is a Python that has bpy, a ``blender`` executable or a container with the first; `program` is the folder
    that runs inside (see `climbable.blender`), `validate` its check of a measurement's form. Starting it raises
    `Unavailable` where no mode of confinement works; nothing that a script does ever raises.
    """

    def __init__(
        self,
        *,
        interpreter: Path | Container,
        program: Path,
        validate: Validate,
        workers: int = 1,
        limits: Limits | None = None,
        modes: Sequence[str] = MODES,
    ) -> None:
        self.limits = limits or Limits()
        self._queue: queue.SimpleQueue[tuple[str, Future[Run]] | None] = queue.SimpleQueue()
        self._validate = validate
        self._closing, self._closing_lock = False, threading.Lock()
        sweep()
        first = start_zygote(interpreter, program, modes)
        self.hello = first.hello
        """What the first zygote said of itself: mode, threads, Blender's version."""
        self._start = partial(start_zygote, interpreter, program, (first.hello["mode"],))
        self._threads = [
            threading.Thread(target=self._work, args=(zygote,), daemon=True)
            for zygote in (first, *[None] * (workers - 1))
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def submit(self, script: str) -> Future[Run]:
        """Queues a script; the future's result is its run."""
        done: Future[Run] = Future()
        with self._closing_lock:
            if self._closing:
                raise RuntimeError("the sandbox is closed")
            self._queue.put((script, done))
        return done

    def run(self, script: str) -> Run:
        """What becomes of one script."""
        return self.submit(script).result()

    def close(self) -> None:
        """Ends all processes; scripts that still wait become `unmeasured`."""
        with self._closing_lock:
            self._closing = True
            for _ in self._threads:
                self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, zygote: ZygoteProcess | None) -> None:
        """One worker's life. The zygote dies with the thread that started it, so the thread keeps it to the end."""
        while (item := self._queue.get()) is not None:
            script, done = item
            if done.set_running_or_notify_cancel():
                run, zygote = self._try_twice(script, zygote)
                done.set_result(run)
        if zygote is not None:
            zygote.close()

    def _try_twice(self, script: str, zygote: ZygoteProcess | None) -> tuple[Run, ZygoteProcess | None]:
        """The script's run and the zygote for the next one. Never raises: a worker that died would leave all waiting.

        A zygote of which anything is wrong is not used again, whatever it was, and the sample has a second try.
        """
        run = Run(outcome=Outcome.UNMEASURED, detail="cancelled: the sandbox was closed")
        for _ in range(2):
            if self._closing:
                break
            try:
                zygote = zygote or self._start()
                run = zygote.sample(script, self.limits, self._validate)
                if run.outcome is not Outcome.UNMEASURED:
                    break
            except Exception as error:
                detail = clean(f"the sandbox failed: {type(error).__name__}: {error}")
                run = Run(outcome=Outcome.UNMEASURED, detail=detail)
            if zygote is not None:
                with contextlib.suppress(Exception):
                    zygote.close()
                zygote = None
        return run, zygote


class ZygoteProcess:
    """A running zygote, from the outside."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket, folder: Folder) -> None:
        self._process = process
        self._connection = connection
        self.folder = folder
        self.pid = process.pid
        self.hello: Mapping[str, Any] = {}

    def greet(self, config: dict[str, Any]) -> None:
        """Sends the configuration and waits for the zygote to be warm; an OSError says what it lacks."""
        self._connection.settimeout(START_S)
        wire.send(self._connection, config)
        self.hello = wire.receive(self._connection)
        if "error" in self.hello:
            raise OSError(self.hello["error"])

    def test(self) -> None:
        """Sends the self-test through; an OSError names what got out of the jail."""
        began = time.monotonic()
        run = self.sample(selftest.SCRIPT, Limits(), lambda measured: measured)
        if run.outcome is not Outcome.SCORED:
            raise OSError(f"the self-test failed: {run.detail}")
        self.hello = {**self.hello, "self_test_s": time.monotonic() - began}

    def sample(self, script: str, limits: Limits, validate: Validate) -> Run:
        """One script's run; an OSError or EOFError means that the zygote is lost."""
        self._connection.settimeout(limits.wall_s + limits.measure_s + GRACE_S)
        wire.send(self._connection, {"script": script} | asdict(limits))
        return read_reply(wire.receive(self._connection), validate)

    def close(self) -> None:
        """Kills it with all its children, and removes its folder."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        self.folder.remove()


def start_zygote(interpreter: Path | Container, program: Path, modes: Sequence[str]) -> ZygoteProcess:
    """A warm zygote in the first of `modes` that works here; `Unavailable` says why none does."""
    if isinstance(interpreter, Container):
        modes = [mode for mode in modes if mode == namespaces.NONE]  # a container has no right to make namespaces
    refused = []
    for mode in modes:
        zygote = None
        try:
            zygote = _spawn(interpreter, program)
            zygote.greet(
                {
                    "mode": mode,
                    "driver": zygote.pid if _is_blender(interpreter) else os.getpid(),
                    "shown": [str(interpreter.resolve().parent)] if _is_blender(interpreter) else [],
                    "jail": str(_FOLDER / "jail"),
                    "program": str(program),
                    "root": os.path.join(zygote.folder.path, "root"),
                    "scratch": os.path.join(zygote.folder.path, "scratch"),
                    "artefacts": os.path.join(zygote.folder.path, "artefacts"),
                }
            )
            zygote.test()
            return zygote
        except Exception as error:
            if zygote is not None:
                zygote.close()
            if not isinstance(error, OSError | EOFError | ValueError):
                raise
            refused.append(f"{mode}: {error}")
    raise Unavailable(
        "no way to confine scripts works here, so none is run: "
        + "; ".join(refused)
        + ". `climb doctor` says what to do"
    )


def _spawn(interpreter: Path | Container, program: Path) -> ZygoteProcess:
    ours, theirs = socket.socketpair()
    folder = Folder()
    contained = isinstance(interpreter, Container)
    try:
        process = subprocess.Popen(
            _command(interpreter, program, theirs.fileno()),
            pass_fds=[] if contained else [theirs.fileno()],
            env=dict(os.environ)
            if contained
            else ENVIRONMENT | {"HOME": folder.path},  # an engine needs its own; none of it is in the container
            stdin=theirs.fileno() if contained else subprocess.DEVNULL,
            stdout=theirs.fileno() if contained else subprocess.DEVNULL,
            stderr=None if os.environ.get("CLIMBABLE_DEBUG_SANDBOX") else subprocess.DEVNULL,
            cwd="/",
        )
    except BaseException:
        ours.close()
        folder.remove()
        raise
    finally:
        theirs.close()
    return ZygoteProcess(process, ours, folder)


def _is_blender(interpreter: Path | Container) -> TypeGuard[Path]:
    """Whether it is a ``blender`` executable, which is told by its name, and not a Python that has bpy."""
    return isinstance(interpreter, Path) and interpreter.name.lower().startswith("blender")


def _command(interpreter: Path | Container, program: Path, descriptor: int) -> list[str]:
    if isinstance(interpreter, Container):
        return interpreter.command(_FOLDER / "jail", program)
    arguments = [str(descriptor), str(_FOLDER)]
    if not _is_blender(interpreter):
        return [str(interpreter), "-I", "-c", _BOOT, *arguments]
    quiet = ["--background", "--factory-startup", "-noaudio", "--threads", "1"]
    boot = ["--python-exit-code", "1", "--python", str(_FOLDER / "jail/in_blender.py")]
    return [str(interpreter), *quiet, *boot, "--", *arguments, str(os.getpid())]
