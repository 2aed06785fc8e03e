import pytest

import toy
from climbable.core import records
from climbable.core.run import RunFolder
from climbable.pipeline.costs import charged, finished, seconds_by_stage
from climbable.pipeline.plan import SECONDS, estimate, stages
from climbable.recipe import Costs, Recipe, Warmup

RECIPE = Recipe(name="r", skill="toy:SKILL", costs=Costs(price_per_hour=3600.0))


def test_the_estimate_scales_with_what_was_measured():
    plan = stages(RECIPE, toy.SKILL)
    guess = estimate(plan, {}, gpu=False)
    slow = estimate(plan, {"gate.untrained": 3 * guess["gate.untrained"]}, gpu=False)
    assert "gate.untrained" not in slow
    assert slow == {name: pytest.approx(3 * seconds) for name, seconds in guess.items() if name != "gate.untrained"}


def test_a_kind_of_work_is_scaled_by_its_own_kind():
    plan = stages(RECIPE, toy.SKILL)
    guess = estimate(plan, {}, gpu=True)
    done = {"gate.untrained": 5 * guess["gate.untrained"], "warmup": 2 * guess["warmup"]}
    later = estimate(plan, done, gpu=True)
    assert later["eval.base"] == pytest.approx(5 * guess["eval.base"])
    assert set(SECONDS["gpu"]) == {stage.work for stage in plan}


def test_a_recipe_without_warmup_plans_none():
    names = [stage.name for stage in stages(Recipe(name="r", skill="toy:SKILL", warmup=Warmup(rows=0)), toy.SKILL)]
    assert names == ["gate.untrained", "eval.base", "pilot", "train", "eval.trained"]


def test_a_stage_that_raises_is_charged_but_not_finished(tmp_path):
    run = RunFolder(tmp_path)
    with pytest.raises(ZeroDivisionError), charged(run, RECIPE, "train") as line:
        line["forced"] = True
        raise ZeroDivisionError
    (row,) = records.read(run.costs)
    assert (row["finished"], row["forced"], finished(run, "train")) == (False, True, False)


def test_samples_are_charged_once_whatever_was_killed(tmp_path):
    run = RunFolder(tmp_path)
    sample = {"stage": "train", "tokens": 10}
    records.append(run.rollouts, [sample] * 3)  # left by an attempt that was killed
    with charged(run, RECIPE, "train"):
        records.append(run.rollouts, [sample, {"stage": "gate", "tokens": 99}])
    with charged(run, RECIPE, "train"):
        records.append(run.rollouts, [sample])
    rows = list(records.read(run.costs))
    assert [(row["samples"], row["kept"], row["tokens"]) for row in rows] == [(4, 3, 40), (1, 0, 10)]
    assert seconds_by_stage(run)["train"] == rows[1]["seconds"]
