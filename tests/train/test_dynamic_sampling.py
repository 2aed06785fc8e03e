"""Real TRL steps on the tiny model: groups without signal are replaced before the update, and nothing is lost or hidden."""

import dataclasses
from collections import Counter

import pytest

import toy
from climbable.core import records
from climbable.core.group import has_signal
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.recipe import LadderSettings
from climbable.train import train, warm_up
from climbable.train.course import Course
from climbable.verify import Verifier

STEPS, PROMPTS, GROUP = 4, 6, 3


class Killed(BaseException):
    """Ends a run in the middle of a step."""


class Killer(Silent):
    """Kills once step `at` is recorded and its checkpoint is not."""

    def __init__(self, at):
        self.left = at + 1  # the start counts once

    def advance(self, units=1, **figures):
        self.left -= 1
        if not self.left:
            raise Killed


@pytest.fixture(scope="module")
def dynamic(recipe):
    settings = dataclasses.replace(
        recipe.train, steps=STEPS, prompts=PROMPTS, group=GROUP, dynamic_sampling=True, max_resamples=2
    )
    return dataclasses.replace(recipe, train=settings)


@pytest.fixture(scope="module")
def killed_and_resumed(dynamic, tmp_path_factory):
    run = RunFolder(tmp_path_factory.mktemp("run"))
    warm_up(dynamic, toy.CHATTY, run, progress=Silent())
    with Verifier(toy.CHATTY) as verifier:
        with pytest.raises(Killed):
            train(dynamic, toy.CHATTY, verifier, run, progress=Killer(3), force=True)
        seen = list(records.read(run.rollouts))
        train(dynamic, toy.CHATTY, verifier, run, progress=Silent(), resume=True, force=True)
    return run, seen


def groups(rows):
    """(step, task) → rewards, and whether it was replaced."""
    found = {}
    for row in rows:
        found.setdefault((row["step"], row["task"]), []).append(row)
    return {
        key: ([row["score"]["reward"] for row in members], members[0].get("replaced", False))
        for key, members in found.items()
    }


def test_each_step_updates_on_a_full_batch_and_every_group_is_recorded_once(killed_and_resumed):
    run, _ = killed_and_resumed
    rows = list(records.read(run.rollouts))
    assert len({(row["task"], row["sample"]) for row in rows}) == len(rows)
    found = groups(rows)
    kept = Counter(step for (step, _), (_, replaced) in found.items() if not replaced)
    assert kept == {step: PROMPTS for step in range(1, STEPS + 1)}
    assert {len(rewards) for rewards, _ in found.values()} == {GROUP}


def test_only_groups_without_signal_are_replaced_and_one_with_signal_never(killed_and_resumed):
    found = groups(records.read(killed_and_resumed[0].rollouts)).values()
    replaced = [rewards for rewards, gone in found if gone]
    assert replaced and not any(has_signal(rewards) for rewards in replaced)
    assert any(has_signal(rewards) for rewards, gone in found if not gone)


def test_after_a_kill_the_step_in_flight_begins_anew_with_the_same_tasks(killed_and_resumed, dynamic):
    run, seen = killed_and_resumed
    rows = list(records.read(run.rollouts))
    before = [row for row in seen if row["step"] <= 2]
    assert [row for row in rows if row["step"] <= 2] == before
    course = Course(dynamic, toy.CHATTY)
    course.replay(before)
    first = {course.draw(families).id for families in course.families(PROMPTS)}
    for some in (seen, rows):
        assert first <= {row["task"] for row in some if row["step"] == 3}


def test_the_metrics_say_what_it_cost(killed_and_resumed):
    run, _ = killed_and_resumed
    rows = [row for row in records.read(run.metrics) if row["stage"] == "train"]
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    found = groups(records.read(run.rollouts))
    for row in rows:
        gone = sum(replaced for (step, _), (_, replaced) in found.items() if step == row["step"])
        assert row["resampled"]["groups"] == gone and row["resampled"]["samples"] == gone * GROUP
        assert row["resampled"]["rounds"] <= 2 and row["samples"] == (PROMPTS + gone) * GROUP
        assert row["signal"]["groups"] == PROMPTS + gone
        parts = row["seconds"]
        assert ("resample" in parts) == bool(gone)
        assert parts["total"] == pytest.approx(sum(parts.values()) - parts["total"])
        counted = [sum(counts) for kinds in row["kinds"].values() for counts in kinds.values()]
        assert sum(counted) == PROMPTS + gone


def test_a_ladder_climbs_in_a_real_run_and_says_so(recipe, tmp_path):
    easy = dataclasses.replace(
        recipe,
        families=("one",),
        train=dataclasses.replace(recipe.train, steps=3, prompts=4, group=2),
        ladder=LadderSettings(rungs=("two",), solved_at=0.01, window=4, keep=0.25),
    )
    run = RunFolder(tmp_path)
    warm_up(easy, toy.CHATTY, run, progress=Silent())
    with Verifier(toy.CHATTY) as verifier:
        train(easy, toy.CHATTY, verifier, run, progress=Silent(), force=True)
    rows = [row for row in records.read(run.metrics) if row["stage"] == "train"]
    (climb,) = [row for row in rows if "climb" in row]
    assert climb["climb"]["rung"] == "two" and climb["climb"]["pass_at_1"] >= 0.01
    families = {row["step"]: set(row["kinds"]) for row in rows}
    assert {step: "two" in found for step, found in families.items()} == {
        step: step > climb["step"] for step in families
    }
    assert [row["level"] for row in rows] == ["one"] * climb["step"] + ["two"] * (3 - climb["step"])
