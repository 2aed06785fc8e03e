"""Run folders as the stages leave them, made without a model: its part is played by answers of a known quality."""

import hashlib
import shutil
from dataclasses import dataclass

import pytest

import toy
from climbable.core import records
from climbable.core.group import signal
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.core.types import Answer
from climbable.pipeline import Work, stages
from climbable.pipeline.environment import describe
from climbable.recipe import Evaluation, GateSettings, Recipe, Warmup, dump_recipe
from climbable.rollout import collect, record
from climbable.train.accounts import signal_by_kind

PILOT = {"answer": "go", "reasons": ["the policy moved"], "steps": 2, "largest_grad_norm": 0.5, "changed_weights": 1.0}

TERMS = {
    "train": [
        {"name": "KL", "active": False, "equation": "+ β·KL", "value": "β 0", "why": "β is 0, so no reference is made"}
    ]
}


@dataclass
class Pupil:
    """Answers as the teacher does in `solved` of the cases, fails in `crashed`, and is half right otherwise."""

    name: str
    solved: float
    crashed: float
    answers: tuple[str, ...] = ("ash nothing",)
    fingerprint: str = "pupil"
    prompt_digest: str | None = "sha256:" + "0" * 64

    def sample(self, tasks, *, samples, seed):
        return [[self._answer(task, number) for number in range(samples)] for task in tasks]

    def _answer(self, task, number):
        place = int.from_bytes(hashlib.sha256(f"{self.name}/{task.id}/{number}".encode()).digest()[:4], "big")
        chance = place / 2**32
        if chance < self.solved:
            text = self.skill.teach(task, number)
        elif chance > 1 - self.crashed:
            text = self.skill.crash
        else:
            text = self.answers[place % len(self.answers)]
        return Answer(text=text, tokens=20 + place % 90, truncated=False)

    def close(self):
        pass


def make_run(path, recipe, skill=toy.SKILL, answers=("ash nothing",), steps=20):
    """A finished run of `recipe` in the folder `path`."""
    run = RunFolder(path)
    records.write_json(run.environment, describe())
    records.write_whole(run.recipe, dump_recipe(recipe))
    with Work(recipe=recipe, skill=skill, run=run, progress=Silent()) as work:

        def play(adapter, solved, crashed):
            pupil = Pupil(str(adapter), solved, crashed, answers)
            pupil.skill = skill
            work._policy = (adapter, pupil)
            return pupil

        play(None, 0.02, 0.7)
        stages.gate(work, None, "gate.untrained", run.untrained_gate)
        stages.evaluation(work, None, "base")
        run.warmup.mkdir()
        with stages.charged(run, recipe, "warmup") as line:
            line["tokens"] = 4000
            losses = [{"stage": "warmup", "step": step, "loss": 3 / step} for step in range(1, 13)]
            records.append(run.metrics, losses)
        play(run.warmup, 0.3, 0.2)
        stages.gate(work, run.warmup, "gate", run.gate)
        stages.evaluation(work, run.warmup, "warmup")
        records.write_json(run.pilot, PILOT)
        records.write_json(run.terms, TERMS)
        with stages.charged(run, recipe, "train"):
            for step in range(1, steps + 1):
                pupil = play(run.warmup, 0.3 + 0.65 * step / steps, 0.2 * (1 - step / steps))
                pupil.name = f"step {step}"
                families = recipe.families or skill.trained_families()
                tasks = [skill.task(families[i % 2], "train", step * 8 + i) for i in range(8)]
                groups = collect(tasks, pupil, work.verifier, samples=4, batch_size=32, seed=0, stage="train")
                rows = [row for group in groups for row in record(group, stage="train", step=step, policy="pupil")]
                records.append(run.rollouts, rows)
                row = {
                    "stage": "train",
                    "step": step,
                    "signal": signal([group.rewards for group in groups], ceiling=skill.ceiling).to_json(),
                    "kinds": signal_by_kind(groups, skill),
                    "grad_norm": 0.5 + 0.3 / step,
                    "seconds": {"total": 2.5 + step % 3 / 5},
                }
                records.append(run.metrics, [row])
        run.adapter.mkdir()
        play(run.adapter, 0.85, 0.03)
        stages.evaluation(work, run.adapter, "trained")
        stages.comparison(work, "base", "trained")
    return run


RECIPE = Recipe(
    name="toy-run",
    skill="toy:SKILL",
    gate=GateSettings(tasks=8, samples=4),
    warmup=Warmup(rows=4),
    evaluation=Evaluation(tasks=12, samples=2),
)


@pytest.fixture(scope="session")
def pattern(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("pattern") / "run", RECIPE)


@pytest.fixture
def finished_run(pattern, tmp_path):
    shutil.copytree(pattern.path, tmp_path / "run")
    return RunFolder(tmp_path / "run")
