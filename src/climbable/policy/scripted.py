"""Policies that need no model: they read the task itself, and so can answer right, wrong or in any mixture."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from climbable.core.errors import UserError, nearest
from climbable.core.skill import Skill
from climbable.core.types import Answer, Task

Script = Callable[[Task, int], str]


class ScriptedPolicy:
    """``scripted:NAME``: ``gold``, ``empty``, ``crash``, ``mixed``, and what the skill adds."""

    prompt_digest: str | None = None

    def __init__(self, name: str, skill: Skill) -> None:
        scripts = _scripts(skill)
        script = name.removeprefix("scripted:")
        if script not in scripts:
            raise UserError(f"there is no scripted policy {script!r}: {nearest(script, scripts)}")
        self.name = name
        self.fingerprint = name
        self._script = scripts[script]

    def sample(self, tasks: Sequence[Task], *, samples: int, seed: int) -> list[list[Answer]]:
        """`samples` answers for each of `tasks`. The same whatever the seed."""
        return [[_answer(self._script(task, number)) for number in range(samples)] for task in tasks]

    def close(self) -> None:
        """Nothing to release."""


def _scripts(skill: Skill) -> Mapping[str, Script]:
    own: dict[str, Script] = {
        "gold": lambda task, number: skill.teach(task, 0),
        "empty": lambda task, number: "",
        "crash": lambda task, number: skill.crash,
    }
    parts = [*own.values(), *skill.scripted.values()]
    parts[0] = skill.teach  # in the mixture, in every style

    def mixed(task: Task, number: int) -> str:
        place = hashlib.sha256(f"{task.id}/{number}".encode()).digest()
        return parts[place[0] % len(parts)](task, number)

    return {**own, "mixed": mixed, **skill.scripted}


def _answer(text: str) -> Answer:
    return Answer(text=text, tokens=len(text.split()), truncated=False)
