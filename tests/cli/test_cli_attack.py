import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import toy
from climbable.cli import main
from climbable.core.skill import Attack


def attack(name, completion, most):
    return Attack(name=name, why="why", task=toy.make_task("one", "test", 0), completion=completion, most=most)


def test_cheats_that_do_not_pay_and_honest_work_that_does_is_fine(capsys):
    assert main(["attack", "toy:SKILL"]) == 0
    assert "none pays" in capsys.readouterr().out


def test_a_cheat_that_pays_is_told_by_exit_status_1(monkeypatch, capsys):
    paid = attack("paid", toy.gold(toy.make_task("one", "test", 0)), 0.1)
    monkeypatch.setattr(toy, "HOLED", dataclasses.replace(toy.SKILL, attacks=lambda: (paid,)), False)
    assert main(["attack", "toy:HOLED", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["wrong"] == 1
    assert answer["attacks"][0] == answer["attacks"][0] | {
        "name": "paid",
        "kind": "cheat",
        "reward": 1.0,
        "right": False,
    }


def test_an_honest_control_that_is_not_paid_is_told_by_exit_status_1(monkeypatch, capsys):
    unpaid = attack("unpaid", "nothing", 1.0)
    monkeypatch.setattr(toy, "MEAN", dataclasses.replace(toy.SKILL, honest=lambda: (unpaid,)), False)
    assert main(["attack", "toy:MEAN"]) == 1
    assert "✗" in capsys.readouterr().out


def test_what_was_not_measured_is_neither(monkeypatch, capsys):
    def judge(task, artefact):
        raise ZeroDivisionError

    monkeypatch.setattr(toy, "BROKEN", dataclasses.replace(toy.SKILL, judge=judge), False)
    assert main(["attack", "toy:BROKEN", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["unmeasured"] == 2


def broken():
    raise ZeroDivisionError("oops")


@pytest.mark.parametrize(
    ("part", "make", "told"),
    [
        ("attacks", broken, "its 'attacks' raised ZeroDivisionError: oops"),
        ("honest", broken, "its 'honest' raised ZeroDivisionError: oops"),
        ("attacks", lambda: [1], "its 'attacks' gave int"),
        ("attacks", tuple, "its 'attacks' gave nothing"),
        ("honest", tuple, "its 'honest' gave nothing"),
    ],
)
def test_a_skill_whose_attacks_cannot_be_tried_is_not_called_safe(monkeypatch, capsys, part, make, told):
    monkeypatch.setattr(toy, "ODD", dataclasses.replace(toy.SKILL, **{part: make}), False)
    assert main(["attack", "toy:ODD"]) == 2
    assert told in capsys.readouterr().err


def test_a_skill_in_the_working_folder_is_attacked_by_the_installed_command(tmp_path):
    shutil.copy(Path(__file__).parents[2] / "examples/dates_skill.py", tmp_path / "third_party.py")
    command = [sys.executable, "-m", "climbable", "attack", "third_party:SKILL"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "8 cheats and 3 honest controls: none pays" in done.stdout) == (0, True), done
