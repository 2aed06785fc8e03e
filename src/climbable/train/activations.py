"""What a training pass keeps for its backward pass, counted on the meta device: the very tensors, without their memory.

So the count knows the architecture as well as Transformers does. Two things differ on a GPU and are put right here:
attention is a fused kernel that keeps no scores, and under autocast an adapter keeps its input in half precision.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

ATTENTION = "counted_attention"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activations:
    """Bytes that a forward pass keeps."""

    kept: int
    """By all layers."""
    largest_layer: int
    """By the layer that keeps most."""
    between: int
    """By the activations between layers alone, which is what checkpointing keeps."""


def count_activations(model: Any, *, rows: int, tokens: int, half: bool) -> Activations:
    """Counts for a batch of `rows` × `tokens` through `model`, best on the meta device, up to its output layer.

    `half`: in the autocast of a GPU. The output layer is left out, since TRL never holds all of its logits.
    """
    import torch

    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    _fuse_attention(base)
    model.train()
    marks = [0]
    with _counting(model, half) as total:
        for layer in _layers(base.base_model):
            layer.register_forward_hook(lambda *_: marks.append(total()))
        ids = torch.zeros(rows, tokens, dtype=torch.long, device=model.device)
        # The embedding's output requires a gradient, as the trainers see to with an adapter.
        base.get_input_embeddings().register_forward_hook(lambda _, __, output: output.requires_grad_(True))
        seen = torch.ones(rows, tokens, dtype=torch.long)  # a real one: masks are looked into
        base.base_model(ids, attention_mask=seen, use_cache=False)
        kept = total()
    width = base.config.get_text_config().hidden_size
    step = base.get_input_embeddings().weight.element_size() * rows * tokens * width
    layers = [after - before for before, after in itertools.pairwise(marks)]
    return Activations(kept=kept, largest_layer=max(layers), between=(len(layers) + 1) * step)


@contextmanager
def _counting(model: Any, half: bool) -> Iterator[Any]:
    """Counts each storage that autograd keeps once; weights are not counted."""
    import torch

    held: dict[int, Any] = {weights.untyped_storage()._cdata: weights for weights in model.parameters()}
    size, inside = 0, 0

    def pack(tensor: Any) -> Any:
        nonlocal size
        storage = tensor.untyped_storage()
        if storage._cdata not in held:
            held[storage._cdata] = tensor  # kept alive, so that no other storage takes its place
            size += storage.nbytes() // (2 if inside and half else 1)
        return tensor

    def enter(*_: Any) -> None:
        nonlocal inside
        inside += 1

    def leave(*_: Any) -> None:
        nonlocal inside
        inside -= 1

    for name, module in model.named_modules():
        if name.rpartition(".")[0].endswith((".lora_A", ".lora_B")):
            module.register_forward_pre_hook(enter)
            module.register_forward_hook(leave)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield lambda: size


def _layers(model: Any) -> Any:
    """The list of layers of a decoder, whatever it is called."""
    import torch

    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    return max(lists, key=lambda one: sum(weights.numel() for weights in one.parameters()))


def _fuse_attention(model: Any) -> None:
    import torch
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    class Fused(torch.autograd.Function):  # type: ignore[misc]
        """Keeps what the fused kernels keep: queries, keys, values, the output and one number a query."""

        @staticmethod
        def forward(ctx: Any, query: Any, key: Any, value: Any) -> Any:
            output = torch.empty_like(query)
            ctx.save_for_backward(query, key, value, output, query.new_empty(query.shape[:3], dtype=torch.float32))
            return output

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            raise NotImplementedError("it only counts")

    def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **_: Any) -> Any:
        copies = query.shape[1] // key.shape[1]
        if copies > 1:
            key, value = key.repeat_interleave(copies, dim=1), value.repeat_interleave(copies, dim=1)
        return Fused.apply(query, key, value).transpose(1, 2), None

    AttentionInterface.register(ATTENTION, attend)
    AttentionMaskInterface.register(ATTENTION, lambda *_, **__: None)
    model.set_attn_implementation(ATTENTION)
