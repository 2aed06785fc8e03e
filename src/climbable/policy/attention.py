"""Attention in which no query is left without a key.

A padded position on the left sees nothing under a causal mask. The fused kernels divide by the sum of nothing there:
the outputs and gradients that follow are sometimes not numbers, and a key-value cache that is used again hands them
on (0 × NaN). Such a position is given every key instead. Its output is never read, and what real tokens see is untouched.
"""

from __future__ import annotations

from typing import Any

NAME = "sdpa_every_query_sees"


def guard(model: Any) -> Any:
    """Makes `model` attend so, where it uses Torch's scaled dot product attention; other kinds are left as they are."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(NAME, attend)
        AttentionMaskInterface.register(NAME, every_query_sees)
        model.set_attn_implementation(NAME)
    return model


def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any) -> Any:
    """Transformers' SDPA; for a single new token the heads that share keys become queries side by side.

    Otherwise keys and values are copied out for every head, at every token: in a small model that is most of the work.
    Shapes: `query` ``(batch, heads, queries, size)``, `key` and `value` ``(batch, shared, keys, size)``.
    """
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    heads, shared = query.shape[1], key.shape[1]
    if query.shape[2] != 1 or heads == shared or kwargs.get("position_bias") is not None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
    packed = query.reshape(len(query), shared, heads // shared, -1)
    seen = torch.nn.functional.scaled_dot_product_attention(
        packed, key, value, attn_mask=attention_mask, dropout_p=kwargs.get("dropout", 0.0), scale=kwargs.get("scaling")
    )
    return seen.reshape(len(query), 1, heads, -1), None


def every_query_sees(*args: Any, **kwargs: Any) -> Any:
    """Transformers' mask for SDPA, booleans of shape ``(batch, 1, queries, keys)`` or ``None``, with no row all false."""
    from transformers.masking_utils import sdpa_mask

    mask = sdpa_mask(*args, **kwargs)
    return None if mask is None else mask | ~mask.any(dim=-1, keepdim=True)
