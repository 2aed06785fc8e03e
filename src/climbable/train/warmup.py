"""The warm-up: supervised rows by the skill's teacher, so that the policy samples every kind of answer at least sometimes.

Rows are balanced over sub-kinds: what the policy never samples, GRPO cannot reward. The loss is on the completion and
its end token alone, after exactly the token ids that sampling will use as the prompt.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from climbable.core import records
from climbable.core.errors import StageSaysNo, UserError
from climbable.core.progress import Progress
from climbable.core.run import RunFolder
from climbable.core.skill import Skill
from climbable.core.types import Task
from climbable.policy.model import prompt_ids
from climbable.policy.quiet import quiet_libraries
from climbable.recipe import Recipe
from climbable.train.learner import Learner, load_learner, save_learner
from climbable.train.supply import behind_warmup
from climbable.train.terms import announce, sft_terms

STAGE = "warmup"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmupResult:
    """What the warm-up did."""

    rows: int
    steps: int
    first_loss: float
    last_loss: float
    tokens: int
    seconds: float


def warm_up(recipe: Recipe, skill: Skill, run: RunFolder, *, progress: Progress) -> WarmupResult:
    """Trains on the teacher's rows and saves to ``run.warmup``. Short, so a kill starts it anew."""
    records.rewrite(run.metrics, lambda row: row["stage"] != STAGE)
    learner = load_learner(recipe, skill, None)
    rows = [encode(learner, skill, task, style) for task, style in teacher_rows(recipe, skill)]
    longest = max(len(row["input_ids"]) for row in rows)
    _require_room(learner, longest)
    started = time.monotonic()
    losses = _fit(recipe, learner, rows, run, progress)
    save_learner(learner, run.warmup, recipe)
    return WarmupResult(
        rows=len(rows),
        steps=len(losses),
        first_loss=losses[0],
        last_loss=losses[-1],
        tokens=sum(len(row["input_ids"]) for row in rows) * recipe.warmup.epochs,
        seconds=time.monotonic() - started,
    )


def teacher_rows(recipe: Recipe, skill: Skill) -> list[tuple[Task, int]]:
    """``(task, style)`` of every row: train-split tasks of the warm-up's families, as many of each sub-kind as of any other.

    The first tasks of a sub-kind are taken, so that a larger recipe holds the rows of a smaller one.
    """
    families = recipe.warmup_families(skill)
    by_kind: dict[str, list[Task]] = {}
    for family in families:
        for index in range(behind_warmup(recipe)):
            task = skill.task(family, "train", index)
            by_kind.setdefault(skill.subkind(task), []).append(task)
    kinds = sorted(by_kind)
    chosen: list[Task] = []
    for turn in range(max(map(len, by_kind.values()))):
        chosen += [by_kind[kind][turn] for kind in kinds if turn < len(by_kind[kind])]
    return [
        (task, place // len(kinds) % recipe.warmup.styles) for place, task in enumerate(chosen[: recipe.warmup.rows])
    ]


def encode(learner: Learner, skill: Skill, task: Task, style: int) -> dict[str, list[int]]:
    """A row as token ids: ``input_ids``, and ``completion_mask`` that is 1 where the loss looks."""
    prompt = prompt_ids(learner.tokenizer, skill, task)
    answer = learner.tokenizer(skill.teach(task, style), add_special_tokens=False)["input_ids"]
    answer = [*answer, learner.tokenizer.eos_token_id]
    return {"input_ids": prompt + answer, "completion_mask": [0] * len(prompt) + [1] * len(answer)}


def _require_room(learner: Learner, longest: int) -> None:
    """A row that does not fit is an error: cut, it would teach to stop in the middle, or be dropped without a word."""
    room = getattr(learner.model.config, "max_position_embeddings", None)
    if room is not None and longest > room:
        raise UserError(
            f"the longest row has {longest} tokens, but the model reads {room}: shorter tasks, or another model"
        )


def _fit(
    recipe: Recipe, learner: Learner, rows: Sequence[dict[str, list[int]]], run: RunFolder, progress: Progress
) -> list[float]:
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl import SFTTrainer

    per_epoch = math.ceil(len(rows) / recipe.warmup.batch_size)
    settings = warmup_settings(recipe, learner.device, run.checkpoints / STAGE, per_epoch)
    announce(run, STAGE, sft_terms(settings, learner.model.config), progress)
    progress.start(STAGE, per_epoch * recipe.warmup.epochs, "steps")
    losses: list[float] = []

    class Record(TrainerCallback):  # type: ignore[misc]
        """Writes each step's figures, and stops a run whose loss is no number."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "loss" not in logs:
                return
            loss = float(logs["loss"])
            if not math.isfinite(loss):
                raise StageSaysNo(
                    f"the loss of warm-up step {state.global_step} is {loss}: lower 'warmup.learning_rate'"
                )
            losses.append(loss)
            row = {"stage": STAGE, "step": state.global_step, "loss": loss, "learning_rate": logs.get("learning_rate")}
            records.append(run.metrics, [row | {"grad_norm": logs.get("grad_norm")}])
            progress.advance(loss=loss)

    trainer = SFTTrainer(
        model=learner.model,
        processing_class=learner.tokenizer,
        train_dataset=Dataset.from_list(list(rows)),
        callbacks=[Record()],
        args=settings,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    progress.finish()
    if not losses:
        raise StageSaysNo(f"the warm-up made no step: {len(rows)} rows; set 'warmup.rows' to at least 1")
    return losses


def warmup_settings(recipe: Recipe, device: str, folder: Path, per_epoch: int) -> Any:
    """TRL's configuration of a warm-up with `per_epoch` updates an epoch."""
    from trl import SFTConfig

    quiet_libraries()
    gpu = device.startswith("cuda")
    return SFTConfig(
        output_dir=str(folder),
        completion_only_loss=True,
        max_length=None,
        packing=False,
        per_device_train_batch_size=recipe.warmup.batch_size,
        num_train_epochs=recipe.warmup.epochs,
        learning_rate=recipe.warmup.learning_rate,
        lr_scheduler_type=recipe.warmup.schedule,
        warmup_steps=min(5, per_epoch),
        weight_decay=0.0,
        gradient_checkpointing=False,
        bf16=gpu,
        use_cpu=not gpu,
        dataloader_pin_memory=gpu,
        seed=recipe.seed,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
