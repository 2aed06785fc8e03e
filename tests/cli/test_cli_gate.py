import dataclasses
import json

import pytest

import toy
from climbable.cli import main

SMALL = ["--tasks", "6", "--samples", "4"]


def test_go_leaves_a_record_that_training_can_check(tmp_path, capsys):
    arguments = ["--policy", "scripted:mixed", *SMALL, "--temperature", "0.9", "--out", str(tmp_path / "run"), "--json"]
    assert main(["gate", "toy:SKILL", *arguments]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["answer"], record["policy"], record["temperature"]) == ("go", "scripted:mixed", 0.9)
    assert record == json.loads((tmp_path / "run/gate.json").read_text())
    assert len((tmp_path / "run/rollouts.jsonl").read_text().splitlines()) == 24


@pytest.mark.parametrize("policy", ["empty", "gold", "crash"])
def test_no_go_is_exit_status_1_with_advice(policy, capsys):
    assert main(["gate", "toy:SKILL", "--policy", f"scripted:{policy}", *SMALL]) == 1
    text = capsys.readouterr().out
    assert "no-go" in text
    assert "→" in text


def test_unmeasured_is_exit_status_3(monkeypatch, capsys):
    def judge(task, artefact):
        raise ZeroDivisionError

    monkeypatch.setattr(toy, "BROKEN", dataclasses.replace(toy.SKILL, judge=judge), False)
    assert main(["gate", "toy:BROKEN", "--policy", "scripted:gold", *SMALL]) == 3
    assert "climb doctor" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--policy", "scripted:gols"], "did you mean 'gold'"),
        (["--policy", "scripted:gold", "--family", "tow"], "did you mean 'two'"),
        (["--policy", "openai:localhost"], "openai:http"),
    ],
)
def test_an_unknown_name_is_told(arguments, told, capsys):
    assert main(["gate", "toy:SKILL", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_folder_without_weights_is_no_policy(tmp_path, capsys):
    assert main(["gate", "toy:SKILL", "--policy", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
