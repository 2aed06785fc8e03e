"""The stages of a run, each a function that does its work once: what is finished is read back instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from climbable.core import records
from climbable.core.errors import StageSaysNo, Unavailable
from climbable.core.gate import Answer, Bar, GateVerdict, judge_gate
from climbable.core.progress import Progress
from climbable.core.run import RunFolder
from climbable.core.skill import Skill
from climbable.core.types import Task
from climbable.evaluate import Evaluation, compare, evaluate
from climbable.pipeline.costs import charged, finished
from climbable.policy import Policy, load_policy
from climbable.recipe import Recipe
from climbable.rollout import collect
from climbable.verify import Verifier


@dataclass(kw_only=True)
class Work:
    """What the stages share: recipe, skill, folder, and the verifier and policy that are open, each made when needed."""

    recipe: Recipe
    skill: Skill
    run: RunFolder
    progress: Progress
    interpreter: str | None = None
    _verifier: Verifier | None = field(default=None, init=False)
    _policy: tuple[str, Policy] | None = field(default=None, init=False)

    def __enter__(self) -> Work:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_policy()
        if self._verifier is not None:
            self._verifier.close()

    @property
    def verifier(self) -> Verifier:
        """The verifier, with the recipe's limits."""
        if self._verifier is None:
            limits = self.recipe.verify
            self._verifier = Verifier(
                self.skill,
                workers=limits.workers,
                wall_s=limits.wall_s,
                memory_mib=limits.memory_mib,
                interpreter=self.interpreter,
            )
        return self._verifier

    def policy(self, spec: str) -> Policy:
        """The policy `spec`, kept open until another is asked for; its prompt's digest goes into the records."""
        if self._policy is None or self._policy[0] != spec:
            self.close_policy()
            self._policy = (spec, open_policy(spec, self.recipe, self.skill))
            remember_digest(self.run, self._policy[1])
        return self._policy[1]

    def close_policy(self) -> None:
        """Frees the memory of the policy that is open."""
        if self._policy is not None:
            self._policy[1].close()
            self._policy = None


def open_policy(spec: str, recipe: Recipe, skill: Skill) -> Policy:
    """The policy `spec`, sampling as the recipe says."""
    return load_policy(spec, skill, sampling=recipe.sampling, device=recipe.model.device, dtype=recipe.model.dtype)


def remember_digest(run: RunFolder, policy: Policy) -> None:
    """Writes the digest of the rendered prompts into ``environment.json``, where the first policy leaves it open."""
    environment = records.read_json(run.environment) or {}
    if environment.get("prompt_digest") is None and policy.prompt_digest:
        records.write_json(run.environment, environment | {"prompt_digest": policy.prompt_digest})


def gate_tasks(skill: Skill, families: Sequence[str], count: int) -> list[Task]:
    """`count` validation tasks, taking turns over `families`: neither warm-up nor training has seen them."""
    return [skill.task(families[i % len(families)], "val", i // len(families)) for i in range(count)]


def measure_gate(
    recipe: Recipe,
    skill: Skill,
    policy: Policy,
    verifier: Verifier,
    *,
    stage: str,
    rollouts: Path | None = None,
    progress: Progress | None = None,
) -> tuple[GateVerdict, dict[str, Any]]:
    """The gate's verdict on `policy`, and the record that ``gate.json`` keeps of it and of what was asked."""
    families = recipe.families or skill.trained_families()
    groups = collect(
        gate_tasks(skill, families, recipe.gate.tasks),
        policy,
        verifier,
        samples=recipe.gate.samples,
        batch_size=recipe.sampling.batch_size,
        seed=recipe.seed,
        stage=stage,
        rollouts=rollouts,
        progress=progress,
    )
    bar = Bar(
        least_mean=recipe.gate.least_mean, most_mean=recipe.gate.most_mean, least_signal=recipe.gate.least_signal
    )
    verdict = judge_gate(groups, ceiling=skill.ceiling, bar=bar)
    asked = {
        "policy": policy.name,
        "fingerprint": policy.fingerprint,
        "prompt_digest": policy.prompt_digest,
        "temperature": recipe.sampling.temperature,
        "families": list(families),
        "tasks": recipe.gate.tasks,
        "samples": recipe.gate.samples,
    }
    return verdict, verdict.to_json() | asked


def gate(work: Work, spec: str, stage: str, file: Path) -> dict[str, Any]:
    """The gate's record on the policy `spec`, kept in `file`. Unmeasured is `Unavailable`, and is not kept."""
    if not (finished(work.run, stage) and file.exists()):
        with charged(work.run, work.recipe, stage):
            verdict, record = measure_gate(
                work.recipe,
                work.skill,
                work.policy(spec),
                work.verifier,
                stage=stage,
                rollouts=work.run.rollouts,
                progress=work.progress,
            )
            if verdict.answer is Answer.UNMEASURED:
                raise Unavailable("; ".join((*verdict.reasons, *verdict.advice)))
            records.write_json(file, record)
    record = records.read_json(file)
    work.progress.say(f"{stage}: {record['answer']}: {'; '.join(record['reasons'])}")
    return dict(record)


def evaluation(work: Work, spec: str, name: str) -> dict[str, Any]:
    """The figures of the policy `spec` on test tasks, kept in ``eval/NAME.json``."""
    stage, file = f"eval.{name}", work.run.evals / f"{name}.json"
    if not (finished(work.run, stage) and file.exists()):
        with charged(work.run, work.recipe, stage):
            figures: Evaluation = evaluate(
                work.recipe,
                work.skill,
                work.policy(spec),
                work.verifier,
                name=name,
                rollouts=work.run.rollouts,
                progress=work.progress,
            )
            records.write_json(file, figures.to_json())
    return dict(records.read_json(file))
