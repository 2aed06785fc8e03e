"""A decoder that samples a batch with one fixed step a token, which a GPU replays as a CUDA graph.

`generate` of Transformers spends more time between the kernels of a small model than in them. Here all tensors of a
step keep their place: the static cache, the mask, the tokens and what has ended; so the step is captured once and
replayed for every token of every batch of the same shape, also after the weights have been changed in place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from climbable.policy.settings import SamplerSettings, until_end

LOOK_EVERY = 8
"""Tokens between two looks at what has ended: each look waits for the GPU."""


def can_decode(model: Any) -> bool:
    """Whether `model` keeps nothing between tokens but keys and values of every position, and is fit to be captured."""
    from transformers import StaticCache
    from transformers.cache_utils import StaticLayer

    if not getattr(model, "_can_compile_fullgraph", False):
        return False
    layers = StaticCache(config=model.config, max_cache_len=8).layers
    return all(type(layer) is StaticLayer for layer in layers)


class Decoder:
    """Samples batches of one shape from `model`, which must keep its weights where they are.

    `batch` prompts of at most `width` tokens, padded on the left, or fewer; every setting but the cache's is followed.
    """

    def __init__(self, model: Any, settings: SamplerSettings, *, batch: int, width: int) -> None:
        import torch
        from transformers import StaticCache, TopPLogitsWarper

        self.batch, self.width = batch, width
        self._model, self._settings = model, settings
        self._narrow = TopPLogitsWarper(settings.top_p) if settings.top_p < 1.0 else None
        device, room = model.device, settings.max_new_tokens
        self._cache = StaticCache(config=model.config, max_cache_len=width + room)
        self._with_cache = {_cache_argument(model): self._cache}
        self._ends = torch.tensor(settings.ends, device=device)
        self._token = torch.zeros(batch, 1, dtype=torch.long, device=device)
        self._position = torch.zeros(batch, 1, dtype=torch.long, device=device)
        self._mask = torch.zeros(batch, 1, 1, width + room, dtype=torch.bool, device=device)
        self._place = torch.zeros(1, dtype=torch.long, device=device)
        self._ended = torch.zeros(batch, dtype=torch.bool, device=device)
        self._tokens = torch.zeros(batch, room, dtype=torch.long, device=device)
        self._graph: Any = None

    def sample(
        self, prompts: Sequence[Sequence[int]], on_end: Callable[[int, list[int]], None] | None = None
    ) -> list[list[int]]:
        """New tokens of each of `prompts`, up to and with the end token; `on_end` gets place and tokens soon after it."""
        import torch

        told: set[int] = set(range(len(prompts), self.batch))
        room = self._settings.max_new_tokens
        with torch.no_grad():
            self._begin(prompts)
            for done in range(1, room + 1):
                if done % LOOK_EVERY == 0 or done == room:
                    fresh = [place for place in self._ended.nonzero().flatten().tolist() if place not in told]
                    for place, row in zip(fresh, self._tokens[fresh, :done].tolist(), strict=True):
                        told.add(place)
                        if on_end:
                            on_end(place, until_end(row, self._settings.ends))
                    if len(told) == self.batch:
                        break
                if done < room:
                    self._step()
            rows = self._tokens[: len(prompts), :done].tolist()
        return [until_end(row, self._settings.ends) for row in rows]

    def _begin(self, prompts: Sequence[Sequence[int]]) -> None:
        """Reads the prompts and samples the first token of each."""
        import torch

        filled = [*prompts, *[prompts[0]] * (self.batch - len(prompts))]
        rows = [[self._settings.pad] * (self.width - len(prompt)) + list(prompt) for prompt in filled]
        seen = [[False] * (self.width - len(prompt)) + [True] * len(prompt) for prompt in filled]
        ids, mask = torch.tensor(rows, device=self._token.device), torch.tensor(seen, device=self._token.device)
        # A row that is left over from the last batch would be masked, but 0 × NaN is NaN.
        self._cache.reset()
        self._mask.fill_(False)
        self._mask[:, 0, 0, : self.width] = mask
        self._place.fill_(self.width)
        self._ended.fill_(False)
        self._ended[len(prompts) :] = True
        self._tokens.fill_(self._settings.pad)
        positions = (mask.long().cumsum(-1) - 1).clamp(min=0)
        self._position.copy_(positions[:, -1:])
        logits = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **self._with_cache,
        ).logits
        self._draw(logits[:, -1])

    def _step(self) -> None:
        """One more token for every row."""
        if self._token.device.type != "cuda":
            self._decode()
            return
        if self._graph is None:
            self._capture()
        else:
            self._graph.replay()

    def _capture(self) -> None:
        """Runs the step once on a side stream, as CUDA graphs want it, puts everything back, and captures it."""
        import torch

        moved = (self._token, self._position, self._mask, self._place, self._ended, self._tokens)
        before = [tensor.clone() for tensor in moved]
        lengths = [layer.cumulative_length.clone() for layer in self._cache.layers]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._decode()
        torch.cuda.current_stream().wait_stream(side)
        for tensor, old in zip(moved, before, strict=True):
            tensor.copy_(old)
        for layer, length in zip(self._cache.layers, lengths, strict=True):
            layer.cumulative_length.copy_(length)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._decode()
        self._graph.replay()

    def _decode(self) -> None:
        self._position.add_(1)
        self._mask.index_fill_(3, self._place, True)
        logits = self._model(
            input_ids=self._token,
            attention_mask=self._mask,
            position_ids=self._position,
            use_cache=True,
            **self._with_cache,
        ).logits
        self._place.add_(1)
        self._draw(logits[:, -1])

    def _draw(self, logits: Any) -> None:
        """Samples the token at `_place` of every row that has not ended, and keeps it."""
        import torch

        scaled = logits.float() / self._settings.temperature
        if self._narrow is not None:
            scaled = self._narrow(None, scaled)
        # The largest of p / Exp(1) falls on each token with its probability p: what multinomial does, without its wait.
        chances = scaled.softmax(-1)
        drawn = (chances / torch.empty_like(chances).exponential_(1.0)).argmax(-1)
        drawn = torch.where(self._ended, self._settings.pad, drawn)
        self._token.copy_(drawn[:, None])
        self._tokens.index_copy_(1, self._place - self.width, drawn[:, None])
        self._ended.logical_or_(torch.isin(drawn, self._ends))


def _cache_argument(model: Any) -> str:
    """What the model calls its cache; Transformers is renaming it."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return "cache" if "cache" in inspect.signature(base.forward).parameters else "past_key_values"
