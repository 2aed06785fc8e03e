"""A frozen policy on test tasks: figures with intervals by family, and paired comparisons on the same tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from climbable.core.group import Group, Sample, Signal, signal
from climbable.core.progress import Progress
from climbable.core.skill import Skill
from climbable.core.stats import Interval, Paired, bootstrap_mean, clustered_share, paired, pass_at_k, wilson
from climbable.core.types import Outcome, Task
from climbable.recipe import Recipe
from climbable.rollout import Policy, collect
from climbable.verify import Verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a policy does on some tasks. Unmeasured samples are counted and otherwise left out."""

    tasks: int
    samples: int
    unmeasured: int
    reward: Interval
    pass_at_1: Interval
    pass_at: Mapping[int, float]
    """k → the mean over tasks of the unbiased pass@k, for k = 1, 2, 4 … up to the samples a task."""
    crashed: Interval
    """Share of samples with the outcome `failed`."""
    truncated: float
    signal: Signal
    failed_checks: Mapping[str, int]
    """Kind of check, such as ``position`` → how often it failed in scored samples."""
    failures: Mapping[str, int]
    """Reason and detail → how many samples failed so."""

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "tasks": self.tasks,
            "samples": self.samples,
            "unmeasured": self.unmeasured,
            "reward": self.reward.to_json(),
            "pass_at_1": self.pass_at_1.to_json(),
            "pass_at": {str(k): value for k, value in self.pass_at.items()},
            "crashed": self.crashed.to_json(),
            "truncated": self.truncated,
            "signal": self.signal.to_json(),
            "failed_checks": dict(self.failed_checks),
            "failures": dict(self.failures),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A policy's figures by family and sub-kind, and over all trained and all held-out families."""

    policy: str
    trained: Figures
    held_out: Figures
    families: Mapping[str, Figures]
    subkinds: Mapping[str, Figures]
    per_task: Mapping[str, float]
    """Task id → share of its measured samples that are solved; what a paired comparison needs."""

    def to_json(self) -> dict[str, Any]:
        """All of it, for ``eval/NAME.json``."""
        return {
            "policy": self.policy,
            "trained": self.trained.to_json(),
            "held_out": self.held_out.to_json(),
            "families": {name: figures.to_json() for name, figures in self.families.items()},
            "subkinds": {name: figures.to_json() for name, figures in self.subkinds.items()},
            "per_task": dict(self.per_task),
        }


def evaluate(
    recipe: Recipe,
    skill: Skill,
    policy: Policy,
    verifier: Verifier,
    *,
    name: str,
    rollouts: Path | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Samples the recipe's number of test tasks of every family, trained and held out, and sums them up.

    The tasks and their order depend on the recipe alone, so that two policies meet the same ones.
    """
    groups = collect(
        evaluation_tasks(recipe, skill),
        policy,
        verifier,
        samples=recipe.evaluation.samples,
        batch_size=recipe.sampling.batch_size,
        seed=recipe.seed,
        stage=f"eval.{name}",
        rollouts=rollouts,
        progress=progress,
    )
    return summarise(groups, skill, policy.name)


def evaluation_tasks(recipe: Recipe, skill: Skill) -> list[Task]:
    """The first tasks of the test split of every family that is trained here, rungs too, then of those held out."""
    return [
        skill.task(family, "test", index)
        for family in (*recipe.all_trained_families(skill), *skill.held_out_families())
        for index in range(recipe.evaluation.tasks)
    ]


def summarise(groups: Sequence[Group], skill: Skill, policy: str) -> Evaluation:
    """The figures of groups that are already scored."""
    held_out = set(skill.held_out_families())
    families: dict[str, list[Group]] = {}
    subkinds: dict[str, list[Group]] = {}
    for group in groups:
        families.setdefault(group.task.family, []).append(group)
        subkinds.setdefault(skill.subkind(group.task), []).append(group)
    return Evaluation(
        policy=policy,
        trained=figures([group for group in groups if group.task.family not in held_out], skill.ceiling),
        held_out=figures([group for group in groups if group.task.family in held_out], skill.ceiling),
        families={name: figures(members, skill.ceiling) for name, members in families.items()},
        subkinds={name: figures(members, skill.ceiling) for name, members in sorted(subkinds.items())},
        per_task={group.task.id: passes / n for group in groups for passes, n in [_passes(group)] if n},
    )


def figures(groups: Sequence[Group], ceiling: float) -> Figures:
    """Sums up groups; tasks are the independent units of every interval."""
    samples = [sample for group in groups for sample in group.samples]
    measured = [sample for sample in samples if sample.score.reward is not None]
    failed = [sample for sample in measured if sample.score.outcome is Outcome.FAILED]
    passes = [(c, n) for c, n in map(_passes, groups) if n]
    most = min((n for _, n in passes), default=0)
    return Figures(
        tasks=len(groups),
        samples=len(samples),
        unmeasured=len(samples) - len(measured),
        reward=bootstrap_mean(
            [sample.score.reward for sample in measured if sample.score.reward is not None],
            clusters=[sample.task.id for sample in measured],
        ),
        pass_at_1=clustered_share(passes),
        pass_at={k: sum(pass_at_k(n, c, k) for c, n in passes) / len(passes) for k in _powers_of_two(most)},
        crashed=wilson(len(failed), len(measured)),
        truncated=sum(sample.truncated for sample in samples) / len(samples) if samples else 0.0,
        signal=signal([group.rewards for group in groups], ceiling=ceiling),
        failed_checks=_failed_checks(measured),
        failures=dict(Counter(sample.score.fault for sample in failed).most_common()),
    )


def compare(first: Evaluation, second: Evaluation, held_out: Sequence[str] = ()) -> dict[str, Paired]:
    """Paired tests of the share solved, on the tasks that both have: ``trained``, ``held_out`` and every family."""
    common = [task for task in first.per_task if task in second.per_task]
    parts: dict[str, list[str]] = {"trained": [], "held_out": []}
    for task in common:
        family = task.split("/")[1]
        parts["held_out" if family in held_out else "trained"].append(task)
        parts.setdefault(family, []).append(task)
    return {
        part: paired([first.per_task[task] for task in tasks], [second.per_task[task] for task in tasks])
        for part, tasks in parts.items()
    }


def _passes(group: Group) -> tuple[int, int]:
    measured = [sample for sample in group.samples if sample.score.reward is not None]
    return sum(sample.score.solved for sample in measured), len(measured)


def _powers_of_two(most: int) -> list[int]:
    return [1 << i for i in range(most.bit_length())] if most else []


def _failed_checks(samples: Sequence[Sample]) -> dict[str, int]:
    """How often each kind of check failed; the kind is what follows the last dot of its name."""
    kinds = Counter(
        check.name.rpartition(".")[2] for sample in samples for check in sample.score.checks if not check.passed
    )
    return dict(kinds.most_common())
