"""How completions are sampled, written out, and where one ends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerSettings:
    """Every setting of sampling, written out."""

    temperature: float
    top_p: float
    max_new_tokens: int
    cache: str
    """``auto``, ``dynamic``, ``static`` or ``graph``: see `climbable.recipe.Sampling`."""
    ends: tuple[int, ...]
    """The tokens that end an answer."""
    pad: int


def until_end(ids: list[int], ends: tuple[int, ...]) -> list[int]:
    """Everything up to the first end token, which counts as generated; padding follows it."""
    for place, token in enumerate(ids):
        if token in ends:
            return ids[: place + 1]
    return ids
