"""Neither warm-up nor GRPO ever holds the logits of all positions: TRL takes them in tiles, with the same gradient."""

import dataclasses

import pytest
import torch

import toy
from climbable.core import records
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.train import grpo, warm_up, warmup
from climbable.train.learner import load_learner
from climbable.verify import Verifier


@pytest.fixture(scope="module")
def lora(recipe):
    def changed(recipe, part, **values):
        return dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **values)})

    recipe = changed(recipe, "warmup", rows=20, epochs=1)
    return changed(changed(recipe, "model", method="lora", lora_rank=4), "train", prompts=4)


def watched(learner):
    """The learner, and how often its output layer was called as a whole."""
    calls = []
    learner.model.get_output_embeddings().register_forward_hook(lambda *_: calls.append(1))
    return learner, calls


def spread(task, artefact):
    """A reward that differs within every group."""
    verdict = toy.judge_any(task, artefact)
    return dataclasses.replace(verdict, parts={"length": min(1.0, len(str(artefact)) / 100)})


def one_step(recipe, folder):
    skill = dataclasses.replace(toy.CHATTY, judge=spread)
    torch.manual_seed(0)  # of the adapter's first weights
    learner, calls = watched(load_learner(recipe, skill, None))
    with Verifier(skill) as verifier:
        run = RunFolder(folder)
        grpo.optimise(recipe, skill, verifier, learner, run, stage="pilot", steps=1, progress=Silent())
    weights = {name: weights.detach() for name, weights in learner.model.named_parameters() if weights.requires_grad}
    (row,) = records.read(run.metrics)
    return row, weights, calls


def all_at_once(trainer, model, input_ids, attention_mask, keep, *_, **__):
    logits = model(input_ids=input_ids, attention_mask=attention_mask).logits[:, -keep - 1 : -1]
    logprobs = (logits.float() / trainer.temperature).log_softmax(-1)
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(2, input_ids[:, -keep:, None])[..., 0], entropies.detach(), None


def test_a_step_in_tiles_is_the_step_with_all_logits(lora, tmp_path, monkeypatch):
    from trl import GRPOTrainer

    tiles, by_tiles, whole_calls = one_step(lora, tmp_path / "tiles")
    assert not whole_calls
    monkeypatch.setattr(GRPOTrainer, "_get_per_token_logps_and_entropies", all_at_once)
    plain, by_plain, calls = one_step(lora, tmp_path / "plain")
    assert calls and plain["grad_norm"] > 0
    assert tiles["grad_norm"] == pytest.approx(plain["grad_norm"], rel=1e-4)
    assert tiles["loss"] == pytest.approx(plain["loss"], abs=1e-6)
    assert tiles["entropy"] == pytest.approx(plain["entropy"], rel=1e-4)
    for name, weights in by_tiles.items():
        torch.testing.assert_close(weights, by_plain[name], rtol=1e-4, atol=1e-5)


def test_the_warm_up_holds_none_either(lora, tmp_path, monkeypatch):
    seen = []

    def load(*arguments):
        learner, calls = watched(load_learner(*arguments))
        seen.append(calls)
        return learner

    monkeypatch.setattr(warmup, "load_learner", load)
    warm_up(lora, toy.CHATTY, RunFolder(tmp_path), progress=Silent())
    assert seen == [[]]
