"""Each way in which a run can die without a word, built for real on a tiny model: the pilot names it."""

import dataclasses

import pytest
import torch

import toy
from climbable.core.errors import UserError
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.train import grpo, pilot, run_pilot, warm_up
from climbable.train.learner import load_learner
from climbable.train.sampling_copy import SamplingCopy
from climbable.verify import Verifier


def changed(recipe, part, **values):
    return dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **values)})


@pytest.fixture(scope="module")
def lora(recipe):
    recipe = changed(recipe, "model", method="lora", lora_rank=4)
    return changed(changed(recipe, "pilot", steps=2), "train", prompts=4)


@pytest.fixture(scope="module")
def warmed(lora, tmp_path_factory):
    """The folder of a model whose answers differ in reward: a warm-up of the whole model, so that adapters start anew."""
    run = RunFolder(tmp_path_factory.mktemp("run"))
    warm_up(
        changed(changed(lora, "model", method="full"), "warmup", rows=60, epochs=6), toy.CHATTY, run, progress=Silent()
    )
    return str(run.warmup)


@pytest.fixture
def alive(lora, warmed):
    return changed(lora, "model", name=warmed)


def died(recipe, tmp_path, skill=toy.CHATTY):
    with Verifier(skill) as verifier:
        verdict = run_pilot(recipe, skill, verifier, RunFolder(tmp_path), progress=Silent())
    assert (verdict.answer == "no-go") is bool(verdict.cause), verdict
    return verdict


def with_learner(monkeypatch, change):
    """The pilot gets its usual learner after `change`."""

    def load(*arguments):
        learner = load_learner(*arguments)
        change(learner.model)
        return learner

    monkeypatch.setattr(pilot, "load_learner", load)


def test_what_lives_has_no_cause(alive, tmp_path):
    assert died(alive, tmp_path).cause == ""


def test_ties(alive, tmp_path):
    flat = dataclasses.replace(toy.CHATTY, read=str, judge=lambda task, artefact: toy.judge(task, ""))
    assert died(alive, tmp_path, flat).cause == "ties"


def test_a_frozen_adapter(alive, tmp_path, monkeypatch):
    with_learner(monkeypatch, lambda model: model.requires_grad_(False))
    verdict = died(alive, tmp_path)
    assert verdict.cause == "frozen" and "is_trainable" in verdict.reasons[0]


@pytest.mark.parametrize("norm", [False, True])
def test_checkpoints_after_a_frozen_embedding(alive, tmp_path, monkeypatch, norm):
    # With the last norm trained too there is a gradient and its norm, but no layer gets a part of it.
    settings = grpo.trainer_settings

    def reentrant(*arguments):
        made = settings(*arguments)
        made.gradient_checkpointing_kwargs = {"use_reentrant": True}
        return made

    def strip(model):
        for each in (model, model.get_base_model(), model.get_base_model().model):
            each.enable_input_require_grads = lambda: None
        model.get_base_model().model.norm.weight.requires_grad_(norm)

    monkeypatch.setattr(grpo, "trainer_settings", reentrant)
    with_learner(monkeypatch, strip)
    verdict = died(changed(alive, "train", gradient_checkpointing=True), tmp_path)
    assert verdict.cause == "checkpointing", verdict
    assert (verdict.largest_grad_norm > 0) is norm


def test_checkpoints_as_this_package_sets_them_live(alive, tmp_path):
    assert died(changed(alive, "train", gradient_checkpointing=True), tmp_path).cause == ""


def test_a_learning_rate_that_never_leaves_0(alive, tmp_path):
    late = changed(alive, "train", schedule="constant_with_warmup", warmup_steps=10**6)
    assert died(changed(late, "pilot", steps=1), tmp_path).cause == "learning-rate"


def fuse(model):
    """As a fused kernel does: reads the weights of ``o_proj`` and passes the adapter by."""
    for name, module in model.named_modules():
        if name.endswith(".o_proj"):
            base = module.get_base_layer()
            module.forward = lambda x, base=base: torch.nn.functional.linear(x, base.weight)


@pytest.mark.parametrize("names", [("o_proj",), ("q_proj", "o_proj")])
def test_modules_that_the_loss_does_not_see(alive, tmp_path, monkeypatch, names):
    with_learner(monkeypatch, fuse)
    verdict = died(changed(alive, "model", lora_targets=names), tmp_path)
    assert verdict.cause == "modules"
    assert "reaches o_proj:" in verdict.reasons[0]


def test_a_copy_that_does_not_follow(alive, tmp_path, monkeypatch):
    monkeypatch.setattr(SamplingCopy, "_merge", lambda self, own: None)
    verdict = died(alive, tmp_path)
    assert verdict.cause == "sampler" and "stale copy" in verdict.reasons[0]
    assert died(changed(alive, "sampling", merge=False), tmp_path).cause == "", "the way out that it names"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("q_porj",), "did you mean 'q_proj'"),
        (("q_proj", "no_such"), "no module 'no_such'"),
        (("lm_head",), "leave it out"),
    ],
)
def test_a_target_that_is_not_there_is_refused_even_beside_one_that_is(lora, names, told):
    with pytest.raises(UserError, match=told):
        load_learner(changed(lora, "model", lora_targets=names), toy.CHATTY, None)
