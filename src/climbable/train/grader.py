"""Verifies a step's completions, records each finished group, and is the reward function that TRL calls."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from climbable.core import records
from climbable.core.errors import Unavailable
from climbable.core.group import Group, Sample, has_signal, signal
from climbable.core.skill import Skill
from climbable.core.types import Outcome, Score, Task
from climbable.rollout import record
from climbable.train.accounts import signal_by_kind
from climbable.verify import Verifier

MOST_BLIND_STEPS = 3
"""So many steps in a row without one measured sample end the run: nothing is learnt, and the machine needs a look."""

EXACT = 2.0**-16
"""A multiple of this is exact in single precision, and so is a sum of 128 of them, as long as rewards stay below 2."""


class Grader:
    """Rewards for one stage's steps, and the figures of the latest one."""

    def __init__(
        self,
        skill: Skill,
        verifier: Verifier,
        tokenizer: Any,
        ends: Sequence[int],
        group: int,
        rollouts: Path,
        stage: str,
    ) -> None:
        self.figures: dict[str, Any] = {}
        """Of the latest step, for the metrics."""
        self._skill = skill
        self._verifier = verifier
        self._tokenizer = tokenizer
        self._ends = set(ends)
        self._group = group
        self._rollouts = rollouts
        self._stage = stage
        self._seconds: dict[str, float] = {}
        self._early: dict[int, tuple[str, str, Future[Score]]] = {}
        self._kept: list[Group] = []
        self._blind_steps = 0

    @contextlib.contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Adds the time of a block to the step's seconds for `part`."""
        started = time.monotonic()
        yield
        self._seconds[part] = self._seconds.get(part, 0.0) + time.monotonic() - started

    def take_seconds(self) -> dict[str, float]:
        """The seconds since the last call, by part."""
        seconds, self._seconds = self._seconds, {}
        return seconds

    def start(self, place: int, task: Task, ids: Sequence[int]) -> None:
        """Begins to verify the completion at `place` of a round, before the whole round is sampled."""
        text = self._text(ids)
        self._early[place] = (task.id, text, self._verifier.submit(task, text))

    def grade(self, tasks: Sequence[Task], completion_ids: Sequence[Sequence[int]]) -> list[Group]:
        """One scored group for each of `tasks`, from the completions of all of them, group after group."""
        texts = [self._text(ids) for ids in completion_ids]
        futures = [self._future(place, tasks[place // self._group], text) for place, text in enumerate(texts)]
        self._early.clear()
        scores = [future.result() for future in futures]
        groups = []
        for number, task in enumerate(tasks):
            places = range(number * self._group, (number + 1) * self._group)
            samples = tuple(
                Sample(
                    task=task,
                    sample=place - places.start,
                    completion=texts[place],
                    tokens=len(completion_ids[place]),
                    truncated=not completion_ids[place] or completion_ids[place][-1] not in self._ends,
                    score=scores[place],
                )
                for place in places
            )
            groups.append(Group(task=task, samples=samples))
        return groups

    def finish_step(self, step: int, kept: Sequence[Group], replaced: Sequence[Group] = ()) -> None:
        """Records all groups of a step by one append, and sums them up in `figures`.

        `replaced` groups were sampled, but are not in the update; they are marked, and count in every figure, which so
        stays one of what the policy does and not of what was picked.
        """
        with self.timed("reward"):
            lines = [
                row | mark
                for groups, mark in ((replaced, {"replaced": True}), (kept, {}))
                for group in groups
                for row in record(group, stage=self._stage, step=step, policy=self._stage)
            ]
            records.append(self._rollouts, lines)
        self._kept = list(kept)
        self._note([*replaced, *kept])

    def rewards(self, completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float | None]:
        """TRL's reward function: one reward a completion of the step's kept groups, in order; ``None`` where unmeasured.

        A group whose rewards differ only by rounding gets one value throughout: TRL would divide by the tiny spread.
        """
        lengths = [sample.tokens for group in self._kept for sample in group.samples]
        assert lengths == [len(ids) for ids in completion_ids], "rewards belong to the completions they were given for"
        return [reward for group in self._kept for reward in _levelled(group.rewards)]

    def _future(self, place: int, task: Task, text: str) -> Future[Score]:
        """What `start` began for this very completion; else it begins now."""
        early = self._early.get(place)
        return early[2] if early and early[:2] == (task.id, text) else self._verifier.submit(task, text)

    def _text(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def _note(self, groups: Sequence[Group]) -> None:
        samples = [sample for group in groups for sample in group.samples]
        measured = [sample.score for sample in samples if sample.score.reward is not None]
        self._blind_steps = 0 if measured else self._blind_steps + 1
        if self._blind_steps >= MOST_BLIND_STEPS:
            raise Unavailable(
                f"nothing could be measured in {MOST_BLIND_STEPS} steps in a row ({samples[0].score.detail}): see "
                "`climb doctor`, then go on with --resume"
            )
        counts = signal([group.rewards for group in groups], ceiling=self._skill.ceiling)
        many = max(1, len(measured))
        self.figures = {
            "reward": sum(score.reward or 0.0 for score in measured) / many if measured else None,
            "pass_at_1": sum(score.solved for score in measured) / many,
            "signal": counts.to_json(),
            "kinds": signal_by_kind(groups, self._skill),
            "crashed": sum(score.outcome is Outcome.FAILED for score in measured) / many,
            "unmeasured": len(samples) - len(measured),
            "samples": len(samples),
            "tokens": sum(sample.tokens for sample in samples),
            "truncated": sum(sample.truncated for sample in samples) / len(samples),
        }


def _levelled(rewards: Sequence[float | None]) -> list[float | None]:
    measured = [reward for reward in rewards if reward is not None]
    if not measured or has_signal(rewards):
        return list(rewards)
    # In single precision the mean of eight times 0.1 is not 0.1, and Adam makes full steps of any rest, however small.
    mean = round(sum(measured) / len(measured) / EXACT) * EXACT
    return [None if reward is None else mean for reward in rewards]
