"""The folder of a run: the one place that knows what its files are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run's folder and the paths in it. Every file is written whole or not at all, or is append-only JSON lines."""

    path: Path

    @property
    def recipe(self) -> Path:
        """The recipe as resolved: every default written out."""
        return self.path / "recipe.toml"

    @property
    def environment(self) -> Path:
        """Versions, machine, git state, prompt digest."""
        return self.path / "environment.json"

    @property
    def untrained_gate(self) -> Path:
        """The gate's verdict on the model before any training."""
        return self.path / "gate.untrained.json"

    @property
    def gate(self) -> Path:
        """The gate's verdict on the policy that GRPO would start from."""
        return self.path / "gate.json"

    @property
    def pilot(self) -> Path:
        """The pilot's verdict."""
        return self.path / "pilot.json"

    @property
    def terms(self) -> Path:
        """By stage: which terms of the objective act, with equation, value and reason."""
        return self.path / "terms.json"

    @property
    def rollouts(self) -> Path:
        """One line a completion: stage, step, task, sample, policy, completion, score."""
        return self.path / "rollouts.jsonl"

    @property
    def rescored(self) -> Path:
        """The rollouts whose completions were scored again later, with the new scores."""
        return self.path / "rescored.jsonl"

    @property
    def metrics(self) -> Path:
        """One line a training step, with its stage."""
        return self.path / "metrics.jsonl"

    @property
    def costs(self) -> Path:
        """One line a finished stage: seconds, tokens, samples, money."""
        return self.path / "costs.jsonl"

    @property
    def attempt(self) -> Path:
        """The stage that is at work; left behind by a kill, so that its time is not lost."""
        return self.path / ".attempt.json"

    @property
    def evals(self) -> Path:
        """One JSON file an evaluated policy: ``base``, ``warmup``, ``trained``, and ``comparison``."""
        return self.path / "eval"

    @property
    def warmup(self) -> Path:
        """What the warm-up saved: a PEFT adapter, or a whole model after full fine-tuning."""
        return self.path / "warmup"

    @property
    def adapter(self) -> Path:
        """What GRPO saved: a PEFT adapter, or a whole model after full fine-tuning."""
        return self.path / "adapter"

    @property
    def checkpoints(self) -> Path:
        """Where training resumes from after a kill; one folder a stage."""
        return self.path / "checkpoints"

    @property
    def report(self) -> Path:
        """The run as one HTML file."""
        return self.path / "report.html"
