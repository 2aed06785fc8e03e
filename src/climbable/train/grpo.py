"""GRPO: the recipe's prompts are sampled, verified, compared within their groups, and the adapter moves towards the better.

TRL's `GRPOTrainer` does the objective and the update; sampling and rewards are ours, so that prompt, sampler and
verifier are the same in training and evaluation, and so that every finished group is on disk before the update.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from climbable.core import records
from climbable.core.errors import StageSaysNo
from climbable.core.progress import Progress
from climbable.core.run import RunFolder
from climbable.core.skill import Skill
from climbable.policy.model import sampler_settings
from climbable.policy.quiet import quiet_libraries
from climbable.policy.sampler import Sampler
from climbable.recipe import Recipe
from climbable.rollout import seed_of
from climbable.train import preflight
from climbable.train.course import Course
from climbable.train.grader import Grader
from climbable.train.learner import Learner, drop_reference, load_learner, save_learner
from climbable.train.recorder import COMPLETE, recorder
from climbable.train.rounds import Rounds
from climbable.train.sampling_copy import sampling_copy
from climbable.train.terms import announce, grpo_terms
from climbable.verify import Verifier

STAGE = "train"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainResult:
    """What a stretch of GRPO did."""

    steps: int
    samples: int
    tokens: int
    seconds: float
    first_reward: float
    last_reward: float
    forced: bool = False


def train(
    recipe: Recipe,
    skill: Skill,
    verifier: Verifier,
    run: RunFolder,
    *,
    progress: Progress,
    resume: bool = False,
    force: bool = False,
) -> TrainResult:
    """The whole stage: from the warm-up's adapter (or the bare model) to ``run.adapter``.

    Refuses to start unless gate and pilot said go to this very policy; `force` goes on all the same and is recorded.
    With `resume` it goes on from the last whole checkpoint, and groups beyond that are sampled anew.
    """
    learner = load_learner(recipe, skill, run.warmup if run.warmup.exists() else None)
    if not force:
        preflight.require_go(run, learner, recipe)
    settings = trainer_settings(recipe, learner.device, run.checkpoints / STAGE, recipe.train.steps)
    announce(run, STAGE, grpo_terms(settings, learner.model.config), progress)
    result = optimise(
        recipe, skill, verifier, learner, run, stage=STAGE, steps=recipe.train.steps, progress=progress, resume=resume
    )
    save_learner(learner, run.adapter, recipe)
    return TrainResult(**result, forced=force)


def optimise(
    recipe: Recipe,
    skill: Skill,
    verifier: Verifier,
    learner: Learner,
    run: RunFolder,
    *,
    stage: str,
    steps: int,
    progress: Progress,
    resume: bool = False,
) -> dict[str, Any]:
    """`steps` steps of the learner in place, with rollouts, metrics and checkpoints under `stage`."""
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    checkpoint = last_checkpoint(run.checkpoints / stage) if resume else None
    every = recipe.train.num_iterations
    done = int(checkpoint.name.rpartition("-")[2]) // every if checkpoint else 0
    forget_beyond(run, stage, done)
    settings = sampler_settings(
        learner.model,
        learner.tokenizer,
        temperature=recipe.sampling.temperature,
        top_p=recipe.sampling.top_p,
        max_new_tokens=recipe.sampling.max_new_tokens,
        cache=recipe.sampling.cache,
    )
    copy = sampling_copy(learner, recipe)
    sampler = Sampler(copy.model if copy else learner.model, settings)
    grader = Grader(skill, verifier, learner.tokenizer, settings.ends, recipe.train.group, run.rollouts, stage)

    course = Course(recipe, skill)
    course.replay(row for row in records.read(run.rollouts) if row["stage"] == stage)
    rounds = Rounds(
        recipe=recipe,
        skill=skill,
        learner=learner,
        sampler=sampler,
        copy=copy,
        course=course,
        grader=grader,
        progress=progress,
    )
    callback = recorder(run, stage, grader, progress)
    trainer = GRPOTrainer(
        model=learner.model,
        processing_class=learner.tokenizer,
        reward_funcs=[grader.rewards],
        rollout_func=rounds,
        train_dataset=Dataset.from_list([{"prompt": ""}] * (recipe.train.prompts * max(1, steps - done))),
        args=trainer_settings(recipe, learner.device, run.checkpoints / stage, steps),
        callbacks=[callback],
    )
    trainer.remove_callback(PrinterCallback)
    torch.manual_seed(seed_of(recipe.seed, stage, done))
    progress.start(stage, steps, "steps")
    progress.advance(done)
    if done < steps:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    progress.finish()
    drop_reference(learner)
    if (updates := trainer.state.global_step) < steps * every and done < steps:
        raise StageSaysNo(f"the trainer stopped after {updates} of {steps * every} updates without an error")
    summary: dict[str, Any] = callback.summary()
    return summary


def trainer_settings(recipe: Recipe, device: str, folder: Path, steps: int) -> Any:
    """TRL's configuration: one generation and `num_iterations` updates a step, whatever the micro-batch."""
    from trl import GRPOConfig

    quiet_libraries()
    a_step = recipe.train.prompts * recipe.train.group
    micro = recipe.train.micro_batch or a_step
    gpu = device.startswith("cuda")
    every = recipe.train.num_iterations
    return GRPOConfig(
        output_dir=str(folder),
        max_steps=steps * every,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=a_step // micro,
        num_generations=recipe.train.group,
        max_completion_length=recipe.sampling.max_new_tokens,
        temperature=recipe.sampling.temperature,
        top_p=recipe.sampling.top_p,
        learning_rate=recipe.train.learning_rate,
        lr_scheduler_type=recipe.train.schedule,
        warmup_steps=recipe.train.warmup_steps * every,
        num_iterations=every,
        loss_type=recipe.train.loss,
        importance_sampling_level=recipe.train.importance_sampling_level,
        epsilon=recipe.train.epsilon,
        epsilon_high=recipe.train.epsilon_high or None,
        beta=recipe.train.beta,
        entropy_coef=recipe.train.entropy_bonus,
        top_entropy_quantile=recipe.train.top_entropy_quantile,
        scale_rewards=recipe.train.scale_rewards,
        max_grad_norm=recipe.train.max_grad_norm,
        weight_decay=0.0,  # with it weights move even where no reward differs
        gradient_checkpointing=recipe.train.gradient_checkpointing,
        bf16=gpu,
        use_cpu=not gpu,
        dataloader_pin_memory=gpu,
        seed=recipe.seed,
        shuffle_dataset=False,
        remove_unused_columns=False,
        ignore_data_skip=True,  # a resumed run's course knows where it was
        logging_steps=every,  # a line a step
        save_strategy="steps" if folder.name == STAGE else "no",
        save_steps=recipe.train.checkpoint_every * every,
        save_total_limit=2,
        report_to=[],
        disable_tqdm=True,
    )


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written whole; what a kill left half written is removed."""
    whole = []
    for path in folder.glob("checkpoint-*"):
        if (path / COMPLETE).exists():
            whole.append(path)
        else:
            shutil.rmtree(path)
    return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def forget_beyond(run: RunFolder, stage: str, done: int) -> None:
    """Drops the records of steps that the checkpoint does not hold: they are made anew."""
    for path in (run.rollouts, run.metrics):
        records.rewrite(path, lambda row: row["stage"] != stage or row["step"] <= done)
