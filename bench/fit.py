"""Predicted against measured peak memory of one real GRPO update, on randomly initialised models of published shapes.

    python bench/fit.py --json fit.json         # one GPU, held to 24 GiB; about 6 minutes
    python bench/fit.py --tiny                  # a CPU, seconds: the same path with tiny layers, no memory to measure

Nothing is downloaded: weights are random, the tokenizer is SmolLM2's, and the reward is a hash of the answer, so that
groups differ. Sampling, adapter, trainer and optimiser are the package's own. Memory is what torch had allocated at the
peak; `predicted` is the higher one of sampling and update in `climb fit`, without the CUDA context, which torch does
not count. Without their CUDA kernels Nemotron's Mamba layers run in torch operations, here in chunks of 16 positions instead
of 128: the result is the same, and Transformers before 5.24 would want memory for positions × chunk × heads × states.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import hashlib
import json
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers

from climbable.core import records
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.core.skill import Skill
from climbable.core.types import Judgement, Task
from climbable.policy import loading
from climbable.recipe import Model, Recipe, Sampling, Train, Warmup
from climbable.skills import load_skill
from climbable.train.fit import CONTEXT, GIB, predict_fit
from climbable.train.grpo import optimise
from climbable.train.learner import load_learner
from climbable.verify import Verifier

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
NEMOTRON_4B = "M-M-M-MM-M-M*-M-M*-M-M-M*-M-M-MM*-MMM-M-M-"
"""Layers of Nemotron 3 Nano 4B's mix: 21 Mamba, 4 attention, 17 feed-forward."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One model's shape and how it is trained."""

    shape: str
    says: str
    prompts: int = 4
    new_tokens: int = 896
    micro_batch: int = 1
    checkpointing: bool = True
    merge: bool = False
    targets: tuple[str, ...] = ATTENTION
    capped: bool = True
    full_logits: bool = False


CASES = {
    "nemotron-4b": Case(
        shape="nemotron", says="Nemotron 3 Nano 4B's shape, adapter on attention and in_proj", targets=(*ATTENTION, "in_proj")
    ),
    "qwen3-4b": Case(shape="qwen3", says="Qwen3-4B's shape, adapter on attention"),
    "qwen3-4b-merged": Case(shape="qwen3", says="the same, sampling from a merged copy", merge=True),
    "qwen3-4b-plain": Case(shape="qwen3", says="the same, without activation checkpointing", checkpointing=False),
    "qwen2.5-0.5b": Case(
        shape="qwen2", says="Qwen2.5-0.5B's shape, 256 × 200, all in one micro-batch, logits in TRL's tiles",
        prompts=32, new_tokens=200, micro_batch=256, merge=True,
    ),
    "qwen2.5-0.5b-full-logits": Case(
        shape="qwen2", says="the same with all logits at once, in a quarter of the micro-batch, not held to the limit",
        prompts=32, new_tokens=200, micro_batch=64, merge=True, capped=False, full_logits=True,
    ),
}  # fmt: skip


def main() -> None:
    """The command line."""
    options = _options()
    gpu = torch.cuda.is_available()
    name = torch.cuda.get_device_name(0) if gpu else "CPU"
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    print(f"{name}, {versions}; one update of prompts × 8 samples; {options.gpu_gib:g} GiB", flush=True)
    results = []
    for each in options.cases.split(","):
        row: dict[str, Any] = {"case": each}
        try:
            for part in _measure(CASES[each], options):
                row |= part
        except torch.OutOfMemoryError as error:
            row |= {"error": str(error).split(". ")[0], "where": _where(error)}
        results.append(row)
        print(json.dumps(row), flush=True)
        _free()
    if options.json:
        Path(options.json).write_text(
            json.dumps({"device": name, "versions": versions, "cases": results}, indent=2) + "\n", encoding="utf-8"
        )


def _measure(case: Case, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is predicted, then what was measured."""
    gpu, skill = torch.cuda.is_available(), _skill()
    if gpu:
        share = options.gpu_gib * GIB / torch.cuda.get_device_properties(0).total_memory if case.capped else 1.0
        torch.cuda.set_per_process_memory_fraction(share)
    folder = Path(tempfile.mkdtemp(prefix="fit-"))
    try:
        _write_model(case, folder / "model", options.tiny)
        recipe = _recipe(case, folder / "model", options.tiny)
        fit = predict_fit(recipe, skill, gpu_gib=options.gpu_gib)
        predicted = (max(fit.peaks["sampling"], fit.peaks["update"]) - CONTEXT) / GIB
        yield {"says": case.says, "parameters": fit.parameters, "trained": fit.trained}
        yield {"predicted_gib": round(predicted, 2), "terms_gib": fit.to_json()["terms_gib"]}
        learner = load_learner(recipe, skill, None)
        if gpu:
            torch.cuda.reset_peak_memory_stats()
        began, run = time.perf_counter(), RunFolder(folder / "run")
        with Verifier(skill) as verifier, _full_logits(case.full_logits):
            optimise(recipe, skill, verifier, learner, run, stage="pilot", steps=1, progress=Silent())
        (metrics,) = records.read(run.metrics)
        yield {
            "grad_norm": round(metrics["grad_norm"], 5),
            "signal": metrics["signal"]["share"],
            "seconds": {part: round(spent, 1) for part, spent in metrics["seconds"].items()},
            "whole_s": round(time.perf_counter() - began, 1),
        }
        if gpu:
            measured = torch.cuda.max_memory_allocated() / GIB
            yield {
                "measured_gib": round(measured, 2),
                "ratio": round(predicted / measured, 3),
                "reserved_gib": round(torch.cuda.max_memory_reserved() / GIB, 2),
            }
    finally:
        shutil.rmtree(folder)


def _recipe(case: Case, model: Path, tiny: bool) -> Recipe:
    return Recipe(
        name="fit",
        skill="scene",
        model=Model(name=str(model), lora_rank=32, lora_alpha=64, lora_targets=case.targets),
        sampling=Sampling(max_new_tokens=8 if tiny else case.new_tokens, merge=case.merge),
        warmup=Warmup(rows=0),
        train=Train(
            prompts=1 if tiny else case.prompts,
            group=8,
            micro_batch=1 if tiny else case.micro_batch,
            gradient_checkpointing=case.checkpointing,
        ),
    )


def _skill() -> Skill:
    """The scene skill's prompts, with a reward that needs no Blender."""

    def judge(task: Task, artefact: object) -> Judgement:
        share = hashlib.sha256(str(artefact).encode()).digest()[0] / 255
        return Judgement(checks=(), solved=False, parts={"hash": round(share, 4)})

    return dataclasses.replace(load_skill("scene"), runtime="none", read=lambda text: text, judge=judge)


def _write_model(case: Case, folder: Path, tiny: bool) -> None:
    """A model of the case's shape with random weights in bfloat16, and SmolLM2's tokenizer."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        model = AutoModelForCausalLM.from_config(_config(case.shape, tiny), dtype=torch.bfloat16)
    finally:
        torch.set_default_device(None)
    model.save_pretrained(folder)
    loading.load_tokenizer(loading.locate("smollm2")).save_pretrained(folder)
    del model
    _free()


def _config(shape: str, tiny: bool) -> Any:
    from transformers import NemotronHConfig, Qwen2Config, Qwen3Config

    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    little = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}
    little |= {"vocab_size": 49152, "head_dim": 16}
    if shape == "nemotron":
        sizes = {
            "vocab_size": 131072, "hidden_size": 3136, "intermediate_size": 12544, "num_attention_heads": 40,
            "num_key_value_heads": 8, "head_dim": 128, "mamba_num_heads": 96, "mamba_head_dim": 80,
            "ssm_state_size": 128, "n_groups": 8, "hybrid_override_pattern": NEMOTRON_4B, "chunk_size": 16,
        }  # fmt: skip
        small = little | {"mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 16, "n_groups": 2}
        return NemotronHConfig(**(small | {"hybrid_override_pattern": "M-*-"} if tiny else sizes), **ends)
    if shape == "qwen3":
        sizes = {
            "vocab_size": 151936, "hidden_size": 2560, "intermediate_size": 9728, "num_attention_heads": 32,
            "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 36,
        }  # fmt: skip
        return Qwen3Config(**(little | {"num_hidden_layers": 2} if tiny else sizes), tie_word_embeddings=True, **ends)
    sizes = {
        "vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14,
        "num_key_value_heads": 2, "num_hidden_layers": 24,
    }  # fmt: skip
    return Qwen2Config(**(little | {"num_hidden_layers": 2} if tiny else sizes), tie_word_embeddings=True, **ends)


@contextmanager
def _full_logits(wanted: bool) -> Iterator[None]:
    """TRL's trainer with the logits of all positions at once, as a loop of one's own would have them."""
    from trl import GRPOTrainer

    def plain(trainer: Any, model: Any, input_ids: Any, attention_mask: Any, keep: int, *_: Any, **__: Any) -> Any:
        with trainer.accelerator.autocast():
            logits = model(input_ids=input_ids, attention_mask=attention_mask, logits_to_keep=keep + 1).logits[:, :-1]
        logprobs = (logits.float() / trainer.temperature).log_softmax(-1)
        with torch.no_grad():
            entropies = -(logprobs.exp() * logprobs).sum(-1)
        return logprobs.gather(2, input_ids[:, -keep:, None])[..., 0], entropies, None

    tiles = GRPOTrainer._get_per_token_logps_and_entropies
    if wanted:
        GRPOTrainer._get_per_token_logps_and_entropies = plain
    try:
        yield
    finally:
        GRPOTrainer._get_per_token_logps_and_entropies = tiles


def _where(error: BaseException) -> str:
    """The innermost function of an error's way, with its file."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"


def _free() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES), help="default: %(default)s")
    parser.add_argument("--gpu-gib", type=float, default=24.0, help="what the process may take (default: %(default)s)")
    parser.add_argument("--tiny", action="store_true", help="tiny layers and short answers")
    parser.add_argument("--json", help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
