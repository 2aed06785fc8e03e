"""Real tokens a second of the ways to sample from a model with an adapter, side by side in one run.

    python bench/sampling.py --batch 256 --json sampling.json        # one GPU, about 4 minutes
    python bench/sampling.py --batch 8 --new-tokens 32 --ways eager,merged       # a CPU

Every way gets the same prompts, settings and weights: LoRA on every usual module, with weights that are not 0. A real
token is one up to and with the end of an answer; padding after it counts for nothing. The first call compiles and is
timed apart; `speedup` is the ratio to the first way, best of the calls after it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from climbable.policy.model import prompt_ids, sampler_settings
from climbable.policy.sampler import Sampler
from climbable.recipe import Model, Recipe, Sampling
from climbable.skills import load_skill
from climbable.train.learner import load_learner
from climbable.train.pilot import fixed_logprobs, largest_gap
from climbable.train.sampling_copy import SamplingCopy

WAYS = {
    "eager": "Transformers' dynamic cache, adapter beside the weights: what TRL does unless told otherwise",
    "static": "static cache and compiled decode step, adapter beside the weights",
    "merged": "dynamic cache, from a merged copy",
    "merged-static": "static cache and compiled decode step, from a merged copy",
    "merged-graph": "static cache and captured decode step, from a merged copy: what Climbable does on a GPU",
    "continuous": "Transformers' continuous batching (generate_batch), from a merged copy",
}

Way = Callable[[], list[list[int]]]


def main() -> None:
    """The command line."""
    options = _options()
    recipe = Recipe(
        name="bench",
        skill="scene",
        model=Model(name=options.model, lora_rank=options.rank, lora_alpha=2 * options.rank),
        sampling=Sampling(max_new_tokens=options.new_tokens),
    )
    skill = load_skill("scene")
    learner = load_learner(recipe, skill, None)
    torch.manual_seed(0)
    with torch.no_grad():
        for weights in learner.model.parameters():
            if weights.requires_grad:
                weights.add_(1e-3 * torch.randn_like(weights))
    learner.model.eval()
    copy = SamplingCopy(learner, recipe)
    families = skill.trained_families()
    tasks = [skill.task(families[i % len(families)], "train", i) for i in range(options.batch // 8 or 1)]
    prompts = [prompt_ids(learner.tokenizer, skill, task) for task in tasks for _ in range(8)][: options.batch]

    gap = largest_gap(
        fixed_logprobs(learner, learner.model, recipe, skill), fixed_logprobs(learner, copy.model, recipe, skill)
    )
    print(f"largest gap in log-probability per token, learner against merged copy: {gap:.2g}")
    results: dict[str, Any] = {"device": _device(), "torch": torch.__version__, "logprob_gap": gap, "ways": {}}
    for name in options.ways.split(","):
        try:
            results["ways"][name] = _measure(_way(name, learner, copy, prompts, recipe), options.calls)
        except Exception as error:  # a way that a machine lacks is a line of the table, not the end of it
            results["ways"][name] = {"error": f"{type(error).__name__}: {error}"[:300]}
        _show(name, results["ways"])
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def _way(name: str, learner: Any, copy: SamplingCopy, prompts: list[list[int]], recipe: Recipe) -> Way:
    model = learner.model if name in ("eager", "static") else copy.model
    settings = sampler_settings(
        model,
        learner.tokenizer,
        temperature=recipe.sampling.temperature,
        top_p=1.0,
        max_new_tokens=recipe.sampling.max_new_tokens,
        cache=next((cache for cache in ("static", "graph") if name.endswith(cache)), "dynamic"),
    )
    if name == "continuous":
        return lambda: _continuous(model, prompts, settings)
    if name not in WAYS:
        sys.exit(f"there is no way {name!r}; known: {', '.join(WAYS)}")
    sampler = Sampler(model, settings)
    return lambda: sampler.sample(prompts)


def _continuous(model: Any, prompts: list[list[int]], settings: Any) -> list[list[int]]:
    from transformers import GenerationConfig

    config = GenerationConfig(
        do_sample=True,
        temperature=settings.temperature,
        max_new_tokens=settings.max_new_tokens,
        eos_token_id=list(settings.ends),
        pad_token_id=settings.pad,
        use_cache=True,
    )
    model.set_attn_implementation("sdpa")
    outputs = model.generate_batch(prompts, generation_config=config, progress_bar=False)
    return [output.generated_tokens for output in outputs.values()]


def _measure(way: Way, calls: int) -> dict[str, float]:
    seconds, tokens = [], []
    for _ in range(calls + 1):
        torch.manual_seed(1)
        began = time.perf_counter()
        answers = way()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
        tokens.append(sum(map(len, answers)))
    rates = [count / spent for count, spent in zip(tokens[1:], seconds[1:], strict=True)]
    return {"first_call_s": seconds[0], "tokens_per_s": max(rates), "tokens": tokens[-1], "seconds": min(seconds[1:])}


def _show(name: str, ways: dict[str, Any]) -> None:
    figures, first = ways[name], next(iter(ways.values()))
    if "error" in figures:
        print(f"{name:14} {figures['error']}", flush=True)
        return
    figures["speedup"] = figures["tokens_per_s"] / first.get("tokens_per_s", figures["tokens_per_s"])
    print(
        f"{name:14} {figures['tokens_per_s']:8.0f} tokens/s  × {figures['speedup']:5.2f}  "
        f"first call {figures['first_call_s']:5.1f} s   {WAYS[name]}",
        flush=True,
    )


def _device() -> str:
    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2", help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=256, help="completions at once (default: %(default)s)")
    parser.add_argument("--new-tokens", type=int, default=200, help="at most (default: %(default)s)")
    parser.add_argument("--rank", type=int, default=32, help="of the adapter (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=3, help="after the first (default: %(default)s)")
    parser.add_argument("--ways", default=",".join(WAYS), help="in this order (default: %(default)s)")
    parser.add_argument("--json", help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
