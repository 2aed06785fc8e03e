"""Many samples through one sandbox: do memory, descriptors, mounts and scratch stay flat?

    python bench/soak.py --samples 20000          # about 6 minutes on two cores

Right answers, crashes, early exits, file litter and processes left behind take turns. Every tenth of the way a line says
what driver and zygotes hold; exit status 1 if the last line holds more than the second by over `--slack` percent, or if
anything is left when the sandbox is closed.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from climbable.blender import PROGRAM, find_interpreter, read_measurement
from climbable.sandbox import Sandbox
from climbable.skills import load_skill

LITTER = """
import bpy, os
for number in range(50):
    os.makedirs(f"deep/{number}", exist_ok=True)
    open(f"deep/{number}/file", "w").write("x" * 1000)
"""
LEFT_BEHIND = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(3600)
"""
TABLE = ("samples", "per_s", "driver_mib", "zygote_mib", "descriptors", "mounts", "scratch_files", "processes")


def main() -> None:
    """The command line."""
    options = _options()
    scripts, outcomes = _scripts(), Counter[str]()
    before = set(glob.glob(os.path.join(tempfile.gettempdir(), "climbable-*")))
    rows = []
    print("  ".join(f"{name:>13}" for name in TABLE))
    with Sandbox(
        interpreter=find_interpreter(options.blender),
        program=PROGRAM,
        validate=read_measurement,
        workers=os.cpu_count() or 1,
    ) as sandbox:
        part = max(1, options.samples // 10)
        for done in range(part, options.samples + 1, part):
            began = time.perf_counter()
            futures = [sandbox.submit(scripts[number % len(scripts)]) for number in range(part)]
            outcomes.update(str(future.result().outcome) for future in futures)
            row = {"samples": float(done), "per_s": part / (time.perf_counter() - began)} | _held(before)
            rows.append(row)
            print("  ".join(f"{row[name]:13.1f}" for name in TABLE), flush=True)
    left = _held(before)
    print(f"outcomes {dict(outcomes)}; after closing: {left}")
    grown = [
        name for name in TABLE[2:] if len(rows) > 2 and rows[-1][name] > rows[1][name] * (1 + options.slack / 100) + 1
    ]
    leftover = [name for name in ("scratch_files", "processes") if left[name]]
    if grown or leftover or outcomes["unmeasured"]:
        sys.exit(f"grown: {grown}; left over: {leftover}; unmeasured: {outcomes['unmeasured']}")
    print("flat: nothing grew, nothing is left, everything was measured")


def _scripts() -> list[str]:
    skill = load_skill("scene")
    golds = [skill.teach(skill.task("stack", "train", index), index % 5) for index in range(8)]
    return [
        *golds,
        LITTER + golds[0],
        LEFT_BEHIND + golds[1],
        "raise RuntimeError('crash')",
        "import os; os._exit(0)",
        "import os; os.kill(os.getpid(), 11)",
    ]


def _held(before: set[str]) -> dict[str, float]:
    """What this process and the sandbox's zygotes hold now."""
    zygotes = _descendants(os.getpid())
    folders = [
        folder for folder in glob.glob(os.path.join(tempfile.gettempdir(), "climbable-*")) if folder not in before
    ]
    return {
        "driver_mib": _kib(os.getpid(), "Pss") / 1024,
        "zygote_mib": max((_kib(zygote, "Pss") / 1024 for zygote in zygotes), default=0.0),
        "descriptors": float(sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in (os.getpid(), *zygotes))),
        "mounts": float(sum(Path(f"/proc/{pid}/mountinfo").read_text().count("\n") for pid in zygotes)),
        "scratch_files": float(sum(len(files) for folder in folders for _, _, files in os.walk(folder))),
        "processes": float(len(zygotes)),
    }


def _descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *_descendants(child)]
    return found


def _kib(pid: int, field: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20_000, help="default: %(default)s")
    parser.add_argument("--slack", type=float, default=10.0, help="percent (default: %(default)s)")
    parser.add_argument("--blender", help="a Python that has bpy (default: as `climb verify` finds it)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
