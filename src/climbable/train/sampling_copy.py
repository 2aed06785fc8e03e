"""The learner's weights as plain ones, for sampling.

An adapter beside the weights costs two more matrix products a module and token, more than the weights themselves in a
small model. So a step samples from a copy into which the adapter is merged: the very weights that are evaluated later.
"""

from __future__ import annotations

from typing import Any

from climbable.policy import loading
from climbable.recipe import Recipe
from climbable.train.learner import Learner


class SamplingCopy:
    """A model of the base's architecture and precision that follows the learner; takes the base's memory once more."""

    def __init__(self, learner: Learner, recipe: Recipe) -> None:
        self.model = loading.load_base(
            loading.locate(recipe.model.name), device=learner.device, dtype=recipe.model.dtype
        ).eval()
        self._learner = learner.model
        self.refresh()

    def refresh(self) -> Any:
        """Takes over what the learner has learnt since, in place, and returns the model."""
        import torch
        from peft import PeftModel

        own = dict(self.model.named_parameters())
        with torch.no_grad():
            if isinstance(self._learner, PeftModel):
                self._merge(own)
            else:
                for name, weights in self._learner.named_parameters():
                    own[name].copy_(weights)
        return self.model

    def _merge(self, own: dict[str, Any]) -> None:
        from peft.tuners.tuners_utils import BaseTunerLayer

        for name, module in self._learner.get_base_model().named_modules():
            if isinstance(module, BaseTunerLayer):
                weights = module.get_base_layer().weight.float()
                for adapter in module.active_adapters:
                    weights = weights + module.get_delta_weight(adapter).float()
                own[f"{name}.weight"].copy_(weights)


def sampling_copy(learner: Learner, recipe: Recipe) -> SamplingCopy | None:
    """A copy where it pays: where an adapter is trained, or the base's precision is lower than the trained weights'."""
    plain = recipe.model.method == "full" and (
        recipe.model.dtype == "float32" or (recipe.model.dtype == "auto" and learner.device == "cpu")
    )
    return None if plain or not recipe.sampling.merge else SamplingCopy(learner, recipe)
