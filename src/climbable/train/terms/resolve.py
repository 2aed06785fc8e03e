"""From a recipe to the terms of a stage, by the very functions that configure its trainer."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from climbable.policy import loading
from climbable.recipe import Recipe
from climbable.train.grpo import trainer_settings
from climbable.train.terms.grpo import grpo_terms
from climbable.train.terms.sft import sft_terms
from climbable.train.terms.term import Term
from climbable.train.warmup import warmup_settings


def recipe_terms(recipe: Recipe, stage: str) -> list[Term]:
    """The terms of ``warmup`` or ``train``; of the model, the configuration alone is read."""
    model, _ = loading.load_config(recipe.model.name)
    device = loading.pick_device(recipe.model.device)
    with tempfile.TemporaryDirectory() as folder:
        if stage == "warmup":
            per_epoch = math.ceil(recipe.warmup.rows / recipe.warmup.batch_size)
            return sft_terms(warmup_settings(recipe, device, Path(folder), per_epoch), model)
        return grpo_terms(trainer_settings(recipe, device, Path(folder), recipe.train.steps), model)
