"""The ladder's families: what they ask, that their teachers earn it, and what near misses and cheats earn."""

import json
import re

import pytest

from climbable.core.errors import UserError
from climbable.core.skill import split_level
from climbable.core.types import Task
from climbable.skills import load_skill
from climbable.skills.scene.teacher import SHORT_STYLES
from climbable.verify import Verifier
from handed import misses, rows

SKILL = load_skill("scene")
LADDER = SKILL.ladder_families()
CASES = rows("scene-ladder")


@pytest.fixture(scope="module")
def verifier():
    with Verifier(SKILL, workers=2) as verifier:
        yield verifier


def test_levels_are_written_with_the_name():
    assert {"place", "place@2", "rotated", "rotated@2", "chain", "chain@2", "many", "many@2"} == set(LADDER)
    assert split_level("many@2") == ("many", 2) and split_level("many") == ("many", 1)
    task = SKILL.task("many@2", "train", 17)
    assert (task.family, task.id) == ("many@2", "scene/many@2/train/17")
    assert SKILL.task_by_id(task.id) == task
    assert SKILL.task("many", "train", 17).prompt != task.prompt


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("many@1", "write 'many'"),
        ("many@3", "many, many@2"),
        ("many@", "many, many@2"),
        ("many@two", "many, many@2"),
        ("many@02", "many, many@2"),
        ("stack@2", "has no levels: write 'stack'"),
        ("meny", "many"),
    ],
)
def test_a_level_that_is_not_there_is_refused_with_those_that_are(written, said):
    with pytest.raises(UserError, match=re.escape(said)):
        SKILL.task(written, "train", 0)


def test_ladder_families_are_trained_only_where_they_are_named():
    assert SKILL.trained_families() == ("stack", "next_to")
    assert SKILL.held_out_families() == ("between",)


@pytest.mark.parametrize("family", LADDER)
def test_teachers_earn_everything_in_every_style_and_silence_nothing(verifier, family):
    tasks = [SKILL.task(family, "test", i) for i in range(2 * len(SHORT_STYLES))]
    gold = verifier.verify_many([(task, SKILL.teach(task, i)) for i, task in enumerate(tasks)])
    empty = verifier.verify_many([(task, "import bpy") for task in tasks[:4]])
    assert [score.to_json() for score in gold if score.reward != 1.0] == []
    assert max(score.reward for score in empty) <= 0.1


@pytest.mark.parametrize("family", LADDER)
def test_every_name_and_number_of_a_task_stands_in_its_sentence(family):
    for index in range(60):
        task = SKILL.task(family, "train", index)
        script = SKILL.teach(task, 0)
        said = set(re.findall(r"\d+(?:\.\d+)?", task.prompt))
        code = "\n".join(line for line in script.splitlines() if "def " not in line and "radius=d" not in line)
        assert set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?", code)) <= said | {"2", "0"}, (task.prompt, script)
        assert all(thing["name"] in task.prompt for thing in task.spec["objects"])


@pytest.mark.parametrize("family", LADDER)
def test_sub_kinds_are_few_and_each_comes_up(family):
    kinds = [SKILL.subkind(SKILL.task(family, "train", i)) for i in range(120)]
    assert 2 <= len(set(kinds)) <= 8
    assert all(kind.startswith(family + "/") for kind in kinds)
    assert min(kinds.count(kind) for kind in set(kinds)) >= 8


@pytest.mark.parametrize("family", LADDER)
def test_splits_are_disjoint_and_sentences_vary(family):
    specs = {
        split: {json.dumps(dict(SKILL.task(family, split, i).spec)) for i in range(100)}
        for split in ("train", "val", "test")
    }
    assert not (specs["train"] & specs["val"] or specs["train"] & specs["test"] or specs["val"] & specs["test"])
    shapes = {re.sub(r"[A-Z]\w+|-?\d+(\.\d+)?", "#", SKILL.task(family, "train", i).prompt) for i in range(60)}
    assert len(shapes) >= 3


def test_no_teacher_of_a_trained_family_averages_two_positions():
    sum_of_places = re.compile(r"\(-?[\d.]+ \+ -?[\d.]+\) / 2|\(\w[xyz] \+ \w[xyz]\) / 2")
    for family in (*SKILL.trained_families(), *LADDER):
        for index in range(100):
            task = SKILL.task(family, "train", index)
            sizes = {thing["size"] for thing in task.spec["objects"]}
            for style in (0, 1, 2):
                for found in sum_of_places.findall(SKILL.teach(task, style)):
                    assert {float(number) for number in re.findall(r"-?[\d.]+", found)[:2]} <= sizes, found


@pytest.fixture(scope="module")
def scores(verifier):
    pairs = [(Task.from_json(row["task"]), row["completion"]) for row in CASES]
    return {row["case"]: score.to_json() for row, score in zip(CASES, verifier.verify_many(pairs), strict=True)}


@pytest.mark.parametrize("row", CASES, ids=[row["case"] for row in CASES])
def test_case(scores, row):
    assert not misses(scores[row["case"]], row["expect"]), scores[row["case"]]
