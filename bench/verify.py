"""Samples a second and CPU a sample of three ways to verify a Blender script, side by side in one run.

    python bench/verify.py                                   # teacher's scripts, every count of workers, about 2 minutes
    python bench/verify.py --answers bench/data/model-answers.jsonl --json verify.json

cold: two fresh processes a sample, one runs and saves, one opens and measures: what a user would do otherwise.
warm bare: forks of one warm Blender, no jail.   jailed N: Climbable's sandbox with N workers.

Ratios are to the first line. CPU is user and system time of all processes, the driver's included; latency is from the
moment a worker is free. The measurements of all ways are judged, and must agree.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from climbable.blender import PROGRAM, find_interpreter, read_measurement
from climbable.core.errors import UserError
from climbable.core.prompt import extract_script
from climbable.core.types import Outcome, Task
from climbable.sandbox import Sandbox
from climbable.sandbox.driver import ENVIRONMENT
from climbable.skills import load_skill

_COLD_RUN = """
import sys, bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
exec(compile(open(sys.argv[1]).read(), "<script>", "exec"), {"__name__": "__main__"})
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[2], check_existing=False)
"""
_COLD_MEASURE = """
import importlib, json, os, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import bpy
measure = importlib.import_module(os.path.basename(sys.argv[1]) + ".measure").measure
with open(sys.argv[3], "w") as file:
    json.dump(measure(sys.argv[2], 2_000_000), file)
"""
_TICKS = os.sysconf("SC_CLK_TCK")

Pairs = list[tuple[Task, str]]
Rewards = list[float]


def main() -> None:
    """The command line."""
    options = _options()
    interpreter = find_interpreter(options.blender)
    pairs = _answers(options.answers) if options.answers else _teachers(options.samples)
    cores = os.cpu_count() or 1
    counts = sorted({1, *(n for n in (2, 4, 8, 16, 32) if n < cores), cores})
    print(f"{platform.machine()}, {cores} cores, {len(pairs)} scripts ({options.cold} cold)")
    print(f"{'':12} {'samples/s':>10} {'×':>6} {'CPU ms':>8} {'× less':>7} {'p50':>7} {'p95':>7} {'p99':>7} ms")
    ways: dict[str, dict[str, Any]] = {}
    _report(ways, "cold", lambda: _cold(interpreter, pairs[: options.cold]))
    _report(ways, "warm bare", lambda: _bare(interpreter, pairs))
    for workers in counts:
        _report(ways, f"jailed {workers}", lambda workers=workers: _jailed(interpreter, pairs, workers))
    _compare(ways)
    if options.json:
        Path(options.json).write_text(json.dumps(ways, indent=2) + "\n", encoding="utf-8")


def _cold(interpreter: Path, pairs: Pairs) -> dict[str, Any]:
    latencies, rewards, before = [], [], os.times()
    with tempfile.TemporaryDirectory() as folder:
        script, scene, seen_file = (os.path.join(folder, name) for name in ("script.py", "scene.blend", "seen.json"))
        for task, text in pairs:
            began = time.perf_counter()
            Path(script).write_text(text, encoding="utf-8")
            Path(scene).unlink(missing_ok=True)
            seen = None
            if _python(interpreter, _COLD_RUN, script, scene) and os.path.exists(scene):
                measured = _python(interpreter, _COLD_MEASURE, PROGRAM, scene, seen_file)
                seen = json.loads(Path(seen_file).read_text(encoding="utf-8")) if measured else None
            latencies.append(time.perf_counter() - began)
            rewards.append(_reward(task, seen))
    after = os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    return _figures(latencies, sum(latencies), cpu, rewards)


def _python(interpreter: Path, code: str, *arguments: str | Path) -> bool:
    """Whether `code` ran in a fresh process to its end."""
    command = [interpreter, "-I", "-c", code, *arguments]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def _bare(interpreter: Path, pairs: Pairs) -> dict[str, Any]:
    server = subprocess.Popen(
        [interpreter, "-I", Path(__file__).with_name("bare_server.py"), PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
        text=True,
    )
    assert server.stdin is not None and server.stdout is not None
    while server.stdout.readline() != "ready\n":
        pass

    def one(pair: tuple[Task, str]) -> tuple[float, float]:
        assert server.stdin is not None and server.stdout is not None
        sent = time.perf_counter()
        server.stdin.write(json.dumps(pair[1]) + "\n")
        server.stdin.flush()
        seen = json.loads(server.stdout.readline())
        return time.perf_counter() - sent, _reward(pair[0], seen)

    figures = _measured(one, pairs, 1, [server.pid])
    server.stdin.close()
    server.wait()
    return figures


def _jailed(interpreter: Path, pairs: Pairs, workers: int) -> dict[str, Any]:
    with Sandbox(interpreter=interpreter, program=PROGRAM, validate=read_measurement, workers=workers) as sandbox:
        for warm in [sandbox.submit("import bpy") for _ in range(4 * workers)]:
            warm.result()  # until every worker has a zygote

        def one(pair: tuple[Task, str]) -> tuple[float, float]:
            sent = time.perf_counter()
            run = sandbox.run(pair[1])
            took = time.perf_counter() - sent
            return took, _reward(pair[0], run.artefact if run.outcome is Outcome.SCORED else None)

        return _measured(one, pairs, workers, _descendants(os.getpid())) | {"mode": sandbox.hello["mode"]}


def _measured(
    one: Callable[[tuple[Task, str]], tuple[float, float]], pairs: Pairs, workers: int, zygotes: Sequence[int]
) -> dict[str, Any]:
    """Figures of `one` over all pairs; memory is looked at in a second, short pass, since looking costs CPU."""
    with ThreadPoolExecutor(workers) as pool:
        cpu, own, began = _cpu(zygotes), time.process_time(), time.perf_counter()
        answers = list(pool.map(one, pairs))
        spent = time.perf_counter() - began
        cpu = _cpu(zygotes) - cpu + time.process_time() - own
        memory = _Memory(zygotes)
        list(pool.map(one, pairs[:50]))
    figures = _figures([took for took, _ in answers], spent, cpu, [reward for _, reward in answers])
    return figures | memory.stop()


def _figures(latencies: list[float], seconds: float, cpu: float, rewards: Rewards) -> dict[str, Any]:
    ordered = sorted(latencies)
    points = {f"p{p}_ms": 1000 * ordered[min(len(ordered) - 1, p * len(ordered) // 100)] for p in (50, 95, 99)}
    samples = len(latencies)
    return {"samples": samples, "per_s": samples / seconds, "cpu_ms": 1000 * cpu / samples, "rewards": rewards} | points


def _reward(task: Task, measured: Any) -> float:
    return round(sum(load_skill("scene").judge(task, measured).parts.values()), 4) if measured else 0.0


def _report(ways: dict[str, dict[str, Any]], name: str, way: Callable[[], dict[str, Any]]) -> None:
    ways[name] = figures = way()
    first = next(iter(ways.values()))
    figures["speedup"] = figures["per_s"] / first["per_s"]
    figures["cpu_ratio"] = first["cpu_ms"] / figures["cpu_ms"]
    line = (
        f"{name:12} {figures['per_s']:10.1f} {figures['speedup']:6.1f} {figures['cpu_ms']:8.1f} {figures['cpu_ratio']:7.1f} "
        f"{figures['p50_ms']:7.1f} {figures['p95_ms']:7.1f} {figures['p99_ms']:7.1f}"
    )
    if "zygote_mib" in figures:
        line += f"   zygote {figures['zygote_mib']:.0f} MiB, a child up to {figures['child_mib']:.0f} MiB of its own"
    print(line, flush=True)


def _compare(ways: dict[str, dict[str, Any]]) -> None:
    """Says aloud, by the exit status too, where two ways gave a script different rewards."""
    fewest = min(len(figures["rewards"]) for figures in ways.values())
    told = {name: figures.pop("rewards")[:fewest] for name, figures in ways.items()}
    if len({tuple(rewards) for rewards in told.values()}) > 1:
        sys.exit(f"the ways disagree on rewards: { {name: sum(rewards) for name, rewards in told.items()} }")
    print(f"all ways agree on the rewards of the first {fewest} scripts")


class _Memory(threading.Thread):
    """Looks at what zygotes share and what their children have for themselves, 50 times a second."""

    def __init__(self, zygotes: Sequence[int]) -> None:
        super().__init__(daemon=True)
        self._zygotes, self._most, self._ended = zygotes, 0, threading.Event()
        self.start()

    def run(self) -> None:
        """Until it is stopped."""
        while not self._ended.wait(0.02):
            for zygote in self._zygotes:
                for child in set(_descendants(zygote)) - set(self._zygotes):
                    self._most = max(self._most, _rollup(child, "Private_Dirty"))

    def stop(self) -> dict[str, float]:
        """MiB: proportional set of one zygote, and the most that a child was seen to have of its own."""
        self._ended.set()
        self.join()
        return {
            "zygote_mib": max(_rollup(zygote, "Pss") for zygote in self._zygotes) / 1024,
            "child_mib": self._most / 1024,
        }


def _rollup(pid: int, field: str) -> int:
    """KiB, or 0 where the process has gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def _descendants(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *_descendants(child)]
    return found


def _cpu(pids: Sequence[int]) -> float:
    """Seconds of user and system time of processes and of all their children that have ended."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / _TICKS


def _teachers(samples: int) -> Pairs:
    skill = load_skill("scene")
    families = skill.trained_families()
    tasks = [skill.task(families[i % len(families)], "train", i) for i in range(samples)]
    return [(task, extract_script(skill.teach(task, i)) or "") for i, task in enumerate(tasks)]


def _answers(file: str) -> Pairs:
    skill = load_skill("scene")
    rows = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    if not rows:
        raise UserError(f"{file!r} holds no rows")
    return [(skill.task_by_id(row["task"]), extract_script(row["completion"]) or "") for row in rows]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=400, help="scripts by the teacher (default: %(default)s)")
    parser.add_argument("--cold", type=int, default=12, help="of them verified cold (default: %(default)s)")
    parser.add_argument("--answers", help="JSON lines with task and completion, in place of the teacher's")
    parser.add_argument("--blender", help="a Python that has bpy (default: as `climb verify` finds it)")
    parser.add_argument("--json", help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
