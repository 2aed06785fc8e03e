"""Saved completions scored again by a checker that has changed."""

import dataclasses
import json

import pytest

import toy
from climbable.cli import main
from climbable.core import records
from climbable.core.errors import UserError
from climbable.core.progress import Silent
from climbable.core.types import Answer, Judgement
from climbable.rescore import evaluated_stages, rescore
from climbable.rollout import collect
from climbable.verify import Verifier


class Answers:
    """Every second answer is right, every fourth crashes."""

    name = "half"

    def sample(self, tasks, *, samples, seed):
        def text(task, sample):
            return {0: toy.gold(task), 2: toy.gold(task), 1: "nothing", 3: "crash"}[sample % 4]

        return [[Answer(text=text(task, k), tokens=3, truncated=False) for k in range(samples)] for task in tasks]


@pytest.fixture
def rollouts(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    tasks = [toy.SKILL.task(family, "test", i) for family in ("one", "two") for i in range(3)]
    with Verifier(toy.SKILL) as verifier:
        for stage in ("eval.base", "train"):
            collect(tasks, Answers(), verifier, samples=4, batch_size=64, seed=0, stage=stage, rollouts=path)
    return path


def strict(task, artefact):
    """A later checker, under which the family `two` can't be solved."""
    judged = toy.judge(task, artefact)
    if task.family == "one":
        return judged
    return Judgement(checks=judged.checks, solved=False, parts=judged.parts | {"bonus": 0.0})


def again(path, skill, **choice):
    with Verifier(skill) as verifier:
        return rescore(path, verifier, path.with_name("rescored.jsonl"), progress=Silent(), **choice)


def test_the_same_checker_moves_nothing(rollouts):
    before = rollouts.read_bytes()
    found = again(rollouts, toy.SKILL, stages=[])
    assert found.stages == ("eval.base", "train") and found.moved == ()
    assert found.parts["all"].samples == 48 and found.parts["all"].reward.p_value == 1.0
    assert rollouts.read_bytes() == before


def test_what_a_changed_checker_moves_is_told_by_family_and_sample(rollouts):
    before = rollouts.read_bytes()
    found = again(rollouts, dataclasses.replace(toy.SKILL, judge=strict), stages=["eval.base"])
    assert (found.parts["one"].solved_before, found.parts["one"].solved_after) == (6, 6)
    assert (found.parts["two"].solved_before, found.parts["two"].solved_after) == (6, 0)
    # Two of four samples of each task lose the bonus of 0.4.
    assert found.parts["two"].reward.difference.estimate == pytest.approx(-0.2)
    assert found.parts["all"].reward.difference.estimate == pytest.approx(-0.1)
    assert [(row["task"].split("/")[1], row["sample"] % 2) for row in found.moved] == [("two", 0)] * 6
    assert {(row["before"]["reward"], row["after"]["reward"]) for row in found.moved} == {(1.0, 0.6)}
    new = list(records.read(rollouts.with_name("rescored.jsonl")))
    assert [row["stage"] for row in new] == ["eval.base"] * 24
    assert rollouts.read_bytes() == before


def test_what_cannot_be_measured_any_more_is_counted_apart(rollouts):
    def broken(task, artefact):
        raise RuntimeError("a mistake in the checker")

    found = again(rollouts, dataclasses.replace(toy.SKILL, judge=broken), stages=["eval.base"])
    assert (found.parts["all"].unmeasured_before, found.parts["all"].unmeasured_after) == (0, 18)
    assert found.parts["all"].samples == 6, "what crashed before any check crashes still"
    assert found.parts["all"].reward.difference.estimate == 0


def test_a_stage_that_is_not_there_is_refused_with_those_that_are(rollouts):
    assert evaluated_stages(rollouts) == ["eval.base"]
    with pytest.raises(UserError, match=r"it has: eval\.base, train"):
        again(rollouts, toy.SKILL, stages=["eval.trained"])


def test_the_command_shows_it_and_writes_both_files(rollouts, capsys):
    (rollouts.parent / "recipe.toml").write_text('skill = "toy:SKILL"\n')
    assert main(["eval", "--rescore", str(rollouts.parent), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["stages"] == ["eval.base"] and told["moved"] == []
    assert (rollouts.parent / "rescored.json").exists() and (rollouts.parent / "rescored.jsonl").exists()
    assert main(["eval", "--rescore", str(rollouts.parent)]) == 0


@pytest.mark.parametrize("arguments", [[], ["x.toml", "--rescore", "."], ["x.toml", "--stage", "train"]])
def test_arguments_that_do_not_go_together_are_the_callers_mistake(arguments, capsys):
    assert main(["eval", *arguments]) == 2
    assert capsys.readouterr().err.startswith("climb: ")
