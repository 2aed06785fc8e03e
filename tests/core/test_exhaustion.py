"""The fit of the signal's decay against published and hand-made values."""

import math
import random

import pytest

from climbable.core.exhaustion import LEAST_STEPS, Curve, exhaustion, fit

HOURS = (0.5, 0.75, 1, 1.25, 1.5, 1.75, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 4, 4.25, 4.5, 4.75, 5, 5.5)
PASSED = (0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1)
"""The textbook example of logistic regression: hours of study, and whether the exam was passed."""


def falling(steps=60, groups=32, intercept=2.0, slope=-0.05, seed=3):
    draw, curve = random.Random(seed), Curve(intercept=intercept, slope=slope)
    return [(t, sum(draw.random() < curve.share(t) for _ in range(groups)), groups) for t in range(1, steps + 1)]


def test_the_textbooks_curve():
    curve = fit([(hours, passed, 1) for hours, passed in zip(HOURS, PASSED, strict=True)])
    assert (curve.intercept, curve.slope) == pytest.approx((-4.0777, 1.5046), abs=5e-5)


def test_two_steps_are_met_exactly():
    curve = fit([(10, 24, 32), (30, 8, 32)])
    assert (curve.share(10), curve.share(30), curve.share(20)) == pytest.approx((0.75, 0.25, 0.5), abs=1e-12)
    assert curve.slope == pytest.approx(-math.log(9) / 20, abs=1e-12)
    assert curve.reaches(0.1) == pytest.approx(40.0, abs=1e-9)


def test_the_residuals_of_the_fit_are_orthogonal_to_the_steps():
    counts = falling()
    curve = fit(counts)
    assert math.fsum(k - n * curve.share(t) for t, k, n in counts) == pytest.approx(0, abs=1e-8)
    assert math.fsum(t * (k - n * curve.share(t)) for t, k, n in counts) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "counts",
    [[], [(1, 3, 8)], [(1, 0, 0), (2, 3, 8)], [(1, 8, 8), (2, 8, 8), (3, 0, 8)], [(t, 0, 8) for t in range(9)]],
)
def test_where_no_curve_is_the_likeliest_there_is_none(counts):
    assert fit(counts) is None


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_holds_the_true_step(seed):
    found = exhaustion(falling(seed=seed))
    true = Curve(intercept=2.0, slope=-0.05).reaches(0.1) - 60
    assert found.low <= true <= found.high and found.low <= found.left <= found.high
    assert found.high - found.low < 30


def test_a_share_that_does_not_fall_is_never_exhausted():
    found = exhaustion([(t, 10 + t % 3 + t // 4, 32) for t in range(20)])
    assert found.left == math.inf and found.to_json()["left"] is None


def test_a_share_below_the_bar_has_nothing_left():
    assert exhaustion(falling(steps=120)).left == 0.0


def test_a_few_steps_are_not_fitted():
    counts = falling(steps=LEAST_STEPS)
    assert exhaustion(counts[:-1]) is None and exhaustion(counts) is not None


def test_steps_without_a_measured_group_change_nothing():
    assert exhaustion([*falling(), (61, 0, 0)]) == exhaustion(falling())
