"""Attack by attack, the layer that stops it: once with the layer, once with this layer alone taken away.

    python bench/layers.py                        # as root; about 30 seconds

Where several layers stop the same, the others (column `besides`) are away in both runs, so that this one shows by itself.
Exit status 1: an attack got through with its layer, or did not without it.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from climbable.blender import PROGRAM, find_interpreter
from climbable.core.types import Outcome
from climbable.sandbox import Limits, Run, Sandbox, driver, selftest
from climbable.sandbox.jail import syscalls
from layers_table import ATTACKS, OFF, Attack

LIMITS = Limits(wall_s=1, memory_mib=400, scratch_mib=32, artefact_mib=2)
LIMITS_BLENDER = Limits(memory_mib=1024)
KEY = 0x636C6D62

PRELUDE = """
import ctypes, os, socket
word = 'nothing'
libc = ctypes.CDLL(None, use_errno=True)
def check(name, *arguments):
    if getattr(libc, name)(*arguments) < 0: raise OSError(ctypes.get_errno(), name)
"""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON list on stdout")
    parser.add_argument("--only", metavar="LAYER", help="only this layer's attacks")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench/layers.py: needs root, which may take every layer away; in Docker: --cap-add SYS_ADMIN")
    with _targets() as targets:
        rows = [_row(attack, targets) for attack in ATTACKS if options.only in (None, attack.layer)]
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print("| layer | mode | attack | with it | without it | besides, away in both |\n|---|---|---|---|---|---|")
        for row in rows:
            cells = (row["layer"], row["mode"], row["attack"], row["with"], row["without"], ", ".join(row["besides"]))
            print("| " + " | ".join(cells) + " |")
    wrong = [row for row in rows if (row["with"], row["without"]) != ("stopped", "**gets through**")]
    sys.exit(f"{len(wrong)} rows are not as they should be" if wrong else 0)


def _row(attack: Attack, targets: dict[str, Any]) -> dict[str, Any]:
    with_it, told = _gets_through(attack, targets, attack.besides)
    without, _ = _gets_through(attack, targets, (*attack.besides, attack.layer))
    words = {True: "**gets through**", False: "stopped"}
    return {
        "layer": attack.layer,
        "mode": attack.mode,
        "attack": attack.tries,
        "with": words[with_it],
        "without": words[without],
        "besides": list(attack.besides),
        "told": told,
    }


def _gets_through(attack: Attack, targets: dict[str, Any], away: tuple[str, ...]) -> tuple[bool, str]:
    """Whether the attack works with the layers `away`, and what the run said."""
    program = PROGRAM if attack.blender else Path(targets["SHOWN"])
    interpreter = find_interpreter() if attack.blender else Path(sys.executable)
    aims = "".join(f"{name} = {value!r}\n" for name, value in targets.items())
    with (
        _without(away),
        Sandbox(
            interpreter=interpreter,
            program=program,
            validate=lambda measured: measured,
            limits=LIMITS_BLENDER if attack.blender else LIMITS,
            modes=[attack.mode],
        ) as box,
    ):
        if attack.before:
            box.run(PRELUDE + attack.before)
        processes = len(_below(os.getpid()))
        run = box.run(aims + PRELUDE + attack.script)
        left = len(_below(os.getpid())) - processes
    return _escaped(attack, run, left), str(run.detail or run.artefact)


def _escaped(attack: Attack, run: Run, left: int) -> bool:
    if attack.outside == "processes":
        return left > 0
    if attack.outside == "host name":
        return socket.gethostname() == "spoilt"
    if attack.outside == "unmeasured":
        return run.outcome is Outcome.UNMEASURED
    if attack.blender:
        return run.artefact is not None and bool(run.artefact["objects"])
    return run.artefact in ("escaped", "forged", "secret")


@contextlib.contextmanager
def _without(away: tuple[str, ...]) -> Iterator[None]:
    """Zygotes that start meanwhile lack the layers `away`; a self-test would refuse such a zygote, so it has none."""
    code = "import os\nfrom jail import child, confine, landlock, namespaces, seccomp, syscalls, zygote\n"
    code += "\n".join(OFF[layer] for layer in away)
    boot = driver._BOOT.replace("zygote.main(", f"exec({code!r}, globals()); zygote.main(")
    popen, bare = subprocess.Popen, "bare environment" not in away

    def spawn(command: Any, **more: Any) -> Any:
        return popen(command, **more if bare else more | {"env": more["env"] | os.environ})

    with (
        mock.patch.object(driver, "_BOOT", boot),
        mock.patch.object(driver.subprocess, "Popen", spawn),
        mock.patch.object(selftest, "SCRIPT", selftest.SCRIPT if not away else ""),
    ):
        yield


@contextlib.contextmanager
def _targets() -> Iterator[dict[str, Any]]:
    """What the attacks aim at, made for them; this process gets a host name and shared memory of its own."""
    syscalls.unshare(syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWIPC)
    os.environ["API_TOKEN"] = "secret"
    ctypes.CDLL(None).shmget(KEY, 4096, 0o1666)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        shown = folder / "plain"
        shutil.copytree(Path(__file__).parent / "plain", shown)
        shutil.copy("/usr/bin/id", shown / "id")
        (shown / "id").chmod(0o4755)
        for path, mode in ((folder / "file", 0o644), (shown / "notes", 0o666), (shown / "private", 0o600)):
            path.write_text("secret")
            path.chmod(mode)
        (shown / "of-another").write_text("secret")
        (shown / "of-another").chmod(0o600)
        os.chown(shown / "of-another", 12345, 12345)
        log = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        log.bind(str(folder / "log"))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{folder / 'log'}")
        abstract.listen()
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        code = (
            "import sys, time\nfrom climbable.sandbox.jail import syscalls\nsyscalls.clear_capabilities()\n"
            "print('up', flush=True)\ntime.sleep(600)"
        )
        command = [sys.executable, "-c", code]
        victim = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True))
        stack.callback(victim.kill)
        assert victim.stdout is not None and victim.stdout.readline() == b"up\n"
        yield {
            "FILE": str(folder / "file"),
            "SHOWN": str(shown),
            "LOG": str(folder / "log"),
            "VICTIM": victim.pid,
            "PORT": server.getsockname()[1],
            "KEY": KEY,
        }


def _below(top: int) -> list[int]:
    """All processes below `top` that live."""
    above, found = {top}, []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        with contextlib.suppress(OSError):
            state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if int(parent) in above and state != "Z":
                above.add(pid)
                found.append(pid)
    return found


if __name__ == "__main__":
    main()
