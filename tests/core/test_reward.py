"""Partial credit against the contract's table, reckoned by hand."""

import pytest

from climbable.core.reward import partial_credit
from climbable.core.types import Check


def make_checks(passed, total):
    return [Check(name=f"c{n}", passed=n < passed) for n in range(total)]


@pytest.mark.parametrize(
    ("passed", "total", "share", "reward"),
    [
        (0, 7, 0.0, 0.1),
        (1, 7, 0.0714, 0.1714),
        (3, 7, 0.2143, 0.3143),
        (6, 7, 0.4286, 0.5286),
        (7, 7, 0.5, 0.6),
        (1, 6, 0.0833, 0.1833),
        (5, 8, 0.3125, 0.4125),
        (10, 11, 0.4545, 0.5545),
    ],
)
def test_the_reward_is_a_tenth_and_half_of_the_share_of_checks(passed, total, share, reward):
    parts = partial_credit(make_checks(passed, total), solved=False)
    assert parts == {"ran": 0.1, "checks": share, "bonus": 0.0}
    assert round(sum(parts.values()), 4) == reward


@pytest.mark.parametrize("total", [1, 3, 6, 7, 11])
def test_solved_earns_everything(total):
    parts = partial_credit(make_checks(total, total), solved=True)
    assert parts == {"ran": 0.1, "checks": 0.5, "bonus": 0.4}
    assert round(sum(parts.values()), 4) == 1.0


def test_without_checks_only_running_pays():
    assert partial_credit([], solved=False) == {"ran": 0.1, "checks": 0.0, "bonus": 0.0}


def test_the_weights_are_the_skills_to_choose():
    parts = partial_credit(make_checks(1, 2), solved=True, ran=0.2, share=0.6, bonus=0.2)
    assert parts == {"ran": 0.2, "checks": 0.3, "bonus": 0.2}


def test_the_parts_keep_their_order():
    assert list(partial_credit([], solved=True)) == ["ran", "checks", "bonus"]
