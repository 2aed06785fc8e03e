"""The skill `langgraph`: every handed case, any text at all, and labels that stand in their sentences."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from climbable.core.records import dumps
from climbable.core.types import Outcome, Reason, Task
from climbable.skills import load_skill
from climbable.verify import Verifier
from handed import misses, rows

ROWS = rows("langgraph")
SKILL = load_skill("langgraph")
DEV = Task.from_json(ROWS[0]["task"])
"""Asks for ``dev`` on port 8807 and nothing else."""


@pytest.fixture(scope="module")
def verifier():
    with Verifier(SKILL) as verifier:
        yield verifier


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
def test_case(verifier, row):
    score = verifier.verify(Task.from_json(row["task"]), row["completion"]).to_json()
    assert not misses(score, row["expect"]), score
    dumps(score)


@pytest.mark.parametrize("family", SKILL.trained_families())
def test_the_teacher_earns_everything_and_each_value_stands_in_the_sentence(verifier, family):
    for index in range(200):
        task = SKILL.task(family, "train", index)
        assert verifier.verify(task, SKILL.teach(task, index)).reward == 1.3
        values = [value for key, value in task.spec["expected"].items() if key != "command" and value is not None]
        assert all(str(value) in task.prompt for value in values if value is not True), task.prompt


def test_splits_share_no_label():
    labels = {
        split: {
            json.dumps(SKILL.task(family, split, i).spec) for family in SKILL.trained_families() for i in range(100)
        }
        for split in ("train", "val", "test")
    }
    assert (
        not labels["train"] & labels["val"]
        and not labels["train"] & labels["test"]
        and not labels["val"] & labels["test"]
    )


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.text()
    | values.map(json.dumps)
    | st.dictionaries(st.sampled_from(["command", "port", "x"]), values).map(json.dumps)
)
def test_any_answer_has_a_score_in_the_range_and_never_a_fault_of_ours(answer):
    with Verifier(SKILL) as verifier:
        score = verifier.verify(DEV, answer)
    assert score.outcome is not Outcome.UNMEASURED
    assert -1.0 <= score.reward <= 1.3
    dumps(score.to_json())


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ('{"command": "dev", "port": 8807, "watch": false}', 0.8),
        ('{"command": "dev", "port": 8807, "x": {"y": 1}}', 0.8),
        ('{"port": 8807}', -0.7),
        ('```\n{"command": "dev", "port": 8807}\n````', 1.3),
        ('~~~json\n{"command": "dev", "port": 8807}\n~~~', 1.3),
        ('```json\n{"command": "dev", "port": 8807}```', -1.0),
        ('````\n{"command": "dev", "port": 8807}\n```', -1.0),
        ('\u00a0{"command": "dev", "port": 8807}', -1.0),
        ('{"command": "dev",\u00a0"port": 8807}', -1.0),
        ('<think>a</think><think>b</think>{"command": "dev", "port": 8807}', -1.0),
        ('{"command": "dev", "port": 8807, "x": ' + "[" * 63 + "]" * 63 + "}", 0.8),
        ('{"command": "dev", "port": 8807, "x": ' + "[" * 64 + "]" * 64 + "}", -1.0),
        ('{"command": "dev", "port": ' + "9" * 300 + "}", 0.3),
        ('{"command": "dev", "port": ' + "9" * 301 + "}", -1.0),
        ('{"command": "dev", "port": 1e999}', 0.3),
        ('{"command": "dev", "port": 8807, "x": {"y": 1, "y": 2}}', -1.0),
    ],
)
def test_at_the_edges_of_what_json_is(verifier, answer, reward):
    score = verifier.verify(DEV, answer)
    assert score.reward == pytest.approx(reward)
    if reward == -1.0:
        assert (score.outcome, score.reason) == (Outcome.FAILED, Reason.UNREADABLE)
