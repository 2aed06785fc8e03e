"""Sampling in training: from merged weights that follow the learner, verified while the longest answers still grow."""

import dataclasses

import pytest
import torch

import toy
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.policy import decoder, loading, sampler
from climbable.policy.model import prompt_ids, sampler_settings
from climbable.policy.sampler import Sampler
from climbable.train import warm_up
from climbable.train.grader import Grader
from climbable.train.learner import load_learner
from climbable.train.sampling_copy import sampling_copy
from climbable.verify import Verifier


def with_model(recipe, **values):
    return dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, **values))


def logprobs(model):
    ids = torch.arange(3, 43).reshape(2, 20)
    with torch.no_grad():
        return model.eval()(ids).logits.float().log_softmax(-1)


def disturb(learner):
    torch.manual_seed(3)
    with torch.no_grad():
        for weights in learner.model.parameters():
            if weights.requires_grad:
                weights.add_(0.05 * torch.randn_like(weights))


@pytest.mark.parametrize("method", ["lora", "full"])
def test_the_copy_samples_from_what_the_learner_is_now(recipe, method):
    # Full fine-tuning has a copy only where its precision is lower, so the learner's own weights are made to differ.
    learner = load_learner(with_model(recipe, method=method), toy.CHATTY, None)
    copy = sampling_copy(learner, with_model(recipe, method="lora"))
    before = logprobs(copy.model)
    torch.testing.assert_close(before, logprobs(learner.model))
    disturb(learner)
    assert (logprobs(learner.model) - before).abs().max() > 0.01, "the disturbance shows, else nothing was tried"
    torch.testing.assert_close(logprobs(copy.refresh()), logprobs(learner.model), atol=1e-4, rtol=1e-4)


def test_the_copy_starts_from_a_whole_model_after_full_fine_tuning(recipe, tmp_path):
    run = RunFolder(tmp_path)
    warm_up(
        dataclasses.replace(recipe, warmup=dataclasses.replace(recipe.warmup, rows=20, epochs=1)),
        toy.CHATTY,
        run,
        progress=Silent(),
    )
    learner = load_learner(recipe, toy.CHATTY, run.warmup)
    copy = sampling_copy(learner, with_model(recipe, dtype="bfloat16"))
    assert {weights.dtype for weights in copy.model.parameters()} == {torch.bfloat16}
    torch.testing.assert_close(logprobs(copy.model), logprobs(learner.model), atol=0.1, rtol=0.05)


@pytest.mark.parametrize(
    ("method", "dtype", "merge", "made"),
    [
        ("lora", "auto", True, True),
        ("lora", "auto", False, False),
        ("full", "auto", True, False),
        ("full", "float32", True, False),
        ("full", "bfloat16", True, True),
    ],
)
def test_a_copy_is_made_where_it_pays(recipe, method, dtype, merge, made):
    recipe = with_model(recipe, method=method, dtype=dtype)
    recipe = dataclasses.replace(recipe, sampling=dataclasses.replace(recipe.sampling, merge=merge))
    assert (sampling_copy(load_learner(recipe, toy.CHATTY, None), recipe) is not None) is made


def test_the_learner_itself_is_untouched_by_its_copy(recipe):
    recipe = with_model(recipe, method="lora")
    learner = load_learner(recipe, toy.CHATTY, None)
    disturb(learner)
    before = {name: weights.clone() for name, weights in learner.model.named_parameters()}
    sampling_copy(learner, recipe)
    assert all(torch.equal(before[name], weights) for name, weights in learner.model.named_parameters())


@pytest.fixture(scope="module")
def warmed(recipe, tmp_path_factory):
    """A model that ends its answers, after different lengths."""
    run = RunFolder(tmp_path_factory.mktemp("run"))
    warm_up(recipe, toy.CHATTY, run, progress=Silent())
    source = loading.locate(recipe.model.name, run.warmup)
    return loading.load_base(source, device="cpu", dtype="float32").eval(), loading.load_tokenizer(source)


@pytest.mark.parametrize("cache", ["dynamic", "static", "graph"])
def test_what_ends_is_told_once_as_it_is_returned_and_changes_nothing(warmed, cache, monkeypatch):
    monkeypatch.setattr(sampler, "LOOK_EVERY", 2)
    monkeypatch.setattr(decoder, "LOOK_EVERY", 2)
    model, tokenizer = warmed
    settings = sampler_settings(model, tokenizer, temperature=1.3, top_p=1.0, max_new_tokens=12, cache=cache)
    prompts = [prompt_ids(tokenizer, toy.CHATTY, toy.make_task("two", "test", i)) for i in range(24)]
    told = []
    torch.manual_seed(0)
    watched = Sampler(model, settings).sample(prompts, lambda place, ids: told.append((place, ids)))
    torch.manual_seed(0)
    assert watched == Sampler(model, settings).sample(prompts)
    assert len(told) == len({place for place, _ in told}) > 12
    assert all(watched[place] == ids and ids[-1] in settings.ends for place, ids in told)


class Counting:
    """The real verifier, and what it was asked."""

    def __init__(self, inner):
        self.inner, self.asked = inner, []

    def submit(self, task, completion):
        self.asked.append((task.id, completion))
        return self.inner.submit(task, completion)


def test_what_was_verified_early_is_not_verified_again_and_another_text_is(recipe, tmp_path):
    tokenizer = loading.load_tokenizer(loading.locate(recipe.model.name))
    task = toy.make_task("two", "train", 0)
    gold, other = (tokenizer(text)["input_ids"] for text in (toy.gold(task), "oak"))
    with Verifier(toy.SKILL) as verifier:
        counting = Counting(verifier)
        grader = Grader(toy.SKILL, counting, tokenizer, (0,), 2, tmp_path / "rollouts.jsonl", "train")
        grader.start(0, task, gold)
        assert grader.grade([task], [gold, other])[0].rewards == (1.0, 0.1)
        assert len(counting.asked) == 2
        grader.start(0, task, gold)
        rewards = grader.grade([task], [other, gold])[0].rewards
        assert rewards[1] == 1.0, "an early score of another text counts for nothing"
