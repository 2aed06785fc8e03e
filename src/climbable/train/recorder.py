"""What a training step leaves behind: a line of metrics, and the mark of a whole checkpoint."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from climbable.core import records
from climbable.core.errors import StageSaysNo
from climbable.core.progress import Progress
from climbable.core.run import RunFolder
from climbable.train.grader import Grader

COMPLETE = "complete"
"""The file that is written into a checkpoint after everything else in it."""

_LOGGED = ("loss", "grad_norm", "learning_rate", "entropy", "kl", "clip_ratio/region_mean")


def recorder(run: RunFolder, stage: str, grader: Grader, progress: Progress) -> Any:
    """A callback for TRL's trainer; its class can only be made once Transformers is imported."""
    from transformers import TrainerCallback

    class Recorder(TrainerCallback):  # type: ignore[misc]
        """Writes ``metrics.jsonl`` and drives the progress display."""

        def __init__(self) -> None:
            self._step_began = time.monotonic()

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step % args.num_iterations == 0:
                self._step_began = time.monotonic()
                grader.take_seconds()

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "loss" not in logs:
                return  # the summary after the last step
            total = time.monotonic() - self._step_began
            parts = grader.take_seconds()
            seconds = {**parts, "update": total - sum(parts.values()), "total": total}
            figures = {name.split("/")[0]: _finite(logs[name]) for name in _LOGGED if name in logs}
            step = state.global_step // args.num_iterations
            row = {"stage": stage, "step": step, **grader.figures, **figures, "seconds": seconds}
            records.append(run.metrics, [row])
            _stop_on_no_number(row)
            shown = {"reward": row["reward"] or 0.0, "signal": row["signal"]["share"], "grad": row["grad_norm"] or 0.0}
            progress.advance(**shown)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            records.write_whole(folder / COMPLETE, "")

        def summary(self) -> dict[str, Any]:
            """What `TrainResult` says of the steps so far, those before a resume included."""
            rows = [row for row in records.read(run.metrics) if row["stage"] == stage]
            return {
                "steps": len(rows),
                "samples": sum(row["samples"] for row in rows),
                "tokens": sum(row["tokens"] for row in rows),
                "seconds": sum(row["seconds"]["total"] for row in rows),
                "first_reward": rows[0]["reward"] or 0.0,
                "last_reward": rows[-1]["reward"] or 0.0,
            }

    return Recorder()


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _stop_on_no_number(row: dict[str, Any]) -> None:
    if row["loss"] is None or row["grad_norm"] is None:
        raise StageSaysNo(
            f"loss or gradient of step {row['step']} is not finite: lower 'train.learning_rate', then start this stage anew"
        )
