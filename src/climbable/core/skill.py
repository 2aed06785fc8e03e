"""What a skill is: data and functions that know tasks, teaching and judging, and nothing of processes or models.

A third party adds a skill by an entry point of the group ``climbable.skills`` that names a `Skill` value, or tries one
in place as ``package.module:ATTRIBUTE`` wherever the command line takes a skill's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from climbable.core.errors import UserError, nearest
from climbable.core.types import Judgement, Reason, Task

SPLITS = ("train", "val", "test")
"""Tasks of one (skill, family, split, index) are disjoint from those of every other split, by construction."""


class CompletionFault(Exception):
    """Raised by `Skill.read` or `Skill.judge` when the completion is at fault; it becomes a `failed` score, never an error."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A kind of task in a skill."""

    name: str
    summary: str
    held_out: bool = False
    """A held-out family is only evaluated: it has no ``train`` split."""
    ladder: bool = False
    """A ladder family is trained only where a recipe names it."""
    levels: int = 1
    """How many levels of difficulty it has. The second is written ``NAME@2``, the first is the name alone."""

    def written(self) -> tuple[str, ...]:
        """Its name at each level, easiest first."""
        return (self.name, *(f"{self.name}@{level}" for level in range(2, self.levels + 1)))


def split_level(written: str) -> tuple[str, int]:
    """``("many", 2)`` of ``many@2``, ``("many", 1)`` of ``many``; 0 stands for what is no level."""
    name, at, level = written.partition("@")
    if not at:
        return name, 1
    return name, int(level) if level.isascii() and level.isdigit() and len(level) < 4 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A completion with a known right to be paid: a cheat (that must not pay) or an honest oddity (that must)."""

    name: str
    why: str
    task: Task
    completion: str
    most: float
    """The highest reward that the verifier may give. For an honest control it is the skill's ceiling, and due in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """Everything Climbable needs to teach, measure and attack one skill."""

    name: str
    summary: str
    runtime: Literal["blender", "none"]
    """``blender``: `read` gives a script, which runs in the sandbox, and `judge` sees the measurement.
    ``none``: `judge` sees what `read` gave."""
    families: tuple[Family, ...]
    system_prompt: str
    floor: float
    ceiling: float
    make_task: Callable[[str, str, int], Task]
    """(family, split, index) → the task; called through `Skill.task`, which checks its arguments. The family may be
    written with a level, such as ``many@2``."""
    teach: Callable[[Task, int], str]
    """(task, style) → a completion that earns `ceiling`; every integer style is allowed and wraps around."""
    read: Callable[[str], str]
    """completion → what the runtime is given, or `CompletionFault`."""
    judge: Callable[[Task, Any], Judgement]
    """(task, measured artefact) → checks and reward parts, or `CompletionFault`. Raises nothing else for any artefact."""
    subkind: Callable[[Task], str] = lambda task: task.family
    """A finer kind than the family, such as ``next_to/+x/sphere``: warm-up rows are balanced over it."""
    scripted: Mapping[str, Callable[[Task, int], str]] = field(default_factory=dict)
    """Further ``scripted:NAME`` policies beside gold, empty, crash and mixed: (task, sample) → completion."""
    crash: str = "raise RuntimeError('crashed on purpose')"
    """What ``scripted:crash`` answers: a completion that fails."""
    attacks: Callable[[], tuple[Attack, ...]] = tuple
    honest: Callable[[], tuple[Attack, ...]] = tuple

    def to_json(self) -> dict[str, Any]:
        """What people and programs may know of it."""
        return {
            "name": self.name,
            "summary": self.summary,
            "runtime": self.runtime,
            "reward": [self.floor, self.ceiling],
            "families": [
                {
                    "name": family.name,
                    "summary": family.summary,
                    "held_out": family.held_out,
                    "ladder": family.ladder,
                    "levels": family.levels,
                }
                for family in self.families
            ],
        }

    def family(self, written: str) -> Family:
        """The family of a name, with or without a level; a `UserError` names the nearest otherwise."""
        name, level = split_level(written)
        for family in self.families:
            if family.name == name:
                if written not in family.written():
                    raise UserError(_no_level(family, written, level))
                return family
        raise UserError(
            f"skill {self.name!r} has no family {name!r}: {nearest(name, (f.name for f in self.families))} (`climb skills`)"
        )

    def trained_families(self) -> tuple[str, ...]:
        """The names of the families that are trained unless a recipe says otherwise."""
        return tuple(family.name for family in self.families if not family.held_out and not family.ladder)

    def ladder_families(self) -> tuple[str, ...]:
        """The ladder families, at each of their levels."""
        return tuple(written for family in self.families if family.ladder for written in family.written())

    def held_out_families(self) -> tuple[str, ...]:
        """The names of the families that are only evaluated, at each of their levels."""
        return tuple(written for family in self.families if family.held_out for written in family.written())

    def task(self, family: str, split: str, index: int) -> Task:
        """The task at (family, split, index), the family with a level or without.

        An unknown name or level, or a held-out family's train split, is a `UserError`.
        """
        known = self.family(family)
        if split not in SPLITS:
            raise UserError(f"there is no split {split!r}: {nearest(split, SPLITS)}")
        if known.held_out and split == "train":
            raise UserError(
                f"family {family!r} of skill {self.name!r} is held out: it has no split 'train', only val and test"
            )
        if index < 0:
            raise UserError(f"a task's index is 0 or more, not {index}")
        return self.make_task(family, split, index)

    def task_by_id(self, task_id: str) -> Task:
        """The task whose id is ``skill/family/split/index``."""
        parts = task_id.split("/")
        if len(parts) != 4 or not parts[3].isascii() or not parts[3].isdigit() or len(parts[3]) > 15:
            raise UserError(
                f"{task_id!r} is no task id: one looks like {self.name}/{self.families[0].name}/test/17 "
                f"(`climb tasks {self.name}`)"
            )
        if parts[0] != self.name:
            raise UserError(
                f"task {task_id!r} belongs to skill {parts[0]!r}, not {self.name!r}: `climb verify {parts[0]} …`"
            )
        return self.task(parts[1], parts[2], int(parts[3]))


def _no_level(family: Family, written: str, level: int) -> str:
    if level == 1:
        return f"the first level of a family is its name alone: write {family.name!r} instead of {written!r}"
    if family.levels == 1:
        return f"family {family.name!r} has no levels: write {family.name!r} instead of {written!r}"
    return f"{written!r} is no level of family {family.name!r}: {', '.join(family.written())}"
