"""A model from scratch goes the whole way, and its sampled reward climbs.

What it learns is to drop a word that breaks the format: no new ability, but every part has to work for it.
"""

import json
from dataclasses import asdict

import pytest

import toy
from climbable.core import records
from climbable.core.gate import Answer, Bar, judge_gate
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.policy import load_policy
from climbable.rollout import collect
from climbable.train import run_pilot, train, warm_up
from climbable.verify import Verifier


@pytest.fixture(scope="module")
def trained(recipe, tmp_path_factory):
    run = RunFolder(tmp_path_factory.mktemp("run"))
    skill = toy.CHATTY
    warm_up(recipe, skill, run, progress=Silent())
    policy = load_policy(recipe.model.name, skill, temperature=1.0, max_new_tokens=12, adapter=run.warmup)
    tasks = [skill.task("two", "val", i) for i in range(12)]
    with Verifier(skill) as verifier:
        groups = collect(tasks, policy, verifier, samples=8, batch_size=96, seed=0, stage="gate", rollouts=run.rollouts)
        verdict = judge_gate(groups, bar=Bar(least_mean=0.1))
        tied = {"policy": policy.fingerprint, "prompt_digest": policy.prompt_digest, "temperature": 1.0}
        records.write_json(run.gate, verdict.to_json() | tied)
        pilot = run_pilot(recipe, skill, verifier, run, progress=Silent())
        result = train(recipe, skill, verifier, run, progress=Silent())
    return run, verdict, pilot, result


def test_the_warmed_up_model_passes_the_gate(trained):
    verdict = trained[1]
    assert verdict.answer is Answer.GO, verdict.reasons


def test_the_pilot_shows_life(trained):
    pilot = trained[2]
    assert pilot.answer == "go", asdict(pilot)
    assert pilot.largest_grad_norm > 0 and pilot.changed_weights > 0.9 and pilot.logprob_change > 1e-4


def test_the_sampled_reward_climbs(trained):
    rows = [row for row in records.read(trained[0].metrics) if row["stage"] == "train"]
    rewards = [row["reward"] for row in rows]
    first, last = sum(rewards[:4]) / 4, sum(rewards[-4:]) / 4
    assert first < 0.75 and last > 0.9, rewards


def test_every_finished_group_is_recorded_once(trained, recipe):
    rows = [row for row in records.read(trained[0].rollouts) if row["stage"] == "train"]
    keys = {(row["step"], row["task"], row["sample"]) for row in rows}
    assert len(rows) == len(keys) == recipe.train.steps * recipe.train.prompts * recipe.train.group
    json.dumps(rows[0], allow_nan=False)


def test_metrics_say_where_the_seconds_went(trained):
    row = next(row for row in records.read(trained[0].metrics) if row["stage"] == "train")
    parts = row["seconds"]
    assert {"sample", "reward", "update", "total"} <= set(parts)
    assert parts["total"] == pytest.approx(parts["sample"] + parts["reward"] + parts["update"])


def test_the_trained_policy_can_be_loaded_and_is_another_one(trained, recipe):
    run = trained[0]
    policy = load_policy(recipe.model.name, toy.CHATTY, adapter=run.adapter)
    assert policy.fingerprint not in (recipe.model.name, records.read_json(run.gate)["policy"])
