"""Where the libraries would go on and learn nothing, or the wrong thing, a clear error or verdict stands instead."""

import dataclasses
import itertools
import math
from concurrent.futures import Future

import pytest
import torch

import toy
from climbable.core import records
from climbable.core.errors import StageSaysNo, Unavailable, UserError
from climbable.core.gate import Answer, judge_gate
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.core.types import Outcome, Score
from climbable.policy import load_policy, loading
from climbable.rollout import collect
from climbable.train import preflight, run_pilot, train, warm_up
from climbable.train.cause import LARGEST_SAMPLER_GAP
from climbable.train.grader import MOST_BLIND_STEPS, Grader
from climbable.train.grpo import trainer_settings
from climbable.train.learner import load_learner, save_learner, trained_weights
from climbable.train.sampling_copy import SamplingCopy
from climbable.train.warmup import encode, teacher_rows
from climbable.verify import Verifier


@pytest.fixture
def run(tmp_path):
    return RunFolder(tmp_path)


def changed(recipe, part, **values):
    return dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **values)})


@pytest.fixture
def lora(recipe):
    return changed(recipe, "model", method="lora", lora_rank=4)


class Canned:
    """Scores as a test wants them, in place of a verifier."""

    def __init__(self, rewards):
        self.rewards = itertools.cycle(rewards)

    def submit(self, task, completion):
        reward, score = next(self.rewards), Future()
        outcome = Outcome.UNMEASURED if reward is None else Outcome.SCORED
        score.set_result(Score(task=task.id, outcome=outcome, reward=reward))
        return score


def graded(rewards, tmp_path, recipe, steps=1):
    tokenizer = loading.load_tokenizer(loading.locate(recipe.model.name))
    end = tokenizer.eos_token_id
    task = toy.make_task("two", "train", 0)
    completions = [tokenizer("oak elm")["input_ids"] + ([end] if i % 2 else []) for i in range(len(rewards))]
    grader = Grader(toy.SKILL, Canned(rewards), tokenizer, (end,), len(rewards), tmp_path / "rollouts.jsonl", "train")
    for step in range(1, steps + 1):
        grader.finish_step(step, grader.grade([task], completions))
        handed = grader.rewards(completions)
    return grader, handed


def test_a_saved_adapter_is_loaded_to_be_trained(lora, run):
    learner = load_learner(lora, toy.CHATTY, None)
    save_learner(learner, run.warmup, lora)
    again = load_learner(lora, toy.CHATTY, run.warmup)
    assert again.trainable == learner.trainable > 0


def test_an_adapter_that_came_frozen_is_refused(lora, run, monkeypatch):
    save_learner(load_learner(lora, toy.CHATTY, None), run.warmup, lora)
    load = loading.load_adapter
    monkeypatch.setattr(loading, "load_adapter", lambda model, source, trainable: load(model, source, trainable=False))
    with pytest.raises(Unavailable, match="frozen"):
        load_learner(lora, toy.CHATTY, run.warmup)


def test_a_reward_that_never_differs_is_no_go_and_moves_nothing(recipe, run):
    flat = dataclasses.replace(toy.CHATTY, read=str, judge=lambda task, artefact: toy.judge(task, ""))
    before = trained_weights(load_learner(recipe, flat, None))
    with Verifier(flat) as verifier:
        verdict = run_pilot(changed(recipe, "pilot", steps=1), flat, verifier, run, progress=Silent())
    assert verdict.answer == "no-go"
    assert "every advantage was 0" in verdict.reasons[0]
    assert verdict.largest_grad_norm == verdict.changed_weights == verdict.logprob_change == 0.0
    assert len(before) > 10


def test_a_learning_rate_too_small_for_the_weights_is_no_go(recipe, run):
    with Verifier(toy.CHATTY) as verifier:
        small = changed(changed(recipe, "pilot", steps=1), "train", learning_rate=1e-30)
        warm_up(changed(recipe, "warmup", rows=20, epochs=4), toy.CHATTY, run, progress=Silent())
        verdict = run_pilot(small, toy.CHATTY, verifier, run, progress=Silent())
    assert verdict.answer == "no-go"
    assert any("no trained tensor changed" in reason for reason in verdict.reasons)


def test_a_sampler_that_does_not_follow_the_learner_is_no_go(lora, run, monkeypatch):
    warm_up(changed(lora, "warmup", rows=40, epochs=6), toy.CHATTY, run, progress=Silent())
    with Verifier(toy.CHATTY) as verifier:
        one = changed(lora, "pilot", steps=1)
        assert run_pilot(one, toy.CHATTY, verifier, run, progress=Silent()).sampler_gap < 1e-4
        monkeypatch.setattr(SamplingCopy, "_merge", lambda self, own: None)
        verdict = run_pilot(one, toy.CHATTY, verifier, run, progress=Silent())
    assert verdict.answer == "no-go" and verdict.sampler_gap > LARGEST_SAMPLER_GAP
    assert any("what samples and what learns differ" in reason for reason in verdict.reasons)


def test_training_without_gate_and_pilot_is_refused(recipe, run):
    with Verifier(toy.CHATTY) as verifier, pytest.raises(StageSaysNo, match=r"no gate\.json"):
        train(recipe, toy.CHATTY, verifier, run, progress=Silent())


@pytest.mark.parametrize(
    ("key", "value"), [("policy", "another"), ("prompt_digest", "sha256:0"), ("temperature", 0.3), ("answer", "no-go")]
)
@pytest.mark.parametrize("file", ["gate", "pilot"])
def test_a_go_for_something_else_is_refused(recipe, run, key, value, file):
    learner = load_learner(recipe, toy.CHATTY, None)
    go = {"answer": "go", "reasons": [], "policy": learner.fingerprint, "prompt_digest": learner.prompt_digest}
    go["temperature"] = recipe.sampling.temperature
    records.write_json(run.gate, go)
    records.write_json(run.pilot, go)
    preflight.require_go(run, learner, recipe)
    records.write_json(getattr(run, file), go | {key: value})
    with pytest.raises(StageSaysNo, match=f"{file} (said|was measured)"):
        preflight.require_go(run, learner, recipe)


def test_a_step_without_a_measured_sample_teaches_nothing_and_three_end_the_run(recipe, tmp_path):
    grader, handed = graded([None, None], tmp_path, recipe)
    assert handed == [None, None]
    assert grader.figures["reward"] is None and grader.figures["unmeasured"] == 2
    with pytest.raises(Unavailable, match="nothing could be measured in 3 steps"):
        graded([None, None], tmp_path, recipe, steps=MOST_BLIND_STEPS)


@pytest.mark.parametrize("reward", [math.inf, -math.inf, math.nan])
def test_a_reward_that_is_no_number_is_our_fault(reward):
    broken = dataclasses.replace(
        toy.SKILL, judge=lambda task, artefact: dataclasses.replace(toy.judge(task, ""), parts={"all": reward})
    )
    with Verifier(broken) as verifier:
        score = verifier.verify(toy.make_task("one", "test", 0), "oak")
    assert (score.outcome, score.reward) == (Outcome.UNMEASURED, None)


def test_a_gap_that_is_only_rounding_is_levelled_and_a_real_one_kept(recipe, tmp_path):
    _, handed = graded([0.5, 0.5001, None, 0.5], tmp_path, recipe)
    assert handed[2] is None and handed[0] == handed[1] == handed[3] == pytest.approx(0.50003, abs=1e-5)
    _, handed = graded([0.5, 0.6, None, 0.5], tmp_path, recipe)
    assert handed == [0.5, 0.6, None, 0.5]


@pytest.mark.parametrize("reward", [0.1, 0.3143, 0.6, 1 / 3, 1.0])
@pytest.mark.parametrize("size", [4, 8, 12, 16])
def test_in_a_flat_group_the_advantage_is_0_in_single_precision_too(recipe, tmp_path, reward, size):
    _, handed = graded([reward] * size, tmp_path, recipe)
    rewards = torch.tensor(handed, dtype=torch.float32)
    assert (rewards - torch.nanmean(rewards)).abs().max() == 0
    assert handed[0] == pytest.approx(reward, abs=1e-5)


def test_truncation_is_read_off_the_token_ids(recipe, tmp_path):
    grader, _ = graded([0.1, 0.2, 0.3, 0.4], tmp_path, recipe)
    assert grader.figures["truncated"] == 0.5
    assert [row["truncated"] for row in records.read(tmp_path / "rollouts.jsonl")] == [True, False, True, False]


def test_full_fine_tuning_keeps_single_precision(recipe):
    half = changed(recipe, "model", dtype="bfloat16")
    assert {weights.dtype for weights in load_learner(half, toy.CHATTY, None).model.parameters()} == {torch.float32}


def test_an_adapter_is_in_single_precision_on_a_base_that_is_not(lora):
    learner = load_learner(changed(lora, "model", dtype="bfloat16"), toy.CHATTY, None)
    kinds = {(weights.requires_grad, weights.dtype) for weights in learner.model.parameters()}
    assert kinds == {(True, torch.float32), (False, torch.bfloat16)}


def test_nothing_but_the_reward_moves_the_weights(recipe, tmp_path):
    settings = trainer_settings(recipe, "cpu", tmp_path, 1)
    assert settings.weight_decay == 0.0 and not settings.mask_truncated_completions


def test_a_temperature_near_zero_has_no_signal_and_the_gate_says_so(recipe, run):
    warm_up(changed(recipe, "warmup", rows=20, epochs=4), toy.CHATTY, run, progress=Silent())
    cold = load_policy(recipe.model.name, toy.CHATTY, temperature=1e-4, max_new_tokens=12, adapter=run.warmup)
    tasks = [toy.CHATTY.task("two", "val", i) for i in range(4)]
    with Verifier(toy.CHATTY) as verifier:
        groups = collect(tasks, cold, verifier, samples=4, batch_size=16, seed=0, stage="gate", rollouts=run.rollouts)
    verdict = judge_gate(groups)
    assert verdict.answer is Answer.NO_GO and verdict.signal.with_signal == 0


def test_the_warm_up_looks_at_the_answer_and_its_end_alone(recipe):
    learner = load_learner(recipe, toy.CHATTY, None)
    task, style = teacher_rows(recipe, toy.CHATTY)[0]
    row = encode(learner, toy.CHATTY, task, style)
    seen = [token for token, looked in zip(row["input_ids"], row["completion_mask"], strict=True) if looked]
    assert seen[-1] == learner.tokenizer.eos_token_id
    assert learner.tokenizer.decode(seen[:-1]) == toy.chatty(task, style)
    assert row["completion_mask"] == sorted(row["completion_mask"])


def test_a_row_that_the_model_cannot_hold_is_an_error_and_not_cut(recipe, run):
    long = dataclasses.replace(toy.CHATTY, teach=lambda task, style: "oak " * 300)
    with pytest.raises(UserError, match="the model reads 256"):
        warm_up(changed(recipe, "warmup", rows=4), long, run, progress=Silent())


def test_no_module_to_adapt_names_the_key_to_set(lora):
    with pytest.raises(UserError, match=r"model\.lora_targets"):
        load_learner(changed(lora, "model", lora_targets=("no_such_module",)), toy.CHATTY, None)
