"""The model that learns: its weights, what of them is trained, and how it is saved."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from climbable.core.errors import Unavailable, UserError, nearest
from climbable.core.skill import Skill
from climbable.policy import loading
from climbable.policy.model import prompt_digest
from climbable.recipe import Recipe

TARGETS: Mapping[str, tuple[str, ...]] = {
    "nemotron_h": ("q_proj", "k_proj", "v_proj", "o_proj", "in_proj"),  # out_proj's fused kernel gives no gradient
    "gpt2": ("c_attn", "c_proj", "c_fc"),
    "phi3": ("qkv_proj", "o_proj", "gate_up_proj", "down_proj"),
}
"""Modules that get an adapter, by architecture, where they are not `USUAL_TARGETS`."""

USUAL_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")

REFERENCE = "ref"
"""TRL's name for the frozen copy of the adapter, as it was before the first update, that the KL term compares with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """A model with something to train, its tokenizer, and what ties it to the other stages."""

    model: Any
    tokenizer: Any
    device: str
    fingerprint: str
    """Of the weights before this stage."""
    prompt_digest: str
    trainable: int
    """Number of parameters that are trained."""


def load_learner(recipe: Recipe, skill: Skill, start: Path | None) -> Learner:
    """The recipe's model, from `start` (an adapter, or a whole model after full fine-tuning) or untrained."""
    source = loading.locate(recipe.model.name, start)
    device = loading.pick_device(recipe.model.device)
    tokenizer = loading.load_tokenizer(source)
    full = recipe.model.method == "full"
    # Full fine-tuning keeps float32 weights: in pure bfloat16 small updates are rounded away.
    model = loading.load_base(source, device=device, dtype="float32" if full else recipe.model.dtype)
    if not full and source.adapter is not None:
        model = loading.load_adapter(model, source, trainable=True)
    elif not full:
        model = add_adapter(model, recipe)
    trainable = sum(weights.numel() for weights in model.parameters() if weights.requires_grad)
    if not trainable:
        raise Unavailable(
            "none of the model's parameters would be trained: the adapter was loaded frozen, without is_trainable=True"
        )
    return Learner(
        model=model,
        tokenizer=tokenizer,
        device=device,
        fingerprint=loading.fingerprint(source),
        prompt_digest=prompt_digest(tokenizer, skill),
        trainable=trainable,
    )


def save_learner(learner: Learner, target: Path, recipe: Recipe) -> None:
    """Writes the adapter, or the whole model, to `target`, whole or not at all. An adapter names its base as the recipe does."""
    beside = target.with_name(f".{target.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    for config in getattr(learner.model, "peft_config", {}).values():
        config.base_model_name_or_path = recipe.model.name
    learner.model.save_pretrained(beside)
    learner.tokenizer.save_pretrained(beside)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(beside, target)


def drop_reference(learner: Learner) -> None:
    """Forgets the frozen copy of the adapter that TRL adds for the KL term, so that it is neither trained on nor saved."""
    if REFERENCE in getattr(learner.model, "peft_config", {}):
        learner.model.delete_adapter(REFERENCE)


def trained_weights(learner: Learner) -> dict[str, Any]:
    """A copy of every trained tensor, by name, on the CPU."""
    return {
        name: weights.detach().to("cpu", copy=True)
        for name, weights in learner.model.named_parameters()
        if weights.requires_grad
    }


def targets(recipe: Recipe, architecture: str) -> tuple[str, ...]:
    """The modules that get an adapter: the recipe's, or the architecture's."""
    return recipe.model.lora_targets or TARGETS.get(architecture, USUAL_TARGETS)


def add_adapter(model: Any, recipe: Recipe) -> Any:
    """`model` with a new LoRA adapter in float32; a target that it lacks is a `UserError`."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=recipe.model.lora_rank,
        lora_alpha=recipe.model.lora_alpha,
        lora_dropout=0.0,  # dropout would make the sampler and the trainer two different policies
        target_modules=list(_present_targets(model, recipe)),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config, autocast_adapter_dtype=True)


def _present_targets(model: Any, recipe: Recipe) -> tuple[str, ...]:
    """The targets, each of which must be in the model: PEFT would leave out a misspelt one without a word."""
    names = [
        name
        for name, module in model.named_modules()
        if getattr(module, "weight", None) is not None and module.weight.dim() == 2
    ]
    asked = targets(recipe, model.config.model_type)
    if "lm_head" in asked:
        raise UserError(
            "'model.lora_targets' names 'lm_head', whose weights the loss reads without their adapter: leave it out"
        )
    found = tuple(one for one in asked if any(name == one or name.endswith(f".{one}") for name in names))
    missing = [one for one in asked if one not in found]
    if missing and (recipe.model.lora_targets or not found):
        leaves = {name.rpartition(".")[2] for name in names}
        raise UserError(
            f"{recipe.model.name!r} ({model.config.model_type}) has no module {missing[0]!r}: "
            f"set 'model.lora_targets' in the recipe; {nearest(missing[0], leaves)}"
        )
    return found
