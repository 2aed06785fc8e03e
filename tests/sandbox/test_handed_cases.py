"""Every handed case comes out as it should: honest scripts are paid, cheats and abuse are not."""

import json
from pathlib import Path

import pytest

from climbable.core.types import Task
from climbable.skills import load_skill
from climbable.verify import Verifier

ROWS = [
    json.loads(line) for line in (Path(__file__).parent.parent / "cases/scene.jsonl").read_text("utf-8").splitlines()
]
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
    misses = [_misses(score, expected) for expected in (row["expect"], *row["expect"].get("or", ()))]
    assert [] in misses, (misses[0], score)


def test_no_case_left_a_mark_outside(scores):
    marks = [str(path) for folder in FOLDERS for path in Path(folder).glob("case_marker_*")]
    assert not marks


def _misses(score, expected):
    passed = {check["name"]: check["passed"] for check in score["checks"]}
    missed = []
    for key in ("outcome", "reason"):
        allowed = expected.get(key, score[key])
        if score[key] not in (allowed if isinstance(allowed, list) else [allowed]):
            missed.append(key)
    if "reward" in expected:
        reward = expected["reward"]
        low, high = reward if isinstance(reward, list) else (reward, reward)
        if score["reward"] is None or not low <= round(score["reward"], 4) <= high:
            missed.append("reward")
    if expected.get("solved", score["solved"]) != score["solved"]:
        missed.append("solved")
    missed += [name for name in expected.get("passed", ()) if passed.get(name) is not True]
    missed += [name for name in expected.get("failed", ()) if passed.get(name) is not False]
    missed += [text for text in expected.get("detail_has", ()) if text not in (score["detail"] or "")]
    return missed
