"""The pilot: a few GRPO steps that must show life before a night is spent. Its weights are thrown away.

Three things must have moved: the gradient, the trained weights, and what the sampler makes of fixed sequences. Where
one did not, the verdict names the cause (see `climbable.train.cause`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from climbable.core import records
from climbable.core.group import signal
from climbable.core.progress import Progress
from climbable.core.run import RunFolder
from climbable.core.skill import Skill
from climbable.policy.model import prompt_ids
from climbable.recipe import Recipe
from climbable.rollout import recorded
from climbable.train.cause import Evidence, find_cause
from climbable.train.course import first_tasks
from climbable.train.grpo import optimise
from climbable.train.learner import Learner, load_learner, trained_weights
from climbable.train.sampling_copy import sampling_copy
from climbable.verify import Verifier

STAGE = "pilot"

NO_GRADIENT = "does not require grad"
"""What torch says where nothing that is trained leads to the loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotVerdict:
    """Whether a gradient arrives, with the figures that say so."""

    answer: str
    """``go`` or ``no-go``."""
    cause: str
    """What it died of, in a word of `climbable.train.cause.find_cause`; empty where it lives."""
    reasons: tuple[str, ...]
    steps: int
    largest_grad_norm: float
    changed_weights: float
    """Share of the trained tensors that are no longer what they were."""
    logprob_change: float
    """Largest change of a fixed sequence's mean log-probability per token."""
    sampler_gap: float
    """Largest difference between the learner and what samples for it, in the same unit."""
    signal_share: float
    policy: str
    prompt_digest: str
    temperature: float


def run_pilot(recipe: Recipe, skill: Skill, verifier: Verifier, run: RunFolder, *, progress: Progress) -> PilotVerdict:
    """Trains ``recipe.pilot.steps`` steps through the same code as the real run, and writes ``pilot.json``."""
    learner = load_learner(recipe, skill, run.warmup if run.warmup.exists() else None)
    weights, before = trained_weights(learner), fixed_logprobs(learner, learner.model, recipe, skill)
    try:
        optimise(recipe, skill, verifier, learner, run, stage=STAGE, steps=recipe.pilot.steps, progress=progress)
    except RuntimeError as error:
        if NO_GRADIENT not in str(error):
            raise
    after = fixed_logprobs(learner, learner.model, recipe, skill)
    copy = sampling_copy(learner, recipe)
    sampled = fixed_logprobs(learner, copy.model, recipe, skill) if copy else after
    rows = [row for row in records.read(run.metrics) if row["stage"] == STAGE]
    groups = recorded(run.rollouts, skill, STAGE, recipe.train.group)
    now = trained_weights(learner)
    unmoved = frozenset(name for name, old in weights.items() if name in now and bool((now[name] == old).all()))
    evidence = Evidence(
        signal_share=signal([group.rewards for group in groups], ceiling=skill.ceiling).share,
        grad_norm=max((row["grad_norm"] for row in rows), default=0.0),
        learning_rate=max((row["learning_rate"] for row in rows), default=0.0),
        unmoved=unmoved,
        changed=1 - len(unmoved) / max(1, len(weights)),
        logprob_change=largest_gap(before, after),
        sampler_gap=largest_gap(after, sampled),
        sampler_change=largest_gap(before, sampled),
    )
    cause, reason = find_cause(recipe, learner, evidence, fixed_sequences(learner, recipe, skill)[0][0])
    lives = f"in {len(rows)} steps the gradient norm reached {evidence.grad_norm:.3g} and the policy moved"
    verdict = PilotVerdict(
        answer="no-go" if cause else "go",
        cause=cause,
        reasons=(reason or lives,),
        steps=len(rows),
        largest_grad_norm=evidence.grad_norm,
        changed_weights=evidence.changed,
        logprob_change=evidence.logprob_change,
        sampler_gap=evidence.sampler_gap,
        signal_share=evidence.signal_share,
        policy=learner.fingerprint,
        prompt_digest=learner.prompt_digest,
        temperature=recipe.sampling.temperature,
    )
    records.write_json(run.pilot, asdict(verdict))
    return verdict


def fixed_sequences(learner: Learner, recipe: Recipe, skill: Skill) -> list[tuple[list[int], int]]:
    """The teacher's answers to a few tasks as token ids, each with the length of its prompt."""
    sequences = []
    for task in first_tasks(recipe, skill, 4):
        prompt = prompt_ids(learner.tokenizer, skill, task)
        answer = learner.tokenizer(skill.teach(task, 0), add_special_tokens=False)["input_ids"]
        sequences.append((prompt + answer, len(prompt)))
    return sequences


def fixed_logprobs(learner: Learner, model: Any, recipe: Recipe, skill: Skill) -> list[float]:
    """The mean log-probability per token that `model` gives to the teacher's answers to a few tasks."""
    import torch

    values = []
    model.eval()
    for sequence, start in fixed_sequences(learner, recipe, skill):
        ids = torch.tensor([sequence], device=model.device)
        with torch.no_grad():
            logits = model(ids).logits[0, start - 1 : -1].float()
        picked = logits.log_softmax(-1).gather(1, ids[0, start:, None])
        values.append(float(picked.mean()))
    return values


def largest_gap(first: list[float], second: list[float]) -> float:
    """The largest absolute difference of two lists of log-probabilities."""
    return max(abs(b - a) for a, b in zip(first, second, strict=True))
