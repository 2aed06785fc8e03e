"""Token ids in, sampled token ids out: the one sampler of evaluation, gate and trainer.

Prompts are padded on the left to a whole number of `PAD_TO`, so that a compiled decode step meets few shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from climbable.core.errors import UserError

PAD_TO = 64

LOOK_EVERY = 8
"""Tokens between two looks at what has ended: each look waits for the GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerSettings:
    """Every setting of sampling, written out."""

    temperature: float
    top_p: float
    max_new_tokens: int
    cache: str
    """``auto``, ``dynamic`` or ``static``: see `climbable.recipe.Sampling`."""
    ends: tuple[int, ...]
    """The tokens that end an answer."""
    pad: int


def sample_ids(
    model: Any,
    prompts: Sequence[Sequence[int]],
    settings: SamplerSettings,
    on_end: Callable[[int, list[int]], None] | None = None,
) -> list[list[int]]:
    """One completion for each of `prompts`, up to and with its end token; one that reaches the limit has none.

    The model samples from softmax(logits / temperature) within top-p, and nothing of its own defaults is used.
    `on_end` gets place and ids of a completion soon after its end token, while longer ones are still being sampled.
    """
    import torch

    if settings.temperature <= 0:
        raise UserError(f"the temperature is {settings.temperature}; it must be above 0: greedy groups never differ")
    width = -(-max(len(prompt) for prompt in prompts) // PAD_TO) * PAD_TO
    ids = torch.tensor(
        [[settings.pad] * (width - len(prompt)) + list(prompt) for prompt in prompts], device=model.device
    )
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=model.device)
    with torch.no_grad():
        rows = model.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=_config(settings, model.device.type),
            stopping_criteria=[_watcher(width, settings, on_end)] if on_end else None,
        )
    return [_until_end(row, settings.ends) for row in rows[:, width:].tolist()]


def _watcher(width: int, settings: SamplerSettings, on_end: Callable[[int, list[int]], None]) -> Any:
    """A stopping criterion that stops nothing: it looks at the batch every `LOOK_EVERY` tokens and tells what has ended."""
    import torch
    from transformers import StoppingCriteria

    class Watcher(StoppingCriteria):  # type: ignore[misc]
        def __init__(self) -> None:
            self._ended: set[int] = set()

        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            if (input_ids.shape[1] - width) % LOOK_EVERY == 0:
                fresh = torch.isin(input_ids[:, -LOOK_EVERY:], ends.to(input_ids.device)).any(dim=1)
                for place in set(fresh.nonzero().flatten().tolist()) - self._ended:
                    self._ended.add(place)
                    on_end(place, _until_end(input_ids[place, width:].tolist(), settings.ends))
            return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)

    ends = torch.tensor(settings.ends)
    return Watcher()


def _config(settings: SamplerSettings, device: str) -> Any:
    from transformers import GenerationConfig

    static = settings.cache == "static" or (settings.cache == "auto" and device == "cuda")
    return GenerationConfig(
        do_sample=True,
        temperature=settings.temperature,
        top_p=settings.top_p,
        top_k=0,
        repetition_penalty=1.0,
        max_new_tokens=settings.max_new_tokens,
        eos_token_id=list(settings.ends),
        pad_token_id=settings.pad,
        use_cache=True,
        cache_implementation="static" if static else None,
    )


def _until_end(ids: list[int], ends: tuple[int, ...]) -> list[int]:
    """Everything up to the first end token, which counts as generated; padding follows it."""
    for place, token in enumerate(ids):
        if token in ends:
            return ids[: place + 1]
    return ids
