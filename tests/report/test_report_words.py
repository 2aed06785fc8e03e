import pytest

from climbable.report.words import duration, interval, p_value, percent


@pytest.mark.parametrize(("share", "text"), [(0, "0 %"), (1, "100 %"), (0.3438, "34.4 %"), (0.0004, "0.0 %")])
def test_a_share_is_a_percentage(share, text):
    assert percent(share) == text


def test_an_interval_is_in_percent():
    assert interval({"low": 0.1234, "high": 1.0}) == "[12.3, 100.0] %"


@pytest.mark.parametrize(("p", "text"), [(0.0004, "p < 0.001"), (0.03125, "p = 0.031"), (1.0, "p = 1")])
def test_a_p_value_is_never_zero(p, text):
    assert p_value(p) == text


@pytest.mark.parametrize(("seconds", "text"), [(4.25, "4.2 s"), (48, "48 s"), (720, "12 min"), (12660, "3 h 31 min")])
def test_a_duration_has_the_unit_that_fits(seconds, text):
    assert duration(seconds) == text
