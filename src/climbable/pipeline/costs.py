"""The ledger of a run, ``costs.jsonl``: one line a stage, appended when it ends; without it a stage is not done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from climbable.core import records
from climbable.core.run import RunFolder
from climbable.pipeline.environment import gpus
from climbable.recipe import Recipe


@contextmanager
def charged(run: RunFolder, recipe: Recipe, stage: str) -> Iterator[dict[str, Any]]:
    """Writes what the block cost under `stage`; a block that raises is charged too, but not as finished.

    The block is given a dict for whatever else its line should say. Samples of an earlier attempt that was killed
    before it could be charged are counted here, and also apart as ``kept``; its seconds are lost.
    """
    began, finished, further = time.monotonic(), False, dict[str, Any]()
    kept, _ = _uncharged(run, stage)
    try:
        yield further
        finished = True
    finally:
        seconds = time.monotonic() - began
        samples, tokens = _uncharged(run, stage)
        devices = len(gpus()) if recipe.model.device != "cpu" else 0
        row = {
            "stage": stage,
            "finished": finished,
            "seconds": round(seconds, 2),
            "gpu_seconds": round(seconds * min(devices, 1), 2),
            "samples": samples,
            "kept": kept,
            "tokens": tokens,
            "money": round(seconds / 3600 * recipe.costs.price_per_hour, 4),
            "currency": recipe.costs.currency,
            "at": time.time(),
        }
        records.append(run.costs, [row | further])


def finished(run: RunFolder, stage: str) -> bool:
    """Whether `stage` ended well, now or before a kill."""
    return any(row["stage"] == stage and row["finished"] for row in records.read(run.costs))


def seconds_by_stage(run: RunFolder) -> dict[str, float]:
    """How long each finished stage takes as a whole; what a killed attempt left is added at the rate of the rest."""
    seconds = {}
    for row in records.read(run.costs):
        if row["finished"]:
            fresh = row["samples"] - row["kept"]
            seconds[row["stage"]] = row["seconds"] * (row["samples"] / fresh if fresh > 0 else 1.0)
    return seconds


def _uncharged(run: RunFolder, stage: str) -> tuple[int, int]:
    """Samples and generated tokens that the run's records hold for `stage` and no line of the ledger has counted."""
    sampled = [row["tokens"] for row in records.read(run.rollouts) if row["stage"] == stage]
    charged = [row for row in records.read(run.costs) if row["stage"] == stage]
    samples = len(sampled) - sum(row["samples"] for row in charged)
    tokens = sum(sampled) - sum(row["tokens"] for row in charged)
    return max(0, samples), max(0, tokens)
