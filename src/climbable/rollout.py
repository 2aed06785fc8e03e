"""Tasks × policy × verifier → groups, each written as it finishes.

The policy samples a batch while the sandbox still verifies the one before. A group is recorded by one append once all
its samples are scored, so that a reader never meets half a group; a run that is resumed keeps the groups it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

from climbable.core import records
from climbable.core.group import Group, Sample
from climbable.core.progress import Progress, Silent
from climbable.core.skill import Skill
from climbable.core.types import Answer, Score, Task
from climbable.verify import Verifier


class Policy(Protocol):
    """What answers: a script, a model, a server."""

    @property
    def name(self) -> str:
        """What a record calls it."""

    def sample(self, tasks: Sequence[Task], *, samples: int, seed: int) -> list[list[Answer]]:
        """`samples` answers for each of `tasks`, in their order."""


Scoring = tuple[Task, list[Answer], list[Future[Score]]]


def collect(
    tasks: Sequence[Task],
    policy: Policy,
    verifier: Verifier,
    *,
    samples: int,
    batch_size: int,
    seed: int,
    stage: str,
    rollouts: Path | None = None,
    progress: Progress | None = None,
) -> list[Group]:
    """One group of `samples` completions for each task, in the order of `tasks`.

    `batch_size` counts completions. With `rollouts`, groups are appended there under `stage`, and those that it already
    holds whole are taken from it instead of being sampled again.
    """
    progress = progress or Silent()
    groups = {group.task.id: group for group in recorded(rollouts, verifier.skill, stage, samples)} if rollouts else {}
    progress.start(stage, len(tasks) * samples, "samples")
    progress.advance(samples * sum(task.id in groups for task in tasks))
    todo = [task for task in tasks if task.id not in groups]
    scoring: list[Scoring] = []
    for batch in _batches(todo, max(1, batch_size // samples)):
        batch_seed = seed_of(seed, stage, batch[0].id)
        for task, answers in zip(batch, policy.sample(batch, samples=samples, seed=batch_seed), strict=True):
            scoring.append((task, answers, [verifier.submit(task, answer.text) for answer in answers]))
        done = [item for item in scoring if all(future.done() for future in item[2])]
        scoring = [item for item in scoring if item not in done]
        groups |= _finish(done, policy.name, stage, rollouts, progress)
    for item in scoring:
        groups |= _finish([item], policy.name, stage, rollouts, progress)
    progress.finish()
    return [groups[task.id] for task in tasks]


def record(group: Group, *, stage: str, step: int | None, policy: str) -> list[dict[str, Any]]:
    """The lines of ``rollouts.jsonl`` for one group; `climb verify --rows` reads them as they are."""
    return [
        {
            "stage": stage,
            "step": step,
            "task": group.task.id,
            "sample": sample.sample,
            "policy": policy,
            "completion": sample.completion,
            "tokens": sample.tokens,
            "truncated": sample.truncated,
            "score": sample.score.to_json(),
        }
        for sample in group.samples
    ]


def recorded(rollouts: Path, skill: Skill, stage: str, samples: int) -> Iterator[Group]:
    """The whole groups of `stage` that `rollouts` holds; a missing file holds none."""
    rows: dict[str, dict[int, Mapping[str, Any]]] = {}
    for row in records.read(rollouts):
        if row["stage"] == stage:
            rows.setdefault(row["task"], {})[row["sample"]] = row
    for task_id, by_sample in rows.items():
        if len(by_sample) == samples:
            task = skill.task_by_id(task_id)
            yield Group(task=task, samples=tuple(_sample(task, by_sample[i]) for i in sorted(by_sample)))


def seed_of(seed: int, *where: str | int) -> int:
    """A seed that is a hash of `seed` and its place, so that neighbouring places share nothing."""
    text = "/".join(str(part) for part in (seed, *where))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _finish(
    items: Iterable[Scoring], policy: str, stage: str, rollouts: Path | None, progress: Progress
) -> dict[str, Group]:
    groups = {}
    for task, answers, futures in items:
        samples = tuple(
            Sample(
                task=task,
                sample=number,
                completion=answer.text,
                tokens=answer.tokens,
                truncated=answer.truncated,
                score=future.result(),
            )
            for number, (answer, future) in enumerate(zip(answers, futures, strict=True))
        )
        group = Group(task=task, samples=samples)
        if rollouts is not None:
            records.append(rollouts, record(group, stage=stage, step=None, policy=policy))
        rewards = [sample.score.reward for sample in samples if sample.score.reward is not None]
        progress.advance(len(samples), **({"reward": sum(rewards) / len(rewards)} if rewards else {}))
        groups[task.id] = group
    return groups


def _sample(task: Task, row: Mapping[str, Any]) -> Sample:
    return Sample(
        task=task,
        sample=row["sample"],
        completion=row["completion"],
        tokens=row["tokens"],
        truncated=row["truncated"],
        score=Score.from_json(row["score"]),
    )


def _batches(tasks: Sequence[Task], size: int) -> Iterator[Sequence[Task]]:
    for start in range(0, len(tasks), size):
        yield tasks[start : start + size]
