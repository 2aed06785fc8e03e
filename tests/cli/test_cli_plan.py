import pytest

import toy
from climbable.core import records
from climbable.core.run import RunFolder
from climbable.pipeline.costs import begun, charge_killed, charged, finished, seconds_by_stage
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


def test_an_attempt_that_was_killed_is_charged_up_to_what_it_last_recorded(tmp_path):
    run = RunFolder(tmp_path)
    sample = {"stage": "train", "tokens": 10}
    records.append(run.rollouts, [sample] * 3)
    last = run.rollouts.stat().st_mtime
    records.write_json(run.attempt, {"stage": "train", "began": last - 7.0})  # what a kill leaves
    with charged(run, RECIPE, "train"):
        records.append(run.rollouts, [sample, {"stage": "gate", "tokens": 99}])
    rows = list(records.read(run.costs))
    assert [(row["samples"], row["tokens"], row["finished"]) for row in rows] == [(3, 30, False), (1, 10, True)]
    assert rows[0]["seconds"] == 7.0
    assert seconds_by_stage(run)["train"] == pytest.approx(7.0 + rows[1]["seconds"])
    assert not run.attempt.exists()


def test_a_kill_right_after_the_charge_charges_nothing_twice(tmp_path):
    run = RunFolder(tmp_path)
    with charged(run, RECIPE, "gate"):
        began = records.read_json(run.attempt)
    records.write_json(run.attempt, began)
    charge_killed(run, RECIPE)
    assert len(list(records.read(run.costs))) == 1 and not run.attempt.exists()


def test_what_is_left_of_a_stage_that_was_cut_short_is_scaled_by_its_own_pace(tmp_path):
    run = RunFolder(tmp_path)
    plan = stages(RECIPE, toy.SKILL)
    train = next(stage for stage in plan if stage.name == "train")
    records.append(run.rollouts, [{"stage": "train", "tokens": 1}] * (train.samples // 4))
    records.append(run.costs, [{"stage": "train", "finished": False, "seconds": 50.0, "samples": 0, "tokens": 0}])
    part = begun(run, {stage.name: stage.samples for stage in plan})
    assert part == {"train": (0.25, 50.0)}
    assert estimate(plan, {}, part, gpu=False)["train"] == pytest.approx(150.0)
