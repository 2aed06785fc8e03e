"""The pilot: a few GRPO steps that must show life before a night is spent. Its weights are thrown away.

Three things must have moved: the gradient, the trained weights, and what the sampler makes of fixed sequences.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from climbable.core import records
from climbable.core.progress import Progress
from climbable.core.run import RunFolder
from climbable.core.skill import Skill
from climbable.policy.model import prompt_ids
from climbable.recipe import Recipe
from climbable.train.course import first_tasks
from climbable.train.grpo import optimise
from climbable.train.learner import Learner, load_learner, trained_weights
from climbable.train.sampling_copy import sampling_copy
from climbable.verify import Verifier

STAGE = "pilot"

SMALLEST_CHANGE = 1e-7
"""Of a sequence's mean log-probability per token: below it is the noise of single precision."""

LARGEST_SAMPLER_GAP = 0.05
"""Of the same: rounding merged weights to bfloat16 stays well below, an adapter that was not taken over does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotVerdict:
    """Whether a gradient arrives, with the figures that say so."""

    answer: str
    """``go`` or ``no-go``."""
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
    optimise(recipe, skill, verifier, learner, run, stage=STAGE, steps=recipe.pilot.steps, progress=progress)
    after = fixed_logprobs(learner, learner.model, recipe, skill)
    copy = sampling_copy(learner, recipe)
    sampled = fixed_logprobs(learner, copy.model, recipe, skill) if copy else after
    verdict = judge_pilot(recipe, learner, run, weights, largest_gap(before, after), largest_gap(after, sampled))
    records.write_json(run.pilot, asdict(verdict))
    return verdict


def judge_pilot(
    recipe: Recipe,
    learner: Learner,
    run: RunFolder,
    weights: dict[str, Any],
    change: float,
    sampler_gap: float,
) -> PilotVerdict:
    """The verdict on a pilot whose steps are in ``metrics.jsonl``; `weights` are copies from before it."""
    rows = [row for row in records.read(run.metrics) if row["stage"] == STAGE]
    now = trained_weights(learner)
    changed = sum(not bool((now[name] == old).all()) for name, old in weights.items()) / len(weights)
    grad_norm = max(row["grad_norm"] for row in rows)
    groups = sum(row["signal"]["groups"] for row in rows)
    share = sum(row["signal"]["with_signal"] for row in rows) / groups
    reasons = _dead(recipe, share, grad_norm, changed, change) + _apart(sampler_gap)
    return PilotVerdict(
        answer="no-go" if reasons else "go",
        reasons=tuple(reasons)
        or (f"in {len(rows)} steps the gradient norm reached {grad_norm:.3g} and the policy moved",),
        steps=len(rows),
        largest_grad_norm=grad_norm,
        changed_weights=changed,
        logprob_change=change,
        sampler_gap=sampler_gap,
        signal_share=share,
        policy=learner.fingerprint,
        prompt_digest=learner.prompt_digest,
        temperature=recipe.sampling.temperature,
    )


def fixed_logprobs(learner: Learner, model: Any, recipe: Recipe, skill: Skill) -> list[float]:
    """The mean log-probability per token that `model` gives to the teacher's answers to a few tasks."""
    import torch

    values = []
    model.eval()
    for task in first_tasks(recipe, skill, 4):
        prompt = prompt_ids(learner.tokenizer, skill, task)
        answer = learner.tokenizer(skill.teach(task, 0), add_special_tokens=False)["input_ids"]
        ids = torch.tensor([prompt + answer], device=model.device)
        with torch.no_grad():
            logits = model(ids).logits[0, len(prompt) - 1 : -1].float()
        picked = logits.log_softmax(-1).gather(1, ids[0, len(prompt) :, None])
        values.append(float(picked.mean()))
    return values


def largest_gap(first: list[float], second: list[float]) -> float:
    """The largest absolute difference of two lists of log-probabilities."""
    return max(abs(b - a) for a, b in zip(first, second, strict=True))


def _dead(recipe: Recipe, share: float, grad_norm: float, changed: float, change: float) -> list[str]:
    """Why nothing was learnt, the likeliest cause first; nothing if all three moved, and rewards moved them."""
    if share > 0 and grad_norm > 0 and changed > 0 and change > SMALLEST_CHANGE and math.isfinite(change):
        return []
    reasons = []
    if share == 0:
        reasons.append("no group had rewards that differ, so every advantage was 0: warm up, or change the tasks")
    if grad_norm == 0 and share > 0:
        reasons.append("rewards differed, but the gradient norm was 0: the trained modules are cut off from the loss")
    if changed == 0:
        reasons.append(f"no trained tensor changed (learning rate {recipe.train.learning_rate:g})")
    if change <= SMALLEST_CHANGE or not math.isfinite(change):
        reasons.append("the sampler's log-probabilities did not change: what is trained is not what samples")
    return reasons


def _apart(gap: float) -> list[str]:
    """Why the rewards would teach another policy than the one that earned them."""
    if gap <= LARGEST_SAMPLER_GAP:
        return []
    return [
        f"what samples and what learns differ by {gap:.3g} in log-probability per token: set 'sampling.merge' to false"
    ]
