"""Does a recipe fit a GPU? Peak memory, term by term, from the model's configuration alone: no weight is loaded.

A run has four moments that can be its peak: sampling for gate and evaluation, the warm-up's update, sampling a step of
GRPO, and its update. What is left out: fragmentation, and the temporaries of single kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from climbable.core.skill import Skill
from climbable.policy import loading
from climbable.policy.sampler import PAD_TO
from climbable.recipe import Recipe
from climbable.train.activations import count_activations
from climbable.train.learner import add_adapter

GIB = 2**30
CONTEXT = 0.6 * GIB
"""What CUDA and its libraries take before the first tensor."""

MOMENTS = ("evaluation", "warm-up", "sampling", "update")

TILE = (4096, 32768)
"""Positions and words of the logits that TRL holds at a time (`trl.kernels.chunked_logprob`); it never holds them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A prediction, in bytes."""

    terms: Mapping[str, Mapping[str, float]]
    """Term → moment → bytes."""
    gpu: float
    prompt_tokens: int
    parameters: int
    trained: int
    advice: tuple[str, ...] = ()
    """What to change in the recipe, each with the peak that it leads to; empty where it fits."""

    @property
    def peaks(self) -> dict[str, float]:
        """Moment → the sum of its terms."""
        return {moment: sum(term.get(moment, 0.0) for term in self.terms.values()) for moment in MOMENTS}

    @property
    def peak(self) -> float:
        """The highest of them."""
        return max(self.peaks.values())

    @property
    def fits(self) -> bool:
        """Whether the GPU has that much."""
        return self.peak <= self.gpu

    def to_json(self) -> dict[str, Any]:
        """All of it, in GiB."""
        return {
            "fits": self.fits,
            "peak_gib": round(self.peak / GIB, 3),
            "gpu_gib": self.gpu / GIB,
            "moments_gib": {moment: round(size / GIB, 3) for moment, size in self.peaks.items()},
            "terms_gib": {
                name: {moment: round(size / GIB, 3) for moment, size in term.items()}
                for name, term in self.terms.items()
            },
            "parameters": self.parameters,
            "trained": self.trained,
            "prompt_tokens": self.prompt_tokens,
            "advice": list(self.advice),
        }


def predict_fit(recipe: Recipe, skill: Skill, *, gpu_gib: float) -> Fit:
    """The prediction for a GPU of `gpu_gib`. A model whose configuration is not at hand is a `UserError`."""
    config, tokenizer = loading.load_config(recipe.model.name)
    fit = _predict(recipe, skill, config, tokenizer, gpu_gib)
    return fit if fit.fits else replace(fit, advice=_advice(recipe, skill, config, tokenizer, fit))


def _predict(recipe: Recipe, skill: Skill, config: Any, tokenizer: Any, gpu_gib: float) -> Fit:
    import torch

    full = recipe.model.method == "full"
    half = torch.bfloat16 if recipe.model.dtype == "auto" else getattr(torch, recipe.model.dtype)
    wide: int = half.itemsize
    plain = _on_meta(config, half)
    weights = sum(one.numel() * one.element_size() for one in plain.parameters())
    parameters = sum(one.numel() for one in plain.parameters())
    learner = _on_meta(config, torch.float32 if full else half)
    if not full:
        learner = add_adapter(learner, recipe)
    trained = sum(one.numel() for one in learner.parameters() if one.requires_grad)
    held = sum(one.numel() * one.element_size() for one in learner.parameters())
    prompt, row = _lengths(recipe, skill, tokenizer)
    width = -(-prompt // PAD_TO) * PAD_TO + recipe.sampling.max_new_tokens
    step = recipe.train.prompts * recipe.train.group
    micro = recipe.train.micro_batch or step
    copied = recipe.sampling.merge and not (full and half == torch.float32)
    text = config.get_text_config()
    words, hidden = int(text.vocab_size), int(text.hidden_size)
    single = count_activations(learner, rows=1, tokens=width, half=True)
    layer = single.largest_layer / width

    def activations(rows: int, tokens: int, checkpointing: bool) -> float:
        scale = rows * tokens / width
        return scale * (single.between + single.largest_layer if checkpointing else single.kept)

    def working(rows: int, tokens: int) -> float:
        """What a layer's backward pass holds beside what was kept, and the hidden states' gradient in float32."""
        return rows * tokens * (layer / 2 + 4 * hidden)

    def logits(rows: int, tokens: int) -> float:
        return min(rows * tokens, TILE[0]) * min(words, TILE[1]) * wide

    def sampled(rows: int) -> float:
        """A step's logits, their float32 copies and the draw; or the prompt's pass through the largest layer."""
        return max(rows * words * (wide + 16), rows * (width - recipe.sampling.max_new_tokens) * layer / 2)

    cache, everywhere = _cache(config, wide, width), dict.fromkeys(MOMENTS, 0.0)
    optimiser = {"warm-up": 12.0 * trained, "sampling": 8.0 * trained, "update": 12.0 * trained}
    checkpointing, rows = recipe.train.gradient_checkpointing, recipe.warmup.batch_size if recipe.warmup.rows else 0
    terms = {
        "CUDA context": {moment: CONTEXT for moment in everywhere},
        "weights": {"evaluation": weights, "warm-up": held, "sampling": held, "update": held},
        "gradients, Adam": optimiser,
        "sampling copy": {"sampling": weights * copied, "update": weights * copied},
        "keys, values": {
            "evaluation": cache * recipe.sampling.batch_size,
            "sampling": cache * step,
            "update": cache * step,
        },
        "sampling step": {"evaluation": sampled(recipe.sampling.batch_size), "sampling": sampled(step)},
        "activations": {
            "warm-up": activations(rows, row, False),
            "update": activations(micro, width, checkpointing),
        },
        "backward": {"warm-up": working(rows, row), "update": working(micro, width)},
        "logits, in tiles": {
            "warm-up": logits(rows, row),
            "update": logits(micro, recipe.sampling.max_new_tokens),
        },
    }
    if not rows:
        terms = {name: {m: v for m, v in term.items() if m != "warm-up"} for name, term in terms.items()}
    return Fit(terms=terms, gpu=gpu_gib * GIB, prompt_tokens=prompt, parameters=parameters, trained=trained)


def _on_meta(config: Any, dtype: Any) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, dtype=dtype)


def _cache(config: Any, itemsize: int, tokens: int) -> float:
    """Bytes of one row's keys, values and recurrent states."""
    text = config.get_text_config()
    kinds = getattr(text, "layer_types", None) or ["full_attention"] * text.num_hidden_layers
    size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    shared = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    attention = sum(kind.endswith("attention") and kind != "linear_attention" for kind in kinds)
    bytes_: float = 2.0 * attention * shared * size * tokens * itemsize
    if hasattr(text, "ssm_state_size"):
        state = text.mamba_num_heads * text.mamba_head_dim * text.ssm_state_size * 4
        bytes_ += kinds.count("linear_attention") * state
    return bytes_


def _lengths(recipe: Recipe, skill: Skill, tokenizer: Any) -> tuple[int, int]:
    """Tokens of the longest prompt and of the longest supervised row; without a tokenizer a token is three characters."""
    from climbable.core.prompt import chat, render
    from climbable.policy.model import prompt_ids
    from climbable.train.course import first_tasks

    prompts, rows = [], []
    for task in first_tasks(recipe, skill, max(32, recipe.train.prompts)):
        answer = skill.teach(task, 0)
        if tokenizer is None:
            prompt = len(render(None, chat(skill.system_prompt, task.prompt))) // 3
            taught = len(answer) // 3
        else:
            prompt = len(prompt_ids(tokenizer, skill, task))
            taught = len(tokenizer(answer, add_special_tokens=False)["input_ids"]) + 1
        prompts.append(prompt)
        rows.append(prompt + taught)
    return max(prompts), max(rows)


def _advice(recipe: Recipe, skill: Skill, config: Any, tokenizer: Any, fit: Fit) -> tuple[str, ...]:
    """Changes of the recipe until it fits, each the cheapest that lowers the peak by then; the last value of each key."""
    lines: dict[str, str] = {}
    while not fit.fits:
        for part, key, value in _changes(recipe, fit):
            tried = replace(recipe, **{part: replace(getattr(recipe, part), **{key: value})})
            after = _predict(tried, skill, config, tokenizer, fit.gpu / GIB)
            if after.peak < fit.peak:
                recipe, fit = tried, after
                lines[f"{part}.{key}"] = f"{part}.{key} = {str(value).lower()}  → {fit.peak / GIB:.1f} GiB"
                break
        else:
            lines["else"] = "it still does not fit: a smaller model, fewer prompts × group, or a larger GPU"
            break
    return tuple(lines.values())


def _changes(recipe: Recipe, fit: Fit) -> list[tuple[str, str, Any]]:
    """What lowers the moment of the peak, the cheapest first: table, key and value of the recipe."""
    moment = max(fit.peaks, key=lambda one: fit.peaks[one])
    step = recipe.train.prompts * recipe.train.group
    lower = [n for n in range(1, recipe.train.micro_batch or step) if step % n == 0]
    changes: list[tuple[str, str, Any]] = []
    if moment == "evaluation" and recipe.sampling.batch_size > 1:
        changes.append(("sampling", "batch_size", recipe.sampling.batch_size // 2))
    if moment == "warm-up" and recipe.warmup.batch_size > 1:
        changes.append(("warmup", "batch_size", recipe.warmup.batch_size // 2))
    if moment == "update" and lower:
        changes.append(("train", "micro_batch", lower[-1]))
    if moment == "update" and not recipe.train.gradient_checkpointing:
        changes.append(("train", "gradient_checkpointing", True))
    if moment in ("sampling", "update") and recipe.sampling.merge:
        changes.append(("sampling", "merge", False))
    return changes
