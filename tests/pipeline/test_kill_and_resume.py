"""`kill -9` at random moments of a real run, warm-up and GRPO included; after `--resume` nothing is lost or doubled."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from climbable.core import records
from climbable.core.run import RunFolder
from climbable.recipe import (
    Evaluation,
    GateSettings,
    LadderSettings,
    Model,
    Pilot,
    Recipe,
    Sampling,
    Train,
    Warmup,
    dump_recipe,
    load_recipe,
)
from tiny_model import make_tiny_model

MOMENTS = [("gate.untrained", 1), ("warmup", 5), ("train", 1), ("train", 12), ("eval.trained", 1)]
"""A stage, and how many of its records are awaited before the kill, which comes after a random while."""

STEPS, PROMPTS, GROUP = 16, 4, 4


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    recipe = Recipe(
        name="tiny",
        skill="toy:CHATTY",
        families=("two",),
        model=Model(name=str(make_tiny_model(folder / "model")), method="full", device="cpu"),
        sampling=Sampling(temperature=1.0, max_new_tokens=12, batch_size=8),
        gate=GateSettings(tasks=12, samples=8, least_mean=0.15, least_signal=0.3),
        warmup=Warmup(rows=200, styles=5, epochs=5, batch_size=20, learning_rate=3e-3),
        pilot=Pilot(steps=1),
        train=Train(steps=STEPS, prompts=PROMPTS, group=GROUP, learning_rate=3e-4),
        evaluation=Evaluation(tasks=16, samples=2),
    )
    path = folder / "tiny.toml"
    path.write_text(dump_recipe(recipe))
    return path


def start(recipe, run):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "climbable", "run", str(recipe), "--run", str(run.path), "--resume"]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def recorded(run, stage):
    rows = [*records.read(run.rollouts), *records.read(run.metrics)]
    return sum(row["stage"] == stage for row in rows)


def kill_at(process, run, stage, count, wait):
    deadline = time.monotonic() + 90
    before = recorded(run, stage)
    while process.poll() is None and recorded(run, stage) < max(count, before + 1) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(wait)
    assert process.poll() is None, f"the run ended before it could be killed in {stage}: {process.stderr.read()}"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def places(run):
    return Counter((row["stage"], row["step"], row["task"], row["sample"]) for row in records.read(run.rollouts))


@pytest.mark.timeout(600)
def test_five_kills_lose_nothing_and_double_nothing(recipe, tmp_path):
    run, chance = RunFolder(tmp_path / "killed"), random.Random(7)
    for stage, count in MOMENTS:
        kill_at(start(recipe, run), run, stage, count, chance.uniform(0.0, 0.05))
    last = start(recipe, run)
    _, told = last.communicate(timeout=300)
    assert last.returncode == 0, told

    undisturbed = RunFolder(tmp_path / "undisturbed")
    other = start(recipe, undisturbed)
    _, told = other.communicate(timeout=300)
    assert other.returncode == 0, told
    assert places(run) == places(undisturbed)
    assert max(places(run).values()) == 1

    by_step = Counter((row["step"], row["task"]) for row in records.read(run.rollouts) if row["stage"] == "train")
    assert sorted(step for step, _ in by_step) == [step for step in range(1, STEPS + 1) for _ in range(PROMPTS)]
    assert set(by_step.values()) == {GROUP}
    steps = [row["step"] for row in records.read(run.metrics) if row["stage"] == "train"]
    assert steps == list(range(1, STEPS + 1))

    costs = list(records.read(run.costs))
    assert sum(row["finished"] for row in costs) == 8
    killed = [row["stage"] for row in costs if not row["finished"]]
    assert killed.count("train") == 2 and all(row["seconds"] >= 0 for row in costs)
    assert sum(row["samples"] for row in costs if row["stage"].startswith("eval")) == 3 * 2 * 16 * 2
    assert run.report.exists() and run.adapter.exists()
    left = {path.name for path in run.path.iterdir() if path.name.startswith(".")}
    assert left == {".lock"}
    assert json.loads((run.evals / "comparison.json").read_text())["first"] == "base"


@pytest.mark.timeout(600)
def test_kills_around_a_climb_with_dynamic_sampling_skip_no_task_and_repeat_none(recipe, tmp_path):
    plain = load_recipe(recipe)
    climbing = dataclasses.replace(
        plain,
        families=("one",),
        train=dataclasses.replace(plain.train, dynamic_sampling=True, max_resamples=2),
        ladder=LadderSettings(rungs=("two",), solved_at=0.25, window=8),
        evaluation=Evaluation(tasks=2, samples=2),
    )
    path, run, chance = tmp_path / "climbing.toml", RunFolder(tmp_path / "run"), random.Random(11)
    path.write_text(dump_recipe(climbing))
    for count in (60, 200):
        kill_at(start(path, run), run, "train", count, chance.uniform(0.0, 0.05))
    last = start(path, run)
    _, told = last.communicate(timeout=300)
    assert last.returncode == 0, told
    rows = [row for row in records.read(run.rollouts) if row["stage"] == "train"]
    assert max(Counter((row["task"], row["sample"]) for row in rows).values()) == 1
    kept = Counter(row["step"] for row in rows if not row.get("replaced"))
    assert kept == {step: PROMPTS * GROUP for step in range(1, STEPS + 1)}
    assert any(row.get("replaced") for row in rows)
    for family in ("one", "two"):
        drawn = {int(row["task"].split("/")[3]) for row in rows if row["task"].split("/")[1] == family}
        assert drawn == set(range(min(drawn), min(drawn) + len(drawn)))
    steps = [row for row in records.read(run.metrics) if row["stage"] == "train"]
    (climb,) = [row["step"] for row in steps if "climb" in row]
    assert [row["level"] for row in steps] == ["one"] * climb + ["two"] * (STEPS - climb)
