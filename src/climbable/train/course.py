"""The course of a run: supply and ladder together, and how they are found again from the records after a kill."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from climbable.core.group import Group
from climbable.core.skill import Skill
from climbable.core.types import Task
from climbable.recipe import Recipe
from climbable.train.ladder import Climb, Ladder, Result
from climbable.train.supply import Supply, behind_warmup


class Course:
    """Says which tasks a step is made of; told of each step's groups, it moves on."""

    def __init__(self, recipe: Recipe, skill: Skill) -> None:
        self._skill = skill
        self._supply = Supply(skill, first=behind_warmup(recipe), seed=recipe.seed)
        self._ladder = Ladder(recipe.ladder, recipe.trained_families(skill))

    @property
    def level(self) -> str:
        """The families of the newest level that is drawn from."""
        return self._ladder.level

    def families(self, prompts: int) -> list[tuple[str, ...]]:
        """For each of a step's prompts the families that it, and what replaces it, may be drawn from."""
        return self._ladder.families(prompts)

    def draw(self, families: Sequence[str]) -> Task:
        """The next fresh task of `families`."""
        return self._supply.draw(families)

    def finish(self, step: int, groups: Iterable[Group]) -> Climb | None:
        """Tells the ladder of all groups that the step has sampled, whose tasks came from `draw`."""
        return self._move(step, [_result(group) for group in groups])

    def replay(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Walks through the recorded lines of one stage's steps, in their order, as if they were made just now."""
        for step, lines in itertools.groupby(rows, key=lambda row: int(row["step"])):
            by_task: dict[str, list[Mapping[str, Any]]] = {}
            for row in lines:
                by_task.setdefault(row["task"], []).append(row["score"])
            results = []
            for task_id, scores in by_task.items():
                task = self._skill.task_by_id(task_id)
                self._supply.take(task)
                measured = [score for score in scores if score["reward"] is not None]
                solved = sum(score["solved"] for score in measured)
                results.append(Result(family=task.family, solved=solved, measured=len(measured)))
            self._move(step, results)

    def _move(self, step: int, results: Sequence[Result]) -> Climb | None:
        climb = self._ladder.note(step, results)
        if climb:
            self._supply.count_anew()
        return climb


def first_tasks(recipe: Recipe, skill: Skill, count: int) -> list[Task]:
    """The first `count` tasks of a course."""
    course = Course(recipe, skill)
    return [course.draw(families) for families in course.families(count)]


def _result(group: Group) -> Result:
    measured = [sample.score for sample in group.samples if sample.score.reward is not None]
    return Result(family=group.task.family, solved=sum(score.solved for score in measured), measured=len(measured))
