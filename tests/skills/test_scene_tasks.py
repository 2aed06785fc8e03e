import json

import pytest

from climbable.core.errors import UserError
from climbable.skills import load_skill
from climbable.verify import Verifier

SKILL = load_skill("scene")


def test_splits_are_disjoint():
    def seen(split):
        return {json.dumps(dict(SKILL.task(f, split, i).spec)) for f in ("stack", "next_to") for i in range(300)}

    train, val, test = seen("train"), seen("val"), seen("test")
    assert not (train & val or train & test or val & test)


def test_a_held_out_family_has_no_training_split():
    with pytest.raises(UserError, match="held out"):
        SKILL.task("between", "train", 0)


@pytest.mark.parametrize("family", ["stack", "next_to", "between"])
def test_the_teacher_earns_everything_and_silence_nothing(family):
    tasks = [SKILL.task(family, "test", i) for i in range(120)]
    with Verifier(SKILL, workers=2) as verifier:
        gold = verifier.verify_many([(task, SKILL.teach(task, i)) for i, task in enumerate(tasks)])
        empty = verifier.verify_many([(task, "") for task in tasks])
    assert [score.task for score in gold if score.reward != 1.0] == []
    assert max(score.reward for score in empty) <= 0.1
