"""Token ids in, sampled token ids out: the one sampler of evaluation, gate and trainer.

Prompts are padded on the left to a whole number of `PAD_TO`, so that a compiled or captured step meets few shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from climbable.core.errors import UserError
from climbable.policy.decoder import LOOK_EVERY, Decoder, can_decode
from climbable.policy.settings import SamplerSettings, until_end

PAD_TO = 64

OnEnd = Callable[[int, list[int]], None]
"""Gets place and ids of a completion soon after its end token, while longer ones are still being sampled."""


class Sampler:
    """Samples from `model`; its weights may change between batches, in place.

    Every setting is the sampler's: softmax(logits / temperature) within top-p, and nothing of the model's own defaults.
    """

    def __init__(self, model: Any, settings: SamplerSettings) -> None:
        if settings.temperature <= 0:
            raise UserError(
                f"the temperature is {settings.temperature}; it must be above 0: greedy groups never differ"
            )
        self._model = model
        self._settings = settings
        self._decoder: Decoder | None = None

    def sample(self, prompts: Sequence[Sequence[int]], on_end: OnEnd | None = None) -> list[list[int]]:
        """One completion for each of `prompts`, up to and with its end token; one that reaches the limit has none."""
        width = -(-max(len(prompt) for prompt in prompts) // PAD_TO) * PAD_TO
        if self._captured():
            return self._fitting(len(prompts), width).sample(prompts, on_end)
        return _generate(self._model, prompts, width, self._settings, on_end)

    def _captured(self) -> bool:
        cache = self._settings.cache
        return cache == "graph" or (cache == "auto" and self._model.device.type == "cuda" and can_decode(self._model))

    def _fitting(self, batch: int, width: int) -> Decoder:
        """A decoder for so many rows: the one there is, unless it is too small; capturing a shape takes a moment."""
        old = self._decoder
        if old is None or batch > old.batch or width > old.width:
            if old is not None:
                batch, width = max(batch, old.batch), max(width, old.width)
            self._decoder = old = None  # frees its cache first
            self._decoder = Decoder(self._model, self._settings, batch=batch, width=width)
        assert self._decoder is not None
        return self._decoder


def _generate(
    model: Any, prompts: Sequence[Sequence[int]], width: int, settings: SamplerSettings, on_end: OnEnd | None
) -> list[list[int]]:
    """Transformers' own loop, for every model and every kind of cache that it knows."""
    import torch

    ids = torch.tensor(
        [[settings.pad] * (width - len(prompt)) + list(prompt) for prompt in prompts], device=model.device
    )
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=model.device)
    with torch.no_grad():
        rows = model.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=_config(settings, model),
            stopping_criteria=[_watcher(width, settings, on_end)] if on_end else None,
        )
    return [until_end(row, settings.ends) for row in rows[:, width:].tolist()]


def _watcher(width: int, settings: SamplerSettings, on_end: OnEnd) -> Any:
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
                    on_end(place, until_end(input_ids[place, width:].tolist(), settings.ends))
            return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)

    ends = torch.tensor(settings.ends)
    return Watcher()


def _config(settings: SamplerSettings, model: Any) -> Any:
    from transformers import GenerationConfig

    compiles = model.device.type == "cuda" and getattr(model, "_can_compile_fullgraph", False)
    static = settings.cache == "static" or (settings.cache == "auto" and compiles)
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
