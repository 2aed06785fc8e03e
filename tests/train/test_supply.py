"""Which tasks are asked, in what order, and that a resumed run goes on with the very next one."""

import dataclasses
from collections import Counter

import pytest

import toy
from climbable.core.errors import UserError
from climbable.core.group import Group, Sample
from climbable.core.types import Outcome, Score
from climbable.evaluate import evaluation_tasks
from climbable.recipe import LadderSettings, Recipe, Train, Warmup
from climbable.rollout import record
from climbable.train.course import Course, first_tasks
from climbable.train.supply import Supply

SKILL = dataclasses.replace(toy.SKILL, subkind=lambda task: f"{task.family}/{task.spec['words'][0]}")
LADDER = LadderSettings(rungs=("two",), solved_at=0.75, window=4, keep=0.25)
RECIPE = Recipe(
    name="r", skill="toy", families=("one",), warmup=Warmup(rows=20), train=Train(prompts=8, group=2), ladder=LADDER
)


def drawn(count, families=("one", "two"), seed=0):
    supply = Supply(SKILL, first=80, seed=seed)
    return [supply.draw(families) for _ in range(count)]


def test_every_sub_kind_of_every_family_is_drawn_as_often_as_any_other():
    tasks = drawn(4 * 2 * len(toy.WORDS))
    assert set(Counter(task.family for task in tasks).values()) == {4 * len(toy.WORDS)}
    kinds = Counter(SKILL.subkind(task) for task in tasks)
    assert len(kinds) == 2 * len(toy.WORDS) and set(kinds.values()) == {4}


def test_no_task_is_drawn_twice_nor_one_that_the_warm_up_may_have_shown():
    tasks = drawn(300)
    assert len({task.id for task in tasks}) == 300
    assert min(task.index for task in tasks) >= 80 and {task.split for task in tasks} == {"train"}


def test_the_order_is_the_seeds():
    assert [task.id for task in drawn(50)] == [task.id for task in drawn(50)]
    assert [task.id for task in drawn(50)] != [task.id for task in drawn(50, seed=1)]


@pytest.mark.parametrize("done", [1, 7, 100])
def test_a_supply_that_is_told_what_was_drawn_goes_on_with_the_next(done):
    tasks = drawn(done + 20)
    again = Supply(SKILL, first=80, seed=0)
    for task in reversed(tasks[:done]):
        again.take(task)
    assert [again.draw(("one", "two")) for _ in range(20)] == tasks[done:]


def test_a_sub_kind_that_ends_leaves_its_turn_to_the_others():
    once = dataclasses.replace(SKILL, subkind=lambda task: "rare" if task.index == 90 else "common")
    supply = Supply(once, first=80, seed=0)
    tasks = [supply.draw(("one",)) for _ in range(30)]
    assert [task.index for task in tasks].count(90) == 1 and len({task.id for task in tasks}) == 30


def groups_of(course, recipe, solved):
    tasks = [course.draw(families) for families in course.families(recipe.train.prompts)]
    return [
        Group(
            task=task,
            samples=tuple(
                Sample(
                    task=task,
                    sample=number,
                    completion="",
                    tokens=1,
                    truncated=False,
                    score=Score(task=task.id, outcome=Outcome.SCORED, reward=float(solved), solved=solved),
                )
                for number in range(2)
            ),
        )
        for task in tasks
    ]


def walk(course, steps, solved, first=1):
    """Steps whose groups are all solved or all not; their groups, and the climbs."""
    made, climbs = [], []
    for step in range(first, first + steps):
        groups = groups_of(course, RECIPE, solved)
        made.append((step, groups))
        climbs.append(course.finish(step, groups))
    return made, [climb for climb in climbs if climb]


def test_a_solved_level_is_left_for_the_next_rung_and_kept_in_part():
    course = Course(RECIPE, SKILL)
    made, climbs = walk(course, 3, solved=True)
    families = [Counter(group.task.family for group in groups) for _, groups in made]
    assert families == [{"one": 8}, {"two": 6, "one": 2}, {"two": 6, "one": 2}]
    assert [climb.to_json() | {"step": climb.step} for climb in climbs] == [
        {"step": 1, "rung": "two", "solved": "one", "pass_at_1": 1.0, "groups": 4}
    ]


def test_a_level_that_is_not_solved_is_not_left():
    course = Course(RECIPE, SKILL)
    assert walk(course, 5, solved=False)[1] == []
    assert {families for families in course.families(8)} == {("one",)}


def test_a_window_that_is_not_full_is_not_judged():
    wide = dataclasses.replace(RECIPE, ladder=dataclasses.replace(LADDER, window=17))
    course = Course(wide, SKILL)
    assert [climb.step for climb in walk(course, 3, solved=True)[1]] == [3]


@pytest.mark.parametrize("done", [1, 2, 3, 5])
def test_records_alone_say_where_the_ladder_and_the_supply_stand(done):
    course = Course(RECIPE, SKILL)
    first = walk(course, 2, solved=False)[0]
    made = first + walk(course, 5, solved=True, first=3)[0]
    rows = [
        row
        for step, groups in made[:done]
        for group in groups
        for row in record(group, stage="train", step=step, policy="p")
    ]
    again = Course(RECIPE, SKILL)
    again.replay(rows)
    for step, groups in made[done:]:
        fresh = [again.draw(families).id for families in again.families(8)]
        assert fresh == [group.task.id for group in groups]
        again.finish(step, groups)
    assert again.level == course.level == "two"


def test_a_held_out_family_is_no_rung_and_is_never_drawn():
    recipe = dataclasses.replace(RECIPE, ladder=dataclasses.replace(LADDER, rungs=("hidden",)))
    with pytest.raises(UserError, match="held out"):
        recipe.require_trainable(SKILL)
    course = Course(recipe, SKILL)
    walk(course, 1, solved=True)
    with pytest.raises(UserError, match="held out"):
        course.draw(course.families(8)[0])


def test_a_family_is_one_level():
    recipe = dataclasses.replace(RECIPE, families=("one", "two"))
    with pytest.raises(UserError, match="'two' is two levels"):
        recipe.require_trainable(SKILL)


def test_the_first_tasks_are_those_of_the_first_step():
    course = Course(RECIPE, SKILL)
    assert first_tasks(RECIPE, SKILL, 4) == [course.draw(each) for each in course.families(8)[:4]]


def test_the_warm_up_shows_the_rungs_too_unless_told_otherwise():
    assert RECIPE.warmup_families(SKILL) == ("one", "two")
    told = dataclasses.replace(RECIPE, warmup=Warmup(families=("one",)))
    assert told.warmup_families(SKILL) == ("one",)


def test_every_rung_is_evaluated_whether_it_is_reached_or_not():
    families = [task.family for task in evaluation_tasks(RECIPE, SKILL)]
    assert list(dict.fromkeys(families)) == ["one", "two", "hidden"]
