"""The knobs of the objective in a run: what KL compares with, how steps are counted, and that a kill changes neither."""

import dataclasses

import pytest

import toy
from climbable.core import records
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.train import warm_up
from climbable.train.grpo import optimise
from climbable.train.learner import load_learner, save_learner, trained_weights
from climbable.verify import Verifier


def with_train(recipe, method="lora", **values):
    return dataclasses.replace(
        recipe,
        model=dataclasses.replace(recipe.model, method=method, lora_rank=4),
        warmup=dataclasses.replace(recipe.warmup, rows=40, epochs=2),
        train=dataclasses.replace(recipe.train, prompts=2, group=4, learning_rate=5e-3, **values),
    )


@pytest.fixture(scope="module", params=["lora", "full"])
def warmed(request, recipe, tmp_path_factory):
    """A method, and the folder that its warm-up saved."""
    run = RunFolder(tmp_path_factory.mktemp("run"))
    warm_up(with_train(recipe, request.param), toy.CHATTY, run, progress=Silent())
    return request.param, run.warmup


def trained(recipe, start, run, steps, *, resume=False):
    """The learner after `steps` steps, and the metrics of all of them."""
    learner = load_learner(recipe, toy.CHATTY, start)
    with Verifier(toy.CHATTY) as verifier:
        optimise(
            recipe, toy.CHATTY, verifier, learner, run, stage="train", steps=steps, progress=Silent(), resume=resume
        )
    return learner, list(records.read(run.metrics))


def test_kl_is_to_the_warmed_up_policy_also_after_a_kill(recipe, warmed, tmp_path):
    method, start = warmed
    recipe, run = with_train(recipe, method, beta=0.1), RunFolder(tmp_path)
    _, rows = trained(recipe, start, run, 1)
    assert rows[0]["kl"] == pytest.approx(0, abs=1e-5), "at the first step the policy is the reference"
    learner, rows = trained(recipe, start, run, 2, resume=True)
    assert rows[1]["kl"] > 1e-5, "were the reference the checkpoint, nothing would lie between them"
    save_learner(learner, run.adapter, recipe)
    assert not (run.adapter / "ref").exists()
    assert not [name for name in trained_weights(learner) if ".ref." in name]
    load_learner(recipe, toy.CHATTY, run.adapter)


def test_a_step_of_two_updates_is_one_line_and_survives_a_kill(recipe, warmed, tmp_path):
    method, start = warmed
    recipe, run = with_train(recipe, method, num_iterations=2), RunFolder(tmp_path)
    trained(recipe, start, run, 1)
    _, rows = trained(recipe, start, run, 2, resume=True)
    assert [row["step"] for row in rows] == [1, 2]
    assert [row["step"] for row in records.read(run.rollouts)] == [1] * 8 + [2] * 8
    assert {path.name for path in (run.checkpoints / "train").glob("checkpoint-*")} == {"checkpoint-2", "checkpoint-4"}
    assert all({"sample", "reward", "update"} <= set(row["seconds"]) for row in rows)
