from dataclasses import replace

import pytest

import toy
from climbable.core.errors import UserError
from climbable.core.types import Judgement, Outcome, Reason
from climbable.verify import Verifier

TASK = toy.make_task("two", "test", 3)


def score_of(skill, completion):
    with Verifier(skill) as verifier:
        return verifier.verify(TASK, completion)


def test_the_reward_is_the_sum_of_its_parts():
    score = score_of(toy.SKILL, toy.gold(TASK))
    assert (score.outcome, score.reward, score.solved) == (Outcome.SCORED, 1.0, True)
    half = score_of(toy.SKILL, TASK.spec["words"][0] + " x")
    assert (half.reward, half.solved, dict(half.parts)) == (0.35, False, {"ran": 0.1, "checks": 0.25, "bonus": 0.0})


def test_a_completion_at_fault_earns_the_floor_with_its_reason():
    score = score_of(toy.SKILL, "crash")
    assert (score.outcome, score.reason, score.reward) == (Outcome.FAILED, Reason.CRASHED, 0.0)
    assert "line 1" in score.detail


def test_reading_that_raises_is_our_fault():
    def read(completion):
        raise IndexError("oops")

    score = score_of(replace(toy.SKILL, read=read), "x")
    assert (score.outcome, score.reward) == (Outcome.UNMEASURED, None)
    assert "reading a completion: IndexError" in score.detail


def test_checks_that_raise_are_our_fault():
    def judge(task, artefact):
        raise ZeroDivisionError("oops")

    score = score_of(replace(toy.SKILL, judge=judge), "x")
    assert (score.outcome, score.reward) == (Outcome.UNMEASURED, None)
    assert "ZeroDivisionError" in score.detail


def test_a_reader_that_gives_no_text_is_our_fault():
    score = score_of(replace(toy.SKILL, read=lambda completion: None), "x")
    assert score.outcome is Outcome.UNMEASURED
    assert "NoneType" in score.detail


@pytest.mark.parametrize(
    "verdict",
    [None, Judgement(checks=(), solved=False, parts=None), Judgement(checks=(), solved=False, parts={"a": "b"})],
)
def test_checks_that_give_no_judgement_are_our_fault(verdict):
    assert score_of(replace(toy.SKILL, judge=lambda task, artefact: verdict), "x").outcome is Outcome.UNMEASURED


def test_a_skill_that_raises_for_one_completion_does_not_end_the_run():
    def read(completion):
        return toy.read(completion) if completion != "bad" else [][0]

    with Verifier(replace(toy.SKILL, read=read)) as verifier:
        scores = verifier.verify_many([(TASK, answer) for answer in (toy.gold(TASK), "bad", toy.gold(TASK))])
    assert [score.outcome for score in scores] == [Outcome.SCORED, Outcome.UNMEASURED, Outcome.SCORED]


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), 1.5, -0.1])
def test_a_reward_that_the_table_does_not_allow_is_unmeasured(reward):
    def judge(task, artefact):
        return Judgement(checks=(), solved=False, parts={"ran": reward})

    assert score_of(replace(toy.SKILL, judge=judge), "x").outcome is Outcome.UNMEASURED


def test_a_task_of_another_skill_is_the_callers_mistake():
    with Verifier(toy.SKILL) as verifier, pytest.raises(UserError, match="other"):
        verifier.submit(replace(TASK, skill="other"), "x")


def test_a_stream_keeps_the_order():
    tasks = [toy.make_task("one", "test", i) for i in range(50)]
    with Verifier(toy.SKILL) as verifier:
        scores = list(verifier.stream((task, toy.gold(task) if i % 2 else "") for i, task in enumerate(tasks)))
    assert [score.task for score in scores] == [task.id for task in tasks]
    assert [score.solved for score in scores] == [i % 2 == 1 for i in range(50)]
