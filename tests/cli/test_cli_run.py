import dataclasses
import json
import os
import subprocess
import sys

import pytest

import toy
from climbable.cli import main

WITH_TOY = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

RECIPE = """
name = "little"
skill = "toy:SKILL"
[model]
name = "scripted:{policy}"
[gate]
tasks = 4
samples = 4
[warmup]
rows = 0
[evaluation]
tasks = 2
samples = 2
"""


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "little.toml"
    path.write_text(RECIPE.format(policy="gold"))
    return path


def test_a_closed_gate_stops_the_run_with_its_report(recipe, tmp_path, capsys):
    assert main(["run", str(recipe), "--run", str(tmp_path / "run")]) == 1
    assert "the gate is closed" in capsys.readouterr().err
    assert json.loads((tmp_path / "run/gate.json").read_text())["answer"] == "no-go"
    stages = [json.loads(line)["stage"] for line in (tmp_path / "run/costs.jsonl").read_text().splitlines()]
    assert stages == ["gate.untrained", "eval.base"]
    assert "The gate is closed" in (tmp_path / "run/report.html").read_text()


def test_a_resumed_run_samples_nothing_twice(recipe, tmp_path):
    arguments = ["run", str(recipe), "--run", str(tmp_path / "run"), "--resume"]
    assert main(arguments) == 1
    rollouts = (tmp_path / "run/rollouts.jsonl").read_bytes()
    assert main(arguments) == 1
    assert (tmp_path / "run/rollouts.jsonl").read_bytes() == rollouts


def test_a_kill_between_two_groups_loses_none_and_doubles_none(recipe, tmp_path):
    run = tmp_path / "run"
    main(["run", str(recipe), "--run", str(run)])
    whole = (run / "rollouts.jsonl").read_text().splitlines(keepends=True)
    (run / "rollouts.jsonl").write_text("".join(whole[:8]) + whole[8][:20])
    (run / "costs.jsonl").unlink()
    (run / "gate.untrained.json").unlink()
    assert main(["run", str(recipe), "--run", str(run), "--resume"]) == 1
    places = [
        (row["stage"], row["task"], row["sample"])
        for row in map(json.loads, (run / "rollouts.jsonl").read_text().splitlines())
    ]
    assert len(places) == len(set(places)) == len(whole)


def test_an_existing_run_wants_resume_or_another_folder(recipe, tmp_path, capsys):
    main(["run", str(recipe), "--run", str(tmp_path / "run")])
    assert main(["run", str(recipe), "--run", str(tmp_path / "run")]) == 2
    assert "--resume" in capsys.readouterr().err


def test_another_recipes_run_is_refused(recipe, tmp_path, capsys):
    main(["run", str(recipe), "--run", str(tmp_path / "run")])
    recipe.write_text(RECIPE.format(policy="mixed"))
    assert main(["run", str(recipe), "--run", str(tmp_path / "run"), "--resume"]) == 2
    message = capsys.readouterr().err
    assert "scripted:gold" in message
    assert "--run DIR" in message


def test_a_folder_with_other_things_is_no_runs_folder(recipe, tmp_path, capsys):
    assert main(["run", str(recipe), "--run", str(tmp_path)]) == 2
    assert "little.toml" in capsys.readouterr().err


def test_two_processes_never_share_a_folder(recipe, tmp_path, capsys):
    from climbable.pipeline import open_run
    from climbable.recipe import load_recipe

    with open_run(load_recipe(recipe), tmp_path / "run"):
        command = [sys.executable, "-m", "climbable", "run", str(recipe), "--run", str(tmp_path / "run"), "--resume"]
        done = subprocess.run(command, capture_output=True, text=True, env=WITH_TOY)
    assert done.returncode == 2
    assert "another process" in done.stderr


def test_eval_prints_every_family(recipe, tmp_path, capsys):
    assert main(["eval", str(recipe), "--run", str(tmp_path / "run"), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert set(figures["families"]) == {"one", "two", "hidden"}
    assert main(["eval", str(recipe), "--run", str(tmp_path / "run")]) == 0
    assert "100.0%" in capsys.readouterr().out


def test_eval_of_what_is_not_trained_says_what_to_type(recipe, tmp_path, capsys):
    assert main(["eval", str(recipe), "--run", str(tmp_path / "run"), "--policy", "trained"]) == 2
    assert "climb train" in capsys.readouterr().err


def test_a_recipe_without_warmup_has_none(recipe, tmp_path, capsys):
    assert main(["warmup", str(recipe), "--run", str(tmp_path / "run")]) == 2
    assert "warmup.rows" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["run", "warmup", "pilot", "train", "eval"])
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[gate]", "[gaet]", "did you mean 'gate'"),
        ("toy:SKILL", "scen", "did you mean 'scene'"),
        ('name = "little"', 'families = ["tow"]', "did you mean 'two'"),
        ('name = "little"', 'families = ["hidden"]', "held out"),
    ],
)
def test_a_typo_in_a_recipe_is_told_before_anything_is_written(recipe, tmp_path, capsys, verb, old, new, told):
    recipe.write_text(recipe.read_text().replace(old, new))
    assert main([verb, str(recipe), "--run", str(tmp_path / "run")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_what_could_not_be_measured_is_measured_when_the_run_is_resumed(recipe, tmp_path, capsys, monkeypatch):
    def judge(task, artefact):
        raise ZeroDivisionError

    recipe.write_text(recipe.read_text().replace("toy:SKILL", "toy:FLAKY"))
    monkeypatch.setattr(toy, "FLAKY", dataclasses.replace(toy.SKILL, judge=judge), False)
    arguments = ["run", str(recipe), "--run", str(tmp_path / "run"), "--resume"]
    assert main(arguments) == 3
    assert "climb doctor" in capsys.readouterr().err
    assert not (tmp_path / "run/gate.untrained.json").exists()
    monkeypatch.setattr(toy, "FLAKY", toy.SKILL)
    assert main(arguments) == 1
    assert "above the band" in capsys.readouterr().err
