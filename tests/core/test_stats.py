from itertools import combinations

import pytest

from climbable.core.group import advantages, has_signal, signal
from climbable.core.prompt import extract_script
from climbable.core.stats import paired, pass_at_k, wilson


@pytest.mark.parametrize(("n", "c", "k"), [(5, 2, 3), (8, 0, 4), (8, 8, 1), (6, 1, 6), (4, 3, 2)])
def test_pass_at_k_is_the_share_of_subsets_with_a_pass(n, c, k):
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


def test_wilson_agrees_with_published_values():
    interval = wilson(81, 263)  # Newcombe 1998, table I
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)
    none = wilson(0, 20)
    assert (none.low, round(none.high, 4)) == (0.0, 0.1611)


def test_a_paired_test_of_passes_is_mcnemars_exact_test():
    result = paired([0.0] * 6 + [1.0] * 4, [1.0] * 6 + [1.0] * 3 + [0.0])
    assert (result.better, result.worse, result.same) == (6, 1, 3)
    assert result.p_value == pytest.approx(2 * (1 + 7) / 2**7)


def test_unmeasured_samples_leave_the_group():
    assert advantages([0.0, None, 1.0]) == pytest.approx([-0.70700681, None, 0.70700681])
    assert advantages([0.5, 0.5004, None]) == [0.0, 0.0, None]
    assert not has_signal([0.5, 0.5004]) and has_signal([0.5, 0.51])


def test_signal_tells_solved_from_hopeless():
    counts = signal([[1.0, 1.0], [0.1, 0.1], [0.1, 1.0], [None, 1.0]], ceiling=1.0)
    assert (counts.solved, counts.hopeless, counts.with_signal, counts.unmeasured) == (1, 1, 1, 1)
    assert counts.share == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("completion", "script"),
    [
        ("a\n```py\nx\n```\nb", "x\n"),
        ("~~~\nx\n```\ny", "x\n```\ny\n"),
        ("````\n```\n````", "```\n"),
        ("<think>```\nno\n```</think>yes", "yes"),
        ("<think>never closed", None),
        (" \n", None),
        ("plain", "plain"),
    ],
)
def test_the_script_is_the_first_fenced_block_or_everything(completion, script):
    assert extract_script(completion) == script
