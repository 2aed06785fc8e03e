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
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import AttentionMaskInterface

    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(NAME, sdpa_attention_forward)
        AttentionMaskInterface.register(NAME, every_query_sees)
        model.set_attn_implementation(NAME)
    return model


def every_query_sees(*args: Any, **kwargs: Any) -> Any:
    """Transformers' mask for SDPA, booleans of shape ``(batch, 1, queries, keys)`` or ``None``, with no row all false."""
    from transformers.masking_utils import sdpa_mask

    mask = sdpa_mask(*args, **kwargs)
    return None if mask is None else mask | ~mask.any(dim=-1, keepdim=True)
