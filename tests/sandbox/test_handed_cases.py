"""Every handed case comes out as it should: honest scripts are paid, cheats and abuse are not."""

from pathlib import Path

import pytest

from climbable.core.types import Task
from climbable.skills import load_skill
from climbable.verify import Verifier
from handed import misses, rows

ROWS = rows("scene")
FOLDERS = ("/", "/tmp", "/var/tmp", "/dev/shm", "/usr/local", "/opt", str(Path.home()))


@pytest.fixture(scope="module")
def scores():
    """The rows that loop for ever do so whatever the limit is, so it is short here."""
    with Verifier(load_skill("scene"), workers=2, wall_s=6) as verifier:
        pairs = [(Task.from_json(row["task"]), row["completion"]) for row in ROWS]
        yield {row["case"]: score.to_json() for row, score in zip(ROWS, verifier.stream(pairs), strict=True)}


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
def test_case(scores, row):
    score = scores[row["case"]]
    assert not misses(score, row["expect"]), score


def test_no_case_left_a_mark_outside(scores):
    marks = [str(path) for folder in FOLDERS for path in Path(folder).glob("case_marker_*")]
    assert not marks
