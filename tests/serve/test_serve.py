"""The verifier over HTTP: a real server in another process, asked over a socket."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import toy
from climbable.cli import main

TESTS = Path(__file__).parents[1]
TASK = toy.make_task("two", "test", 0)
GOLD = toy.gold(TASK)


@contextlib.contextmanager
def serving(*options, token=None):
    """A server's port and process; it must end well."""
    path = os.pathsep.join([str(TESTS), str(TESTS / "serve"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path} | ({"CLIMBABLE_TOKEN": token} if token else {})
    command = [sys.executable, "-m", "climbable", "serve", "slow_toy:SKILL", "--port", "0", "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield int(json.loads(process.stdout.readline())["url"].rpartition(":")[2]), process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
        assert process.returncode == 0


@pytest.fixture(scope="module")
def port():
    with serving("--most-body", "20000") as (port, _):
        yield port


def ask(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        data = json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        connection.request(method, path, data, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        return (
            answer.status,
            json.loads(text) if "json" in answer.headers["Content-Type"] else text.decode(),
            answer.headers,
        )
    finally:
        connection.close()


def row(completion, task=TASK.id, **further):
    return {"task": task, "response": {"output_text": completion}, **further}


def message(*texts):
    return {"type": "message", "content": [{"type": "output_text", "text": text} for text in texts]}


def test_the_row_comes_back_with_reward_and_score(port):
    sent = row(
        GOLD, responses_create_params={"input": [{"role": "user", "content": "hi"}]}, agent_ref={"name": "a"}, n=1.5
    )
    status, answer, _ = ask(port, "POST", "/verify", sent)
    assert status == 200
    assert {key: answer[key] for key in sent} == sent
    assert (answer["reward"], answer["mask_sample"], answer["failure_kind"]) == (1.0, False, None)
    assert answer["score"]["solved"] is True and len(answer["score"]["checks"]) == 2


def test_a_task_may_be_given_whole(port):
    own = TASK.to_json() | {"id": "mine", "spec": {"words": ["yew"]}, "digest": None}
    assert ask(port, "POST", "/verify", row("yew", own))[1]["reward"] == 1.0


def test_the_text_is_what_the_messages_say_and_nothing_else(port):
    first, second = GOLD.split()
    output = [
        {"type": "reasoning", "content": [{"text": "no"}]},
        message(first + " "),
        message(second),
        {"type": "function_call"},
    ]
    body = {"task": TASK.id, "response": {"output": output, "output_text": "not this"}}
    assert ask(port, "POST", "/verify", body)[1]["reward"] == 1.0


def test_a_failed_completion_has_the_floor_and_its_reason(port):
    status, answer, _ = ask(port, "POST", "/verify", row("crash"))
    assert (status, answer["reward"], answer["failure_kind"], answer["mask_sample"]) == (200, 0.0, "crashed", False)
    assert answer["failure_reason"] == "RuntimeError: crash (line 1)"


def test_our_fault_has_no_reward_and_is_to_be_masked(port):
    status, answer, _ = ask(port, "POST", "/verify", row("broken"))
    assert (status, answer["reward"], answer["mask_sample"], answer["failure_kind"]) == (200, None, True, "unmeasured")
    assert "KeyError" in answer["failure_reason"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"\xff\xfe", "body"),
        (b'{"x": NaN}', "body"),
        (b'{"x": 1e999}', "body"),
        (b"[" * 9000, "body"),
        (b"[]", "body"),
        ({"task": TASK.id}, "body.response"),
        ({"response": {"output_text": ""}}, "body.task"),
        (row(GOLD, task=3), "body.task"),
        (row(GOLD, task="toy/two/tset/0"), "body.task"),
        (row(GOLD, task="scene/stack/test/0"), "body.task"),
        (row(GOLD, task="toy/two/test/" + "9" * 5000), "body.task"),
        (row(GOLD, task={"id": "x"}), "body.task"),
        (row(GOLD, task=TASK.to_json() | {"digest": "sha256:0"}), "body.task"),
        ({"task": TASK.id, "response": "text"}, "body.response"),
        ({"task": TASK.id, "response": {}}, "body.response.output"),
        ({"task": TASK.id, "response": {"output": [3]}}, "body.response.output.0"),
        ({"task": TASK.id, "response": {"output": [{"content": 3}]}}, "body.response.output.0.content"),
    ],
)
def test_a_malformed_body_is_422_with_the_field_named(port, body, field):
    status, answer, _ = ask(port, "POST", "/verify", body)
    assert status == 422
    assert any(".".join(map(str, part["loc"])).startswith(field) for part in answer["detail"]), answer


@pytest.mark.parametrize("text", ["\ud800", "\u2028\x00", "\U0001f600" * 50])
def test_any_text_survives_the_way_there_and_back(port, text):
    status, answer, _ = ask(port, "POST", "/verify", row("x", note=text))
    assert (status, answer["note"]) == (200, text)


def test_a_body_over_the_limit_is_413_whether_it_is_declared_or_not(port):
    assert ask(port, "POST", "/verify", b"x" * 20001)[0] == 413
    endless = iter([b"x" * 1000] * 100)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.suppress(ConnectionError):  # it may hang up before all is sent
        connection.request("POST", "/verify", endless, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    assert connection.getresponse().status == 413
    connection.close()
    assert ask(port, "POST", "/verify", row(GOLD))[0] == 200


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/verify", 405), ("POST", "/nope", 404)])
def test_other_ways_in_are_told_so(port, method, path, status):
    assert ask(port, method, path, {})[0] == status


def test_what_is_served_and_how_it_is_can_be_asked(port):
    assert ask(port, "GET", "/health")[1]["status"] == "ok"
    assert ask(port, "GET", "/skills")[1] == [toy.SKILL.to_json()]
    assert ask(port, "POST", "/seed_session", {"any": 1})[:2] == (200, {})
    assert "/verify" in ask(port, "GET", "/openapi.json")[1]["paths"]


def test_prometheus_counts_outcomes_by_reason(port):
    def count():
        text = ask(port, "GET", "/metrics")[1]
        found = re.search(r'^climbable_verifications_total\{outcome="failed",reason="no_code"\} (\S+)', text, re.M)
        return float(found[1]) if found else 0.0

    before = count()
    for _ in range(3):
        ask(port, "POST", "/verify", row(" "))
    assert count() == before + 3
    assert "climbable_in_flight 0.0" in ask(port, "GET", "/metrics")[1]


def test_rows_are_summed_up_by_task_with_unmeasured_ones_apart(port):
    solved, failed, lost = (
        {"reward": 1.0, "score": {"solved": True}},
        {"reward": 0.0},
        {"reward": None, "mask_sample": True},
    )
    rows = [
        *({"_ng_task_index": 0, **answer} for answer in (solved, failed, lost)),
        *({"_ng_task_index": 1, **answer} for answer in (solved, solved)),
    ]
    status, answer, _ = ask(port, "POST", "/aggregate_metrics", {"verify_responses": rows})
    assert status == 200
    assert answer["agent_metrics"] == {
        "mean/reward": 0.75,
        "pass@1": 0.75,
        "pass@2": 1.0,
        "signal_share": 0.5,
        "rows": 5,
        "unmeasured": 1,
        "tasks": 2,
    }
    assert answer["key_metrics"] == {"mean/reward": 0.75, "pass@1": 0.75, "unmeasured": 1}
    assert [group["solved"] for group in answer["group_level_metrics"]] == [1, 2]
    assert ask(port, "POST", "/aggregate_metrics", {"verify_responses": []})[1]["agent_metrics"]["mean/reward"] is None
    assert ask(port, "POST", "/aggregate_metrics", {"verify_responses": [{"reward": True}, {"reward": "1"}]})[0] == 200


def test_of_many_at_once_each_gets_its_own_answer_once(port):
    bodies = [row(GOLD if number % 3 else "oak", note=number) for number in range(300)]
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda body: ask(port, "POST", "/verify", body), bodies))
    assert [status for status, _, _ in answers] == [200] * 300
    assert [answer["note"] for _, answer, _ in answers] == list(range(300))
    assert [answer["score"]["solved"] for _, answer, _ in answers] == [bool(number % 3) for number in range(300)]


def test_beyond_its_places_a_server_sends_away_with_a_time_to_come_back():
    with serving("--places", "2") as (port, _), concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(port, "POST", "/verify", row("sleep 2")), range(8)))
        assert sorted(status for status, _, _ in answers) == [200] * 2 + [429] * 6
        assert all(int(headers["Retry-After"]) >= 1 for status, _, headers in answers if status == 429)
        assert ask(port, "POST", "/verify", row(GOLD))[0] == 200


def test_past_the_deadline_a_completion_is_unmeasured():
    with serving("--deadline", "0.3") as (port, _):
        status, answer, _ = ask(port, "POST", "/verify", row("sleep 1"))
    assert (status, answer["reward"]) == (200, None)
    assert "overloaded" in answer["failure_reason"]


def test_sigterm_answers_what_is_admitted_and_takes_no_more():
    with serving() as (port, process), concurrent.futures.ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, port, "POST", "/verify", row("sleep 1.5")) for _ in range(4)]
        deadline = time.monotonic() + 20
        while ask(port, "GET", "/health")[1]["in_flight"] < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert [answer.result()[0] for answer in asked] == [200] * 4
        process.wait(timeout=20)
        with pytest.raises(ConnectionError):
            ask(port, "GET", "/health")


def test_with_a_token_only_health_is_open():
    with serving(token="s3cret") as (port, _):
        assert ask(port, "GET", "/health")[0] == 200
        status, answer, headers = ask(port, "POST", "/verify", row(GOLD))
        assert (status, headers["WWW-Authenticate"]) == (401, "Bearer") and "Bearer TOKEN" in answer["detail"]
        assert ask(port, "GET", "/skills", headers={"Authorization": "Bearer wrong"})[0] == 401
        assert ask(port, "POST", "/verify", row(GOLD), {"Authorization": "Bearer s3cret"})[0] == 200


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "CLIMBABLE_TOKEN"),
        (["--host", "::"], "CLIMBABLE_TOKEN"),
        (["--host", "some.where"], "CLIMBABLE_TOKEN"),
    ],
)
def test_beyond_loopback_a_token_is_asked_for(monkeypatch, capsys, options, told):
    monkeypatch.delenv("CLIMBABLE_TOKEN", raising=False)
    assert main(["serve", "toy:SKILL", *options]) == 2
    assert told in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(port, capsys):
    assert main(["serve", "toy:SKILL", "--port", str(port)]) == 2
    assert "--port 0" in capsys.readouterr().err
