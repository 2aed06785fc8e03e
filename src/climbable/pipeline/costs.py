"""The ledger of a run, ``costs.jsonl``: one line an attempt at a stage, appended when it ends; a stage is done once one finished."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from climbable.core import records
from climbable.core.run import RunFolder
from climbable.pipeline.environment import gpus
from climbable.recipe import Recipe


@contextmanager
def charged(run: RunFolder, recipe: Recipe, stage: str) -> Iterator[dict[str, Any]]:
    """Writes what the block cost under `stage`; a block that raises is charged too, but not as finished.

    The block is given a dict for whatever else its line should say. An earlier attempt that was killed is charged first,
    up to the last thing that it recorded.
    """
    charge_killed(run, recipe)
    began, finished, further = time.time(), False, dict[str, Any]()
    records.write_json(run.attempt, {"stage": stage, "began": began})
    try:
        yield further
        finished = True
    finally:
        _charge(run, recipe, stage, seconds=time.time() - began, finished=finished, further=further)
        run.attempt.unlink()


def charge_killed(run: RunFolder, recipe: Recipe) -> None:
    """Charges an attempt that was killed before it could be, if there is one."""
    attempt = records.read_json(run.attempt)
    if attempt is None:
        return
    charged_since = any(row["at"] >= attempt["began"] for row in records.read(run.costs))
    if not charged_since:  # else the kill came between the charge and the end of the attempt's mark
        last = max((path.stat().st_mtime for path in (run.rollouts, run.metrics) if path.exists()), default=0.0)
        _charge(run, recipe, attempt["stage"], seconds=max(0.0, last - attempt["began"]), finished=False, further={})
    run.attempt.unlink()


def finished(run: RunFolder, stage: str) -> bool:
    """Whether `stage` ended well, now or before a kill."""
    return any(row["stage"] == stage and row["finished"] for row in records.read(run.costs))


def seconds_by_stage(run: RunFolder) -> dict[str, float]:
    """How long each finished stage took, all its attempts together."""
    seconds, done = _seconds(run), {row["stage"] for row in records.read(run.costs) if row["finished"]}
    return {stage: spent for stage, spent in seconds.items() if stage in done}


def begun(run: RunFolder, samples: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    """Of each stage that was begun and not finished: the share of its `samples` that is recorded, and its seconds so far."""
    done, recorded = seconds_by_stage(run), dict[str, int]()
    for row in records.read(run.rollouts):
        if not row.get("replaced"):
            recorded[row["stage"]] = recorded.get(row["stage"], 0) + 1
    seconds = _seconds(run)
    return {
        stage: (min(1.0, recorded[stage] / expected), seconds[stage])
        for stage, expected in samples.items()
        if expected and stage not in done and stage in recorded and stage in seconds
    }


def _seconds(run: RunFolder) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for row in records.read(run.costs):
        seconds[row["stage"]] = seconds.get(row["stage"], 0.0) + row["seconds"]
    return seconds


def _charge(
    run: RunFolder, recipe: Recipe, stage: str, *, seconds: float, finished: bool, further: Mapping[str, Any]
) -> None:
    samples, tokens = _uncharged(run, stage)
    devices = len(gpus()) if recipe.model.device != "cpu" else 0
    row = {
        "stage": stage,
        "finished": finished,
        "seconds": round(seconds, 2),
        "gpu_seconds": round(seconds * min(devices, 1), 2),
        "samples": samples,
        "tokens": tokens,
        "money": round(seconds / 3600 * recipe.costs.price_per_hour, 4),
        "currency": recipe.costs.currency,
        "at": time.time(),
    }
    records.append(run.costs, [{**row, **further}])


def _uncharged(run: RunFolder, stage: str) -> tuple[int, int]:
    """Samples and generated tokens that the run's records hold for `stage` and no line of the ledger has counted."""
    sampled = [row["tokens"] for row in records.read(run.rollouts) if row["stage"] == stage]
    charged = [row for row in records.read(run.costs) if row["stage"] == stage]
    samples = len(sampled) - sum(row["samples"] for row in charged)
    tokens = sum(sampled) - sum(row["tokens"] for row in charged)
    return max(0, samples), max(0, tokens)
