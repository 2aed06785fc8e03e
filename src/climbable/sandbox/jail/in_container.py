"""The first process of a container: starts the zygote and carries messages between it and the engine's stdin and stdout.

``python -I in_container.py PROGRAM`` with PROGRAM the folder that the zygote loads. The driver's paths and process ids
mean nothing in here, so they are replaced. When stdin ends, so does the container.
"""

from __future__ import annotations

import importlib
import os
import select
import socket
import sys
import tempfile

_JAIL = os.path.dirname(os.path.abspath(__file__))
_BLOCK = 1 << 16


def main() -> None:
    """Never returns."""
    sys.path.insert(0, os.path.dirname(_JAIL))
    wire, zygote = (importlib.import_module(f"jail.{name}") for name in ("wire", "zygote"))
    sys.path.pop(0)
    from_driver, to_driver = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # what Blender prints is no message
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    if os.fork() == 0:
        ours.close()
        os.close(from_driver)
        os.close(to_driver)
        zygote.main(theirs.detach())
        os._exit(0)
    theirs.close()
    config = wire.receive(_Descriptor(from_driver))
    folder = tempfile.mkdtemp()
    places = {name: os.path.join(folder, name) for name in ("root", "scratch", "artefacts")}
    for name in ("root", "artefacts"):
        os.mkdir(places[name])
    wire.send(ours, config | places | {"driver": parent, "jail": _JAIL, "program": sys.argv[1], "shown": []})
    _carry(from_driver, to_driver, ours)
    os._exit(0)


class _Descriptor:
    """A descriptor with a socket's ``recv``."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def recv(self, size: int) -> bytes:
        return os.read(self._descriptor, size)


def _carry(from_driver: int, to_driver: int, zygote: socket.socket) -> None:
    """Carries bytes both ways until one side is gone. The protocol is question and answer, so a blocked write waits."""
    while True:
        ready, _, _ = select.select([from_driver, zygote.fileno()], [], [])
        if from_driver in ready:
            block = os.read(from_driver, _BLOCK)
            if not block:
                return
            zygote.sendall(block)
        if zygote.fileno() in ready:
            block = zygote.recv(_BLOCK)
            if not block:
                return
            while block:
                block = block[os.write(to_driver, block) :]


if __name__ == "__main__":
    main()
