import dataclasses
import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

import toy
from climbable.cli import main

WITH_TOY = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def rows_file(tmp_path, rows):
    path = tmp_path / "rows.jsonl"
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return str(path)


def good(index):
    task = toy.make_task("one", "test", index)
    return {"task": task.id, "completion": toy.gold(task), "case": "an unknown key"}


def test_a_row_that_is_no_json_among_a_thousand_costs_only_itself(tmp_path, capsys):
    rows = [good(i) for i in range(1000)]
    rows[500] = '{"task": "toy/one/test/500", "completion": '
    assert main(["verify", "toy:SKILL", "--rows", rows_file(tmp_path, rows)]) == 2
    answers = lines(capsys.readouterr().out)
    assert len(answers) == 1000
    assert answers[500]["row"] == 501
    assert "not JSON" in answers[500]["error"]
    assert all(answers[i]["solved"] and answers[i]["task"] == f"toy/one/test/{i}" for i in range(1000) if i != 500)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("[1]", "not an object"),
        ({"completion": "x"}, "no 'task'"),
        ({"task": "toy/one/test/0"}, "no 'completion'"),
        ({"task": "toy/one/test/0", "completion": 3}, "must be a string"),
        ({"task": "toy/on/test/0", "completion": "x"}, "did you mean 'one'"),
        ({"task": "nonsense", "completion": "x"}, "no task id"),
        ({"task": {"id": "a", "skill": "toy", "prompt": "b"}, "completion": "x"}, "no 'spec'"),
        ({"task": {"id": "a", "skill": "other", "prompt": "b", "spec": {}}, "completion": "x"}, "other"),
        ('{"task": "toy/one/test/0", "completion": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_malformed_row_says_what_is_wrong(tmp_path, capsys, row, told):
    path = rows_file(tmp_path, [row, good(0)])
    assert main(["verify", "toy:SKILL", "--rows", path, "--json"]) == 2
    bad, fine = lines(capsys.readouterr().out)
    assert told in bad["error"]
    assert fine["solved"]


def test_a_row_that_is_not_utf8_costs_only_itself(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"completion": "\xff"}\n' + json.dumps(good(0)).encode())
    assert main(["verify", "toy:SKILL", "--rows", str(path)]) == 2
    bad, fine = lines(capsys.readouterr().out)
    assert "utf-8" in bad["error"]
    assert fine["solved"]


def test_blank_lines_are_no_rows_and_a_mark_at_the_start_is_passed_over(tmp_path, capsys):
    path = rows_file(tmp_path, ["\ufeff" + json.dumps(good(0)), "", "  ", good(1)])
    assert main(["verify", "toy:SKILL", "--rows", path]) == 0
    assert [answer["solved"] for answer in lines(capsys.readouterr().out)] == [True, True]


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_rows_is_a_mistake(tmp_path, capsys, content):
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    assert main(["verify", "toy:SKILL", "--rows", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "holds no rows" in captured.err


def test_a_failed_completion_is_an_answer(tmp_path, capsys):
    path = rows_file(tmp_path, [{"task": "toy/one/test/0", "completion": "crash \ud800"}])
    assert main(["verify", "toy:SKILL", "--rows", path]) == 0
    (answer,) = lines(capsys.readouterr().out)
    assert (answer["outcome"], answer["reason"], answer["reward"]) == ("failed", "crashed", 0.0)


def test_unmeasured_outweighs_malformed(tmp_path, capsys, monkeypatch):
    def judge(task, artefact):
        raise ZeroDivisionError

    monkeypatch.setattr(toy, "BROKEN", dataclasses.replace(toy.SKILL, judge=judge), False)
    assert main(["verify", "toy:BROKEN", "--rows", rows_file(tmp_path, ["{", good(0)])]) == 3
    assert lines(capsys.readouterr().out)[1]["reward"] is None


def test_a_row_is_answered_before_the_next_one_is_sent():
    command = [sys.executable, "-m", "climbable", "verify", "toy:SKILL", "--rows", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=WITH_TOY) as process:
        for index in range(3):
            process.stdin.write(json.dumps(good(index)) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["task"] == f"toy/one/test/{index}"
        process.stdin.close()
        assert process.wait() == 0


def test_one_completion_from_stdin(capsys, monkeypatch):
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BytesIO(toy.gold(toy.make_task("two", "test", 4)).encode()))
    )
    assert main(["verify", "toy:SKILL", "--task", "toy/two/test/4", "--completion", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reward"] == 1.0


def test_a_score_card_shows_what_was_expected_and_no_control_character(tmp_path, capsys):
    answer = tmp_path / "answer"
    answer.write_text("\x1b[2J\u202ewrong")
    assert main(["verify", "toy:SKILL", "--task", "toy/one/test/0", "--completion", str(answer)]) == 0
    card = capsys.readouterr().out
    assert toy.make_task("one", "test", 0).spec["words"][0] in card
    assert "0 of 1 checks passed" in card
    assert "\\x1b" in card and "\x1b" not in card and "\u202e" not in card


def test_a_task_file_is_as_good_as_an_id(tmp_path, capsys):
    task = toy.make_task("one", "test", 7)
    (tmp_path / "task.json").write_text(json.dumps(task.to_json()))
    (tmp_path / "answer").write_text(toy.gold(task))
    arguments = ["--task", str(tmp_path / "task.json"), "--completion", str(tmp_path / "answer"), "--json"]
    assert main(["verify", "toy:SKILL", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["solved"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"id": "a", "skill": "toy", "prompt": "b"}', "no 'spec'"),
        ('{"id": "a", "skill": "toy", "prompt": "b", "spec": {}, "digest": "sha256:0"}', "digest"),
        ('{"id": "a", "skill": "other", "prompt": "b", "spec": {}}', "climb verify other"),
        ("{", "not one JSON object"),
        ("[]", "JSON object"),
    ],
)
def test_a_wrong_task_file_is_named(tmp_path, capsys, content, told):
    path = tmp_path / "task.json"
    path.write_text(content)
    assert main(["verify", "toy:SKILL", "--task", str(path), "--completion", "/dev/null"]) == 2
    message = capsys.readouterr().err
    assert told in message
    assert str(path) in message


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["toy:SKIL", "--rows", "x"], "toy:SKIL"),
        (["scen", "--rows", "x"], "did you mean 'scene'"),
        (["toy:SKILL"], "--task"),
        (["toy:SKILL", "--task", "toy/one/test/0"], "--completion"),
        (["toy:SKILL", "--rows", "x", "--task", "y"], "leave out"),
        (["toy:SKILL", "--rows", "/nowhere/rows"], "No such file"),
        (["toy:SKILL", "--task", "toy/one/test/0", "--completion", "/nowhere/answer"], "No such file"),
        (["toy:SKILL", "--task", "/nowhere/task.json", "--completion", "-"], "climb tasks"),
        (["toy:SKILL", "--task", "toy/hidden/train/0", "--completion", "/dev/null"], "held out"),
    ],
)
def test_a_wrong_argument_is_named_with_what_to_type(arguments, told, capsys):
    assert main(["verify", *arguments]) == 2
    assert told in capsys.readouterr().err
