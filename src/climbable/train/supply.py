"""Which task comes next: a fresh one of the train split, families and sub-kinds in turn instead of by chance.

What is never drawn is never learnt, and a step of 32 prompts drawn by chance often lacks one of ten sub-kinds. The next
task is a function of the tasks that were handed out before, so that a resumed run finds its place in its records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from climbable.core.skill import Skill
from climbable.core.types import Task
from climbable.recipe import Recipe
from climbable.rollout import seed_of

LOOK = 256
"""So many tasks of a family show which sub-kinds it has; one that is rarer is not asked for by name."""

FAR = 4096
"""So many tasks are looked through for the next one of a sub-kind, before the next sub-kind has its turn."""


def behind_warmup(recipe: Recipe) -> int:
    """The first index that GRPO takes of each family: the warm-up chooses its rows from those before."""
    return max(64, 4 * recipe.warmup.rows)


class Supply:
    """Hands out each task once: of the family, and of its sub-kind, of which the fewest were handed out so far.

    Where several are equal, an order that is a hash of the seed decides.
    """

    def __init__(self, skill: Skill, *, first: int, seed: int) -> None:
        self._skill = skill
        self._first = first
        self._seed = seed
        self._kinds: dict[str, list[str]] = {}
        self._kind_at: dict[tuple[str, int], str] = {}
        self._next: dict[str, int] = {}
        self._of_family: Counter[str] = Counter()
        self._of_kind: Counter[str] = Counter()

    def draw(self, families: Sequence[str]) -> Task:
        """The next task out of `families`. A held-out family is a `UserError`: it has no train split."""
        family = min(families, key=lambda name: (self._of_family[name], seed_of(self._seed, "supply", name)))
        task = self._fresh(family)
        self.take(task)
        return task

    def take(self, task: Task) -> None:
        """Counts `task` as handed out; so does a resumed run with each that its records hold."""
        kind = self._kind(task.family, task.index)
        self._of_family[task.family] += 1
        self._of_kind[kind] += 1
        self._next[kind] = max(self._next.get(kind, 0), task.index + 1)

    def count_anew(self) -> None:
        """Lets families that join later take turns with the others from now on, instead of catching up first."""
        self._of_family.clear()

    def _fresh(self, family: str) -> Task:
        for kind in sorted(self._kinds_of(family), key=self._turn):
            start = self._next.get(kind, self._first)
            for index in range(start, start + FAR):
                if self._kind(family, index) == kind:
                    return self._skill.task(family, "train", index)
        raise AssertionError("a sub-kind that was seen has no other task")

    def _turn(self, kind: str) -> tuple[int, int]:
        return self._of_kind[kind], seed_of(self._seed, "supply", kind)

    def _kinds_of(self, family: str) -> list[str]:
        if family not in self._kinds:
            kinds = (self._kind(family, self._first + place) for place in range(LOOK))
            self._kinds[family] = list(dict.fromkeys(kinds))
        return self._kinds[family]

    def _kind(self, family: str, index: int) -> str:
        """The sub-kind, with its family, since two families may call theirs alike."""
        where = (family, index)
        if where not in self._kind_at:
            self._kind_at[where] = f"{family}: {self._skill.subkind(self._skill.task(family, 'train', index))}"
        return self._kind_at[where]
