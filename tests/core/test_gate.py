"""The gate's verdicts on groups whose figures can be reckoned by hand."""

import dataclasses
import json
import math

import pytest

from climbable.core.gate import Answer, Bar, judge_gate
from climbable.core.group import Group, Sample
from climbable.core.types import Outcome, Reason, Score, Task

CRASH = "crash"
GO = [[0.1, 0.6]] * 4
"""Mean 0.35, and every group differs."""


def make_groups(rows, *, floor=0.0, ceiling=1.0, detail="NameError: cube (line {n})"):
    """One group a row; a number is a scored reward, ``None`` unmeasured, `CRASH` a failed sample at the floor."""
    groups = []
    for index, row in enumerate(rows):
        task = Task(id=f"t/{index}", skill="t", family="f", split="train", index=index, prompt="p", spec={})
        samples = []
        for n, reward in enumerate(row):
            if reward is None:
                score = Score(task=task.id, outcome=Outcome.UNMEASURED, reward=None, detail="no sandbox")
            elif reward == CRASH:
                told = detail.format(n=n)
                score = Score(task=task.id, outcome=Outcome.FAILED, reward=floor, reason=Reason.CRASHED, detail=told)
            else:
                score = Score(task=task.id, outcome=Outcome.SCORED, reward=reward, solved=reward == ceiling)
            samples.append(Sample(task=task, sample=n, completion="", tokens=1, truncated=False, score=score))
        groups.append(Group(task=task, samples=tuple(samples)))
    return groups


def gate(rows, **arguments):
    return judge_gate(make_groups(rows), **arguments)


def test_go_states_its_figures():
    verdict = gate([[0.1, 1.0], [0.1, 0.6], [0.6, 0.6], [CRASH, 0.6]])
    assert verdict.answer is Answer.GO
    assert verdict.reward.estimate == pytest.approx(3.6 / 8)
    assert (verdict.signal.groups, verdict.signal.with_signal, verdict.signal.hopeless) == (4, 3, 1)
    assert (verdict.signal_share.estimate, verdict.signal_share.n) == (0.75, 4)
    assert (verdict.solved.estimate, verdict.failed.estimate, verdict.failed.n) == (1 / 8, 1 / 8, 8)
    assert verdict.crash_only == pytest.approx(1 / 3)
    assert verdict.unmeasured == 0
    assert len(verdict.reasons) == 1 and "0.450" in verdict.reasons[0] and "75%" in verdict.reasons[0]
    assert verdict.advice == ()


def test_the_interval_of_the_mean_is_over_tasks_not_samples():
    assert gate([[0.1, 0.6] * 4] * 3).reward.n == 3


def test_a_mean_below_the_band_is_no_go_with_a_warm_up_as_advice():
    verdict = gate([[0.1, 0.1, 0.1, 0.2]] * 4)
    assert verdict.answer is Answer.NO_GO
    assert len(verdict.reasons) == 1 and "0.125 is below" in verdict.reasons[0]
    assert any("climb warmup" in line for line in verdict.advice)


def test_a_mean_above_the_band_is_no_go_with_harder_tasks_as_advice():
    verdict = gate([[1.0, 1.0, 1.0, 0.6]] * 4)
    assert verdict.answer is Answer.NO_GO
    assert len(verdict.reasons) == 1 and "0.900 is above" in verdict.reasons[0]
    assert any("harder tasks" in line for line in verdict.advice)
    assert not any("warmup" in line for line in verdict.advice)


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ([0.0, 0.3], "go"),
        ([0.1, 0.2], "go"),
        ([0.7, 1.0], "go"),
        ([0.0, 0.2999], "no-go"),
        ([0.7001, 1.0], "no-go"),
    ],
)
def test_the_band_includes_its_edges(row, answer):
    assert gate([row] * 4).answer == answer


@pytest.mark.parametrize(("differing", "answer"), [(1, "no-go"), (2, "go"), (3, "go")])
def test_four_groups_of_ten_that_differ_are_enough(differing, answer):
    assert gate([[0.1, 0.6]] * differing + [[0.6, 0.6]] * (5 - differing)).answer == answer


def test_too_little_signal_tells_solved_from_hopeless():
    verdict = gate([[0.1, 0.6], [1.0, 1.0], [0.1, 0.1], [0.1, 0.1], [0.6, 0.6]])
    assert verdict.answer is Answer.NO_GO
    assert len(verdict.reasons) == 1
    assert "20%" in verdict.reasons[0] and "1 solved, 3 hopeless" in verdict.reasons[0]
    assert any("higher temperature" in line for line in verdict.advice)


def test_a_group_is_solved_at_the_skills_own_ceiling():
    rows = [[1.3, 1.3], [1.0, 1.0], [0.3, -0.7]]
    counts = judge_gate(make_groups(rows, floor=-1.0, ceiling=1.3), ceiling=1.3).signal
    assert (counts.solved, counts.hopeless, counts.with_signal) == (1, 1, 1)


@pytest.mark.parametrize("row", [[CRASH, 0.6], [CRASH, CRASH, 0.6, 0.6], [CRASH, 0.6, 0.6005], [CRASH, 1.0]])
def test_a_spread_that_is_only_failing_or_not_is_no_go(row):
    verdict = gate([row] * 4 + [[0.5] * 10] * 2)
    assert verdict.answer is Answer.NO_GO
    assert verdict.crash_only == 1.0
    assert len(verdict.reasons) == 1 and "failing or not" in verdict.reasons[0]


def test_a_floor_below_zero_is_only_failing_too():
    groups = make_groups([[CRASH, 1.3]] * 4, floor=-1.0, ceiling=1.3)
    verdict = judge_gate(groups, ceiling=1.3)
    assert verdict.reward.estimate == pytest.approx(0.15)
    assert (verdict.answer, verdict.crash_only) == (Answer.NO_GO, 1.0)


@pytest.mark.parametrize(("only", "told"), [(1, False), (2, True), (3, True)])
def test_half_of_the_spread_being_failures_is_advice_and_no_verdict(only, told):
    verdict = gate([[CRASH, 0.6, 0.6]] * only + [[0.1, 0.6, 1.0]] * (4 - only))
    assert verdict.answer is Answer.GO
    assert verdict.crash_only == only / 4
    assert any("failing or not" in line for line in verdict.advice) == told


def test_groups_that_all_fail_have_no_spread_to_name():
    verdict = gate([[CRASH, CRASH]] * 4)
    assert (verdict.answer, verdict.crash_only) == (Answer.NO_GO, 0.0)
    assert any("lower temperature" in line for line in verdict.advice)


@pytest.mark.parametrize(
    ("unmeasured", "of", "answer"),
    [(0, 20, "go"), (1, 10, "go"), (2, 20, "go"), (3, 30, "go"), (3, 20, "unmeasured"), (4, 30, "unmeasured")],
)
def test_more_than_a_tenth_unmeasured_leaves_no_verdict(unmeasured, of, answer):
    rewards = [None] * unmeasured + [(0.1, 0.6, 1.0)[n % 3] for n in range(of - unmeasured)]
    verdict = gate([rewards[n : n + 5] for n in range(0, of, 5)])
    assert verdict.answer == answer
    assert verdict.unmeasured == unmeasured
    assert (f"{unmeasured} of {of}" in verdict.reasons[0]) == (answer == "unmeasured")


@pytest.mark.parametrize("rows", [[], [[]], [[None, None]], [[1.0, 1.0], [None, None]]])
def test_without_a_verdict_the_advice_is_to_look_at_the_machine(rows):
    verdict = gate(rows)
    assert verdict.answer is Answer.UNMEASURED
    assert len(verdict.advice) == 1 and "climb doctor" in verdict.advice[0]


def test_unmeasured_samples_shift_no_figure():
    without, with_some = gate([[0.1, 0.6, 0.6, 1.0, CRASH]] * 4), gate([[0.1, None, 0.6, 0.6, 1.0, CRASH]] * 4)
    assert with_some.answer is Answer.UNMEASURED
    assert with_some.reward.estimate == pytest.approx(2.3 / 5)
    for figure in ("reward", "signal", "signal_share", "solved", "failed", "crash_only", "failures"):
        assert getattr(with_some, figure) == getattr(without, figure), figure


def test_what_was_never_seen_is_bounded():
    verdict = gate(GO * 5)
    bound = 1 - math.exp(math.log(0.05) / 40)
    assert f"{bound:.4f}" == "0.0722"
    assert any("no sample of 40" in line and "7.22%" in line for line in verdict.advice)


def test_what_was_seen_once_is_not_never_seen():
    assert not any("no sample" in line for line in gate([*GO, [0.1, 1.0]]).advice)


def test_failures_are_counted_without_their_line_numbers_most_frequent_first():
    groups = make_groups([[0.6, CRASH]]) + make_groups([[CRASH, CRASH, CRASH]], detail="TypeError: {n} (line {n})")
    groups += make_groups([[CRASH, CRASH, CRASH]])
    verdict = judge_gate(groups)
    assert verdict.failures[0] == ("crashed: NameError: cube", 4)
    assert sorted(verdict.failures[1:]) == [(f"crashed: TypeError: {n}", 1) for n in range(3)]


def test_another_bar_is_kept():
    bar = Bar(least_mean=0.4, most_mean=0.9, least_signal=0.0)
    verdict = gate(GO, bar=bar)
    assert verdict.answer is Answer.NO_GO
    assert verdict.to_json()["bar"] == {"least_mean": 0.4, "most_mean": 0.9, "least_signal": 0.0}


@pytest.mark.parametrize(
    "rows",
    [GO, [], [[]], [[None]], [[None, None]] * 3, [[CRASH] * 4] * 2, [[1.0] * 4], [[0.6]], [[CRASH, 0.6, None]]],
    ids=repr,
)
def test_the_record_is_finite_json(rows):
    record = gate(rows).to_json()
    assert json.loads(json.dumps(record, allow_nan=False)) == record


@pytest.mark.parametrize(("cut", "told"), [(0, False), (2, False), (3, True), (8, True)])
def test_answers_cut_at_the_limit_are_counted_and_many_are_named(cut, told):
    groups = make_groups(GO)
    flat = [sample for group in groups for sample in group.samples]
    for place, sample in enumerate(flat):
        flat[place] = dataclasses.replace(sample, truncated=place < cut)
    cut_groups = [dataclasses.replace(group, samples=tuple(flat[2 * i : 2 * i + 2])) for i, group in enumerate(groups)]
    verdict = judge_gate(cut_groups)
    assert verdict.truncated == cut / 8
    assert any("sampling.max_new_tokens" in line for line in verdict.advice) is told


@pytest.mark.parametrize(("only", "answer"), [(7, "go"), (8, "go"), (9, "no-go"), (10, "no-go")])
def test_a_spread_that_is_nearly_always_only_failing_or_not_is_no_go(only, answer):
    verdict = gate([[CRASH, 0.6]] * only + [[0.1, 0.6]] * (10 - only))
    assert (verdict.answer, verdict.crash_only, verdict.graded.estimate) == (answer, only / 10, (10 - only) / 10)
    assert any("failing or not" in line for line in verdict.advice) == (answer == "go")


def test_a_policy_that_only_crashes_or_runs_is_no_go_with_the_figures_and_a_warm_up():
    bar = Bar(least_mean=0.0)
    verdict = gate([[CRASH] * 6 + [0.1] * 2] * 22 + [[CRASH] * 6 + [0.1, 0.225]] + [[CRASH] * 8] * 2, bar=bar)
    assert (verdict.answer, verdict.signal.share) == (Answer.NO_GO, 0.92)
    (reason,) = verdict.reasons
    assert "22 of the 23 groups that differ do so only by failing or not (mostly 0.1 against 0)" in reason
    assert "1 between graded answers" in reason
    assert any("climb warmup" in line for line in verdict.advice)


def test_the_record_says_where_the_spread_comes_from():
    record = gate([[0.1, 0.6]] * 3 + [[CRASH, 0.6]] + [[0.6, 0.6]]).to_json()
    assert (record["graded"]["estimate"], record["graded"]["n"], record["crash_only"]) == (0.75, 4, 0.25)
