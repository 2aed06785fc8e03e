"""The stages of a run, each a function that does its work once: what is finished is read back instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from climbable.core import records
from climbable.core.errors import StageSaysNo, Unavailable
from climbable.core.gate import Answer, GateVerdict, judge_gate
from climbable.core.progress import Progress
from climbable.core.run import RunFolder
from climbable.core.skill import Skill
from climbable.core.stats import Paired
from climbable.core.types import Task
from climbable.evaluate import Evaluation, compare, evaluate, summarise
from climbable.pipeline.costs import charged, finished
from climbable.policy import load_policy
from climbable.recipe import Recipe
from climbable.rollout import Policy, collect, recorded
from climbable.verify import Verifier


class LoadedPolicy(Policy, Protocol):
    """A policy that can say what it is, so that records of two different ones are never mixed."""

    @property
    def fingerprint(self) -> str:
        """Changes when a weight does."""

    @property
    def prompt_digest(self) -> str | None:
        """Of the token ids of rendered prompts; ``None`` where no tokenizer is at hand."""

    def close(self) -> None:
        """Frees its memory."""


@dataclass(kw_only=True)
class Work:
    """What the stages share: recipe, skill, folder, and the verifier and policy in use, each made when needed."""

    recipe: Recipe
    skill: Skill
    run: RunFolder
    progress: Progress
    interpreter: str | None = None
    _verifier: Verifier | None = field(default=None, init=False)
    _policy: tuple[Path | None, LoadedPolicy] | None = field(default=None, init=False)

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
                runner=self.recipe.verify.runner,
            )
        return self._verifier

    def policy(self, adapter: Path | None) -> LoadedPolicy:
        """The recipe's model, with `adapter` if there is one; kept open until another is asked for.

        Its prompt's digest goes into ``environment.json``, where the first policy finds it open.
        """
        if self._policy is None or self._policy[0] != adapter:
            self.close_policy()
            self._policy = (adapter, open_policy(self.recipe, self.skill, adapter=adapter))
            digest = self._policy[1].prompt_digest
            environment = records.read_json(self.run.environment) or {}
            if digest and environment.get("prompt_digest") is None:
                records.write_json(self.run.environment, environment | {"prompt_digest": digest})
        return self._policy[1]

    def close_policy(self) -> None:
        """Frees the memory of the policy that is open."""
        if self._policy is not None:
            self._policy[1].close()
            self._policy = None


def open_policy(recipe: Recipe, skill: Skill, *, adapter: Path | None = None, name: str | None = None) -> LoadedPolicy:
    """The recipe's model, or the policy `name` instead, sampling as the recipe says."""
    return load_policy(
        name or recipe.model.name,
        skill,
        temperature=recipe.sampling.temperature,
        top_p=recipe.sampling.top_p,
        max_new_tokens=recipe.sampling.max_new_tokens,
        device=recipe.model.device,
        dtype=recipe.model.dtype,
        cache=recipe.sampling.cache,
        adapter=adapter,
    )


def gate_tasks(skill: Skill, families: Sequence[str], count: int) -> list[Task]:
    """`count` validation tasks, taking turns over `families`: neither warm-up nor training has seen them."""
    return [skill.task(families[i % len(families)], "val", i // len(families)) for i in range(count)]


def measure_gate(
    recipe: Recipe,
    skill: Skill,
    policy: LoadedPolicy,
    verifier: Verifier,
    *,
    stage: str,
    rollouts: Path | None = None,
    progress: Progress | None = None,
) -> tuple[GateVerdict, dict[str, Any]]:
    """The gate's verdict on `policy`, and the record that ``gate.json`` keeps of it and of what was asked."""
    families = recipe.trained_families(skill)
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
    verdict = judge_gate(groups, ceiling=skill.ceiling, bar=recipe.gate)
    asked = {
        "name": policy.name,
        "policy": policy.fingerprint,
        "prompt_digest": policy.prompt_digest,
        "temperature": recipe.sampling.temperature,
        "families": list(families),
        "tasks": recipe.gate.tasks,
        "samples": recipe.gate.samples,
    }
    return verdict, verdict.to_json() | asked


def gate(work: Work, adapter: Path | None, stage: str, file: Path) -> dict[str, Any]:
    """The gate's record on the model with `adapter`, kept in `file`. Unmeasured is `Unavailable`, and not kept."""
    if not (finished(work.run, stage) and file.exists()):
        with charged(work.run, work.recipe, stage):
            verdict, record = measure_gate(
                work.recipe,
                work.skill,
                work.policy(adapter),
                work.verifier,
                stage=stage,
                rollouts=work.run.rollouts,
                progress=work.progress,
            )
            if verdict.answer is Answer.UNMEASURED:
                forget_unmeasured(work.run, stage)
                raise Unavailable("; ".join((*verdict.reasons, *verdict.advice)))
            records.write_json(file, record)
    record = records.read_json(file)
    work.progress.say(f"{stage}: {record['answer']}: {'; '.join(record['reasons'])}")
    return dict(record)


def warmup(work: Work) -> None:
    """Teaches by the recipe's supervised rows; leaves what it learnt in the run's ``warmup`` folder."""
    if not (finished(work.run, "warmup") and work.run.warmup.exists()):
        from climbable.train import warm_up

        work.close_policy()
        with charged(work.run, work.recipe, "warmup") as line:
            line["tokens"] = warm_up(work.recipe, work.skill, work.run, progress=work.progress).tokens


def pilot(work: Work) -> dict[str, Any]:
    """The pilot's record: a few GRPO steps, thrown away, must have moved something. `StageSaysNo` if they did not."""
    if not (finished(work.run, "pilot") and work.run.pilot.exists()):
        from climbable.train import run_pilot

        work.close_policy()
        with charged(work.run, work.recipe, "pilot"):
            run_pilot(work.recipe, work.skill, work.verifier, work.run, progress=work.progress)
    record = dict(records.read_json(work.run.pilot))
    work.progress.say(f"pilot: {record['answer']}: {'; '.join(record['reasons'])}")
    if record["answer"] != "go":
        raise StageSaysNo(
            f"the pilot learnt nothing: {'; '.join(record['reasons'])}. "
            "Change the recipe, and run it with another --run DIR"
        )
    return record


def grpo(work: Work, *, force: bool = False) -> None:
    """GRPO from the warm-up, or the bare model; goes on from the last checkpoint if there is one."""
    if not (finished(work.run, "train") and work.run.adapter.exists()):
        from climbable.train import train

        work.close_policy()
        with charged(work.run, work.recipe, "train") as line:
            line["forced"] = force
            train(
                work.recipe,
                work.skill,
                work.verifier,
                work.run,
                progress=work.progress,
                resume=True,
                force=force,
            )


def forget_unmeasured(run: RunFolder, stage: str) -> None:
    """Drops the recorded groups of `stage` that hold an unmeasured sample, so that a resumed run samples them anew."""
    rows = (row for row in records.read(run.rollouts) if row["stage"] == stage)
    lost = {row["task"] for row in rows if row["score"]["reward"] is None}
    records.rewrite(run.rollouts, lambda row: row["stage"] != stage or row["task"] not in lost)


def evaluation(work: Work, adapter: Path | None, name: str) -> Evaluation:
    """The figures of the model with `adapter` on test tasks, kept in ``eval/NAME.json``."""
    stage, file = f"eval.{name}", work.run.evals / f"{name}.json"
    if finished(work.run, stage) and file.exists():
        return recorded_evaluation(work, name)
    with charged(work.run, work.recipe, stage):
        figures = evaluate(
            work.recipe,
            work.skill,
            work.policy(adapter),
            work.verifier,
            name=name,
            rollouts=work.run.rollouts,
            progress=work.progress,
        )
        records.write_json(file, figures.to_json())
    return figures


def recorded_evaluation(work: Work, name: str) -> Evaluation:
    """The evaluation `name` from the run's records, without sampling."""
    groups = recorded(work.run.rollouts, work.skill, f"eval.{name}", work.recipe.evaluation.samples)
    return summarise(list(groups), work.skill, name)


def comparison(work: Work, first: str, second: str) -> dict[str, Paired]:
    """Paired tests of two recorded evaluations on the same tasks, kept in ``eval/comparison.json``."""
    tests = compare(recorded_evaluation(work, first), recorded_evaluation(work, second), work.skill.held_out_families())
    parts = {part: test.to_json() for part, test in tests.items()}
    records.write_json(work.run.evals / "comparison.json", {"first": first, "second": second, "parts": parts})
    return tests
