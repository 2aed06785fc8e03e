import json
import sys

import pytest

from climbable.cli import main


def test_the_skills_name_their_families_and_which_are_held_out(capsys):
    assert main(["skills", "--json"]) == 0
    skills = {skill["name"]: skill for skill in json.loads(capsys.readouterr().out)}
    held_out = {family["name"]: family["held_out"] for family in skills["scene"]["families"]}
    assert held_out.pop("between")
    assert {"stack", "next_to", "place", "rotated", "chain", "many"} == set(held_out)
    assert not any(held_out.values())


def test_tasks_are_json_lines_with_stable_ids(capsys):
    assert main(["tasks", "toy:SKILL", "--family", "two", "-n", "2", "--start", "5", "--json"]) == 0
    tasks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [task["id"] for task in tasks] == ["toy/two/test/5", "toy/two/test/6"]
    assert tasks[0]["digest"].startswith("sha256:")


def test_a_training_split_leaves_held_out_families_out(capsys):
    assert main(["tasks", "toy:SKILL", "--split", "train", "-n", "1", "--json"]) == 0
    families = [json.loads(line)["family"] for line in capsys.readouterr().out.splitlines()]
    assert families == ["one", "two"]


def test_a_skill_in_the_working_folder_is_found(monkeypatch, tmp_path, capsys):
    (tmp_path / "my_own.py").write_text("from toy import SKILL\n")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    assert main(["tasks", "my_own:SKILL", "-n", "1"]) == 0
    assert "say " in capsys.readouterr().out


def test_tasks_for_a_person_show_the_prompt(capsys):
    assert main(["tasks", "toy:SKILL", "-n", "1"]) == 0
    assert "say " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nope:SKILL"], "nope"),
        (["toy:SKILL", "--family", "tow"], "did you mean 'two'"),
        (["toy:SKILL", "--split", "tset"], "did you mean 'test'"),
        (["toy:SKILL", "--family", "hidden", "--split", "train"], "held out"),
    ],
)
def test_an_unknown_name_is_told_the_nearest(arguments, told, capsys):
    assert main(["tasks", *arguments]) == 2
    assert told in capsys.readouterr().err
