"""``climb run``: gate, evaluation, warm-up, gate again, pilot, GRPO, evaluation, report; stops where one says no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from climbable.core import records
from climbable.core.errors import StageSaysNo, Unavailable
from climbable.core.stats import Interval, Paired
from climbable.evaluate import Evaluation, Figures
from climbable.pipeline import stages
from climbable.pipeline.costs import begun, charge_killed, finished, seconds_by_stage
from climbable.pipeline.environment import gpus
from climbable.pipeline.plan import Stage, estimate
from climbable.pipeline.plan import stages as planned
from climbable.pipeline.stages import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What a run changed: pass@1 before and after, on families that were trained and on those that were held out."""

    before: Evaluation
    after: Evaluation
    tests: Mapping[str, Paired]
    report: Path | None
    adapter: Path

    def to_json(self) -> dict[str, Any]:
        """The figures that `sentence` names, and where things are."""
        return {
            "trained": self._part("trained", self.before.trained, self.after.trained),
            "held_out": self._part("held_out", self.before.held_out, self.after.held_out),
            "adapter": str(self.adapter),
            "report": str(self.report) if self.report else None,
        }

    def sentence(self) -> str:
        """One line for a person."""
        parts = [_change("trained families", self.before.trained, self.after.trained)]
        if self.after.held_out.tasks:
            parts.append(_change("held-out", self.before.held_out, self.after.held_out))
        where = f"adapter: {self.adapter}" + (f"  report: {self.report}" if self.report else "")
        return f"pass@1 {'; '.join(parts)}.  {where}"

    def _part(self, name: str, before: Figures, after: Figures) -> dict[str, Any] | None:
        if not after.tasks:
            return None
        test = self.tests.get(name)
        return {
            "before": before.pass_at_1.to_json(),
            "after": after.pass_at_1.to_json(),
            "reward": {"before": before.reward.to_json(), "after": after.reward.to_json()},
            "paired": test.to_json() if test else None,
        }


def run_recipe(work: Work) -> Learnt:
    """Walks through the stages that are not finished. Where one says no: `StageSaysNo`, after the report."""
    plan = planned(work.recipe, work.skill)
    gpu = bool(gpus()) and work.recipe.model.device != "cpu"
    _announce(work, plan, gpu)
    try:
        return _walk(work, plan, gpu)
    except StageSaysNo:
        write_report(work)
        raise


def _walk(work: Work, plan: list[Stage], gpu: bool) -> Learnt:
    recipe, run = work.recipe, work.run
    untrained = stages.gate(work, None, "gate.untrained", run.untrained_gate)
    _left(work, plan, gpu, "eval.base")
    before = stages.evaluation(work, None, "base")
    warm = finished(run, "warmup") or (untrained["answer"] == "no-go" and recipe.warmup.rows > 0)
    if warm:
        _left(work, plan, gpu, "warmup")
        stages.warmup(work)
        _left(work, plan, gpu, "gate")
        start = stages.gate(work, run.warmup, "gate", run.gate)
    else:
        plan = [stage for stage in plan if not stage.maybe]
        records.write_json(run.gate, untrained)
        start = untrained
    if start["answer"] != "go":
        raise StageSaysNo(
            f"the gate is closed: {'; '.join(start['reasons'])}. What may help: {'; '.join(start['advice'])}. "
            "Change the recipe, and run it with another --run DIR"
        )
    if warm:
        _left(work, plan, gpu, "eval.warmup")
        stages.evaluation(work, run.warmup, "warmup")
    _left(work, plan, gpu, "pilot")
    stages.pilot(work)
    _left(work, plan, gpu, "train")
    stages.grpo(work)
    _left(work, plan, gpu, "eval.trained")
    after = stages.evaluation(work, run.adapter, "trained")
    tests = stages.comparison(work, "base", "trained")
    return Learnt(before=before, after=after, tests=tests, report=write_report(work), adapter=run.adapter)


def write_report(work: Work) -> Path | None:
    """The report's path; ``None``, said aloud, where the parts that it is made with are not installed."""
    from climbable.report import write_report as write

    try:
        written: Path = write(work.run)
        return written
    except Unavailable as error:
        work.progress.say(f"no report: {error}")
        return None


def _announce(work: Work, plan: list[Stage], gpu: bool) -> None:
    charge_killed(work.run, work.recipe)
    done, part = seconds_by_stage(work.run), _begun(work, plan)
    expected = estimate(plan, done, part, gpu=gpu)
    how = "from what was measured so far" if done else "guessed for a small model; better after the first stage"
    work.progress.say(f"{work.recipe.name}: {minutes(sum(expected.values()))}, {how}")
    for number, stage in enumerate(plan, 1):
        took = f"done in {minutes(done[stage.name])}" if stage.name in done else minutes(expected[stage.name])
        if stage.name in part:
            took = f"{part[stage.name][0]:.0%} done; {took}"
        work.progress.say(f"  {number}. {stage.says}{', if the gate asks for it' if stage.maybe else ''} ({took})")


def _left(work: Work, plan: list[Stage], gpu: bool, following: str) -> None:
    """Says what comes and how long all of it will take, unless what comes is done already."""
    expected = estimate(plan, seconds_by_stage(work.run), _begun(work, plan), gpu=gpu)
    if following in expected:
        says = next(stage.says for stage in plan if stage.name == following)
        work.progress.say(f"{minutes(sum(expected.values()))} left; next: {says}")


def _begun(work: Work, plan: list[Stage]) -> dict[str, tuple[float, float]]:
    return begun(work.run, {stage.name: stage.samples for stage in plan})


def minutes(seconds: float) -> str:
    """``under a minute``, ``about 7 min``, ``about 2.5 h``."""
    if seconds < 45:
        return "under a minute"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def _change(what: str, before: Figures, after: Figures) -> str:
    return f"on {what} {_percent(before.pass_at_1)} → {_percent(after.pass_at_1)} (n = {after.pass_at_1.n} tasks)"


def _percent(share: Interval) -> str:
    return f"{share.estimate:.1%} [{share.low:.1%}, {share.high:.1%}]"
