"""What a pilot died of: the first cause that its figures, and one more backward pass, give away.

The backward pass looks at a fixed sequence, so a cause in the rewards and a cause in the model are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from climbable.recipe import Recipe
from climbable.train.learner import Learner, targets

SMALLEST_CHANGE = 1e-7
"""Of a sequence's mean log-probability per token: below it is the noise of single precision."""

LARGEST_SAMPLER_GAP = 0.05
"""Of the same: rounding merged weights to bfloat16 stays well below, an adapter that was not taken over does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a pilot's steps left behind."""

    signal_share: float
    grad_norm: float
    """The largest of all steps; 0 where the first backward pass failed."""
    learning_rate: float
    """The largest of all steps."""
    unmoved: frozenset[str]
    """Names of the trained tensors that are what they were."""
    changed: float
    """Share of the trained tensors that are not."""
    logprob_change: float
    """Largest change of a fixed sequence's mean log-probability per token."""
    sampler_gap: float
    """Largest difference between learner and sampler, in the same unit."""
    sampler_change: float
    """Largest change of the sampler since before the pilot, in the same unit."""


def find_cause(recipe: Recipe, learner: Learner, evidence: Evidence, ids: Sequence[int]) -> tuple[str, str]:
    """``(cause, reason)``, the latter with what to do; both empty where the pilot lives. `ids` are one sequence.

    ``frozen``, ``ties``, ``learning-rate``, ``checkpointing``, ``modules``, ``sampler`` or ``unknown``.
    """
    if not any(weights.requires_grad for weights in learner.model.parameters()):
        return "frozen", "no parameter requires a gradient: the adapter was loaded without is_trainable=True"
    if evidence.signal_share == 0:
        return "ties", "no group had rewards that differ, so every advantage was 0: warm up, or change the tasks"
    if evidence.grad_norm == 0:
        return _no_gradient(recipe, learner, ids)
    if evidence.changed == 0:
        return "learning-rate", (
            f"no trained tensor changed at a learning rate of {evidence.learning_rate:g}: raise 'train.learning_rate', "
            "or look at 'train.schedule' and 'train.warmup_steps'"
        )
    if dead := _dead_targets(recipe, learner, evidence.unmoved):
        return _no_gradient(recipe, learner, ids, dead)
    return _not_followed(evidence)


def gradients(learner: Learner, ids: Sequence[int]) -> dict[str, float]:
    """The norm of the gradient of each trained tensor for the likelihood of `ids`; none where autograd finds no way."""
    import torch

    model = learner.model
    model.train()
    model.zero_grad(set_to_none=True)
    batch = torch.tensor([list(ids)], device=model.device)
    # With a cache some architectures leave the fused kernel that they are trained with.
    loss = model(batch, use_cache=False).logits[0, :-1].float().log_softmax(-1).gather(1, batch[0, 1:, None]).mean()
    if loss.requires_grad:
        loss.backward()
    norms = {
        name: 0.0 if weights.grad is None else float(weights.grad.norm())
        for name, weights in model.named_parameters()
        if weights.requires_grad
    }
    model.zero_grad(set_to_none=True)
    return norms


def _no_gradient(recipe: Recipe, learner: Learner, ids: Sequence[int], dead: Sequence[str] = ()) -> tuple[str, str]:
    """Why `dead` (all where empty) got no gradient: the same backward pass without checkpointing is the control."""
    cut_off = _without(gradients(learner, ids))
    if cut_off and learner.model.is_gradient_checkpointing:
        learner.model.gradient_checkpointing_disable()
        if len(_without(gradients(learner, ids))) < len(cut_off):
            return "checkpointing", (
                "activation checkpointing cuts the gradient off: the frozen embedding's output requires none, so "
                "reentrant checkpoints pass none on. Set 'train.gradient_checkpointing' to false"
            )
    names = sorted(dead) or sorted({_module(name) for name in cut_off})
    if not names:
        return "unknown", (
            "rewards differed and the model has a gradient, but the training step's was 0: look at 'train.loss', "
            "'train.scale_rewards' and 'train.max_grad_norm'"
        )
    return "modules", (
        f"no gradient reaches {', '.join(names)}: their output does not go into the loss (a fused kernel may read "
        "their weights and pass the adapter by). Leave them out of 'model.lora_targets'"
    )


def _not_followed(evidence: Evidence) -> tuple[str, str]:
    """Whether what samples is another policy than what learns."""
    change, gap = evidence.logprob_change, evidence.sampler_gap
    if change <= SMALLEST_CHANGE or not math.isfinite(change):
        return "sampler", f"the log-probabilities changed by {change:g}: what is trained is not what answers"
    if evidence.sampler_change < 0.1 * change and gap > 0.5 * change:
        return "sampler", (
            f"what learns changed by {change:.3g} in log-probability per token, but what samples only by "
            f"{evidence.sampler_change:.3g}: it is a stale copy. Set 'sampling.merge' to false"
        )
    if gap > LARGEST_SAMPLER_GAP:
        return "sampler", (
            f"what samples and what learns differ by {gap:.3g} in log-probability per token: the merged copy does "
            "not hold what was learnt. Set 'sampling.merge' to false"
        )
    return "", ""


def _dead_targets(recipe: Recipe, learner: Learner, unmoved: frozenset[str]) -> list[str]:
    """Targets none of whose adapters moved, while others did."""
    if recipe.model.method == "full":
        return []
    adapted = {
        name for name, weights in learner.model.named_parameters() if weights.requires_grad and ".lora_B." in name
    }
    moved = {_module(name) for name in adapted - unmoved}
    asked = set(targets(recipe, learner.model.config.model_type))
    return sorted(({_module(name) for name in adapted} - moved) & asked)


def _without(norms: Mapping[str, float]) -> set[str]:
    """The tensors without a gradient. An untrained adapter's A has none as long as its B is 0, so B speaks for both."""
    return {name for name, norm in norms.items() if norm == 0 and ".lora_A." not in name}


def _module(name: str) -> str:
    """The name that ``lora_targets`` gives the module of a tensor."""
    return name.split(".lora_")[0].removesuffix(".weight").rpartition(".")[2]
