"""Advantages and signal at their edges; the plain cases stand in test_stats.py."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from climbable.core.group import advantages, has_signal, signal, spread

REWARDS = st.lists(st.none() | st.integers(-10_000, 13_000).map(lambda n: n / 10_000), max_size=12)


@pytest.mark.parametrize(
    ("rewards", "by_hand"),
    [
        ([0.0, 1.0, 1.0, 2.0], [-1.22459489, 0.0, 0.0, 1.22459489]),  # √(2/3) = 0.81649658
        ([0.1, 0.1, 0.1, 0.5], [-0.49975012, -0.49975012, -0.49975012, 1.49925037]),  # mean 0.2, spread 0.2
        ([-1.0, 1.3, None, 1.3], [-1.15461359, 0.57730679, None, 0.57730679]),  # mean 1.6/3, spread 2.3/√3
    ],
)
def test_advantages_are_those_reckoned_by_hand(rewards, by_hand):
    assert advantages(rewards) == pytest.approx(by_hand, abs=1e-8)


@pytest.mark.parametrize(
    ("rewards", "by_hand"),
    [([], 0.0), ([0.7], 0.0), ([None, 0.7, None], 0.0), ([0.0, None, 1.0], math.sqrt(0.5)), ([1.0, 2.0, 3.0], 1.0)],
)
def test_the_spread_is_the_sample_deviation_of_what_was_measured(rewards, by_hand):
    assert spread(rewards) == pytest.approx(by_hand, abs=1e-15)


# Two rewards that are d apart deviate by d / √2, three of which one is d off by d / √3.
@pytest.mark.parametrize(
    ("rewards", "differs"),
    [
        ([0.5, 0.501414], False),
        ([0.5, 0.501415], True),
        ([0.5, 0.5, 0.501732], False),
        ([0.5, 0.5, 0.501733], True),
        ([0.5, None, 0.501414], False),
        ([0.5, None, 0.501415], True),
    ],
)
def test_a_spread_below_a_thousandth_is_no_signal(rewards, differs):
    assert has_signal(rewards) == differs
    assert any(advantages(rewards)) == differs


def test_a_spread_of_a_thousandth_sharp_is_signal():
    assert has_signal([-0.001, 0.0, 0.001])


@pytest.mark.parametrize("rewards", [[0.7], [1.0, None], [None, 0.0, None], [0.3] * 8])
def test_without_a_difference_nothing_is_preferred(rewards):
    assert advantages(rewards) == [None if reward is None else 0.0 for reward in rewards]


@pytest.mark.parametrize("rewards", [[], [None], [None, None]])
def test_without_a_measured_sample_there_is_no_advantage(rewards):
    assert advantages(rewards) == rewards


@given(REWARDS)
def test_unmeasured_samples_have_no_advantage_and_change_no_other(rewards):
    given_to_all = advantages(rewards)
    assert [value is None for value in given_to_all] == [reward is None for reward in rewards]
    measured = [reward for reward in rewards if reward is not None]
    assert [value for value in given_to_all if value is not None] == advantages(measured)


@given(REWARDS)
def test_advantages_are_finite_centred_and_scaled(rewards):
    measured = [reward for reward in rewards if reward is not None]
    values = [value for value in advantages(rewards) if value is not None]
    assert all(map(math.isfinite, values))
    assert math.fsum(values) == pytest.approx(0.0, abs=1e-6)
    if any(values):
        deviation = statistics.stdev(measured)
        assert statistics.stdev(values) == pytest.approx(deviation / (deviation + 1e-4))


def test_a_group_is_solved_only_at_the_ceiling():
    counts = signal([[1.3, 1.3], [1.2995, 1.2995], [1.0, 1.0], [-1.0, -1.0, None]], ceiling=1.3)
    assert (counts.solved, counts.hopeless, counts.with_signal, counts.unmeasured) == (2, 2, 0, 0)


def test_groups_with_fewer_than_two_measured_samples_leave_the_share():
    counts = signal([[], [None], [1.0], [None, 0.1], [0.1, 1.0], [0.1, 0.1]], ceiling=1.0)
    assert (counts.groups, counts.unmeasured, counts.with_signal) == (6, 4, 1)
    assert counts.share == 0.5


@pytest.mark.parametrize("groups", [[], [[None, None]], [[1.0]]])
def test_where_nothing_was_measured_the_share_is_zero(groups):
    assert signal(groups, ceiling=1.0).share == 0.0


def test_the_record_of_signal_holds_every_count():
    assert signal([[0.1, 1.0], [1.0, 1.0], [0.1, 0.1], [None]], ceiling=1.0).to_json() == {
        "groups": 4,
        "with_signal": 1,
        "solved": 1,
        "hopeless": 1,
        "unmeasured": 1,
        "share": 1 / 3,
    }
