"""Every handed case comes out as it should: honest scripts are paid, cheats and abuse are not, in no mode."""

from pathlib import Path

import pytest

from climbable.core.errors import Unavailable
from climbable.core.types import Task
from climbable.sandbox.driver import MODES
from climbable.skills import load_skill
from climbable.verify import Verifier
from handed import misses, rows

ROWS = rows("scene")
FOLDERS = ("/", "/tmp", "/var/tmp", "/dev/shm", "/usr/local", "/opt", str(Path.home()))


ATTACKS = [row for row in ROWS if row["case"].startswith(("abuse-", "cheat-"))]


def verified(asked, modes):
    """The rows that loop for ever do so whatever the limit is, so it is short here."""
    with Verifier(load_skill("scene"), workers=2, wall_s=6, modes=modes) as verifier:
        pairs = [(Task.from_json(row["task"]), row["completion"]) for row in asked]
        return {row["case"]: score.to_json() for row, score in zip(asked, verifier.stream(pairs), strict=True)}


def marks():
    return [str(path) for folder in FOLDERS for path in Path(folder).glob("case_marker_*")]


@pytest.fixture(scope="module")
def scores():
    return verified(ROWS, MODES)


@pytest.fixture(scope="module", params=MODES[1:])
def attacks(request):
    """The scores of the attacks in each mode but the strongest."""
    try:
        return verified(ATTACKS, [request.param])
    except Unavailable as error:
        pytest.skip(f"this machine does not allow the mode: {error}")


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
def test_case(scores, row):
    score = scores[row["case"]]
    assert not misses(score, row["expect"]), score


@pytest.mark.parametrize("row", ATTACKS, ids=[row["case"] for row in ATTACKS])
def test_an_attack_does_not_pay_in_a_weaker_mode_either(attacks, row):
    score = attacks[row["case"]]
    assert not misses(score, row["expect"]), score


def test_no_case_left_a_mark_outside(scores):
    assert not marks()


def test_no_attack_left_a_mark_outside_in_a_weaker_mode(attacks):
    assert not marks()
