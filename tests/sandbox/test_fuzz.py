"""Spoilt files never stop the sandbox and are never overpaid; `python bench/fuzz.py` runs 500 of them."""

import pytest

import fuzz
from climbable.core.types import Outcome, Score


@pytest.fixture(scope="module")
def rows():
    return fuzz.run(range(64))


def test_each_has_an_outcome_none_is_overpaid_and_right_answers_are_paid_afterwards(rows):
    assert [row for row in rows if row["wrong"]] == []


def test_both_readable_and_unreadable_files_are_among_them(rows):
    assert len(rows) == 64
    assert sum(row["outcome"] == "scored" for row in rows) >= 10 <= sum(row["outcome"] == "failed" for row in rows)
    assert {row["reward"] for row in rows if row["scene"] == "right"} == {0.0, 1.0}


def score(reward, outcome=Outcome.SCORED):
    return Score(task="t", outcome=outcome, reward=reward)


@pytest.mark.parametrize(
    ("spoilt", "gold", "wrong"),
    [
        (score(None, Outcome.UNMEASURED), score(1.0), "unmeasured"),
        (score(0.6), score(1.0), "earned 0.6, its scene 0.5"),
        (score(0.5), score(0.9), "the teacher earned 0.9"),
    ],
)
def test_what_is_not_as_it_should_be_is_seen(spoilt, gold, wrong):
    assert wrong in fuzz._row(0, "moved", "bits", spoilt, gold, score(0.5))["wrong"]
