import json
import math
from pathlib import Path

import pytest

from climbable.core.errors import UserError
from climbable.core.types import Check, Outcome, Reason, Score, Task

CASES = Path(__file__).parent.parent / "cases"
TASK = {"id": "a/b/test/1", "skill": "a", "family": "b", "split": "test", "index": 1, "prompt": "p", "spec": {"x": 1}}


@pytest.mark.parametrize("name", ["scene.jsonl", "langgraph.jsonl"])
def test_digests_of_handed_tasks_are_reproduced(name):
    for line in (CASES / name).read_text(encoding="utf-8").splitlines():
        handed = json.loads(line)["task"]
        assert Task.from_json(handed).digest == handed["digest"]


def test_a_task_survives_its_json():
    assert Task.from_json(Task.from_json(TASK).to_json()) == Task.from_json(TASK)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"prompt": None}, "'prompt'"),
        ({"spec": []}, "an object"),
        ({"index": True}, "'index'"),
        ({"index": "1"}, "'index'"),
        ({"family": 3}, "'family'"),
        ({"digest": "sha256:0"}, "digest"),
    ],
)
def test_a_malformed_task_is_the_callers_mistake_and_names_the_field(change, told):
    with pytest.raises(UserError, match=told):
        Task.from_json(TASK | change)


@pytest.mark.parametrize("field", ["id", "skill", "prompt", "spec"])
def test_a_missing_field_is_named(field):
    with pytest.raises(UserError, match=f"no '{field}'"):
        Task.from_json({key: value for key, value in TASK.items() if key != field})


@pytest.mark.parametrize("value", [None, [], "scene/stack/test/1", 5])
def test_what_is_no_object_is_no_task(value):
    with pytest.raises(UserError, match="JSON object"):
        Task.from_json(value)


def test_a_score_survives_its_json():
    score = Score(
        task="t",
        outcome=Outcome.FAILED,
        reason=Reason.CRASHED,
        detail="NameError: x (line 1)",
        reward=0.0,
        checks=(Check(name="c", passed=False, expected=[1.0], measured=None, tolerance=0.03, unit="m"),),
        extras={"rendered": False},
        seconds={"run": 0.25},
    )
    assert Score.from_json(json.loads(json.dumps(score.to_json()))) == score


def test_numbers_that_are_not_finite_become_null():
    check = Check(name="c", passed=False, expected=[0.0], measured=[math.nan, math.inf, 1.0])
    assert check.to_json()["measured"] == [None, None, 1.0]


@pytest.mark.parametrize("reward", [math.nan, math.inf, None])
def test_a_scored_sample_has_a_finite_reward(reward):
    with pytest.raises(AssertionError):
        Score(task="t", outcome=Outcome.SCORED, reward=reward)


def test_an_unmeasured_sample_has_no_reward():
    with pytest.raises(AssertionError):
        Score(task="t", outcome=Outcome.UNMEASURED, reward=0.0)
