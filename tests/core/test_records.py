"""Records under kills, full disks and hostile text; the bytes expected are written out here."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from climbable.core import records
from climbable.core.errors import Unavailable

ROWS = [{"n": 0}, {"n": 1, "text": "a\nb é \ud800"}, {"n": 2, "nested": {"list": [1, None, True, 0.5]}}]
LINES = [
    b'{"n":0}\n',
    b'{"n":1,"text":"a\\nb \\u00e9 \\ud800"}\n',
    b'{"n":2,"nested":{"list":[1,null,true,0.5]}}\n',
]
TORN = [b"".join(LINES[:2]) + LINES[2][:kept] for kept in range(len(LINES[2]))]

# Appends batches of three rows for ever, going on where the file ends; a row is long, so that a kill can tear it.
WRITER = """
import sys
from pathlib import Path
from climbable.core import records
path = Path(sys.argv[1])
n = len(list(records.read(path)))
print("ready", flush=True)
while True:
    records.append(path, [{"n": n + i, "text": str(n + i) * 20_000} for i in range(3)])
    n += 3
"""


@contextmanager
def no_file_beyond(size):
    """A full disk, as far as a write can tell: what fits is written, and the rest is an OSError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


def test_a_row_is_one_line_of_ascii(path):
    records.append(path, ROWS)
    assert path.read_bytes() == b"".join(LINES)


def test_folders_on_the_way_are_made(tmp_path):
    records.append(tmp_path / "a/b/rows.jsonl", ROWS)
    assert list(records.read(tmp_path / "a/b/rows.jsonl")) == ROWS


def test_no_rows_make_no_file(path):
    records.append(path, [])
    assert not path.exists()


def test_a_missing_file_has_no_rows(path):
    assert list(records.read(path)) == []
    assert records.read_json(path) is None


def test_a_line_torn_at_any_byte_is_passed_over(path):
    for content in TORN:
        path.write_bytes(content)
        assert list(records.read(path)) == ROWS[:2], content


def test_a_line_torn_at_any_byte_is_cleared_by_the_next_append(path):
    for content in TORN:
        path.write_bytes(content)
        records.append(path, [{"n": 3}])
        assert path.read_bytes() == LINES[0] + LINES[1] + b'{"n":3}\n', content


@pytest.mark.parametrize("whole", [b"", LINES[0]], ids=["alone", "after a row"])
@pytest.mark.parametrize("length", [1, 65535, 65536, 65537, 200_000])
def test_a_torn_line_of_any_length_is_cleared(path, whole, length):
    path.write_bytes(whole + b"x" * length)
    records.append(path, [ROWS[2]])
    assert path.read_bytes() == whole + LINES[2]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("content", [b"", LINES[0], LINES[0] + LINES[1][:7]], ids=["empty", "whole", "torn"])
def test_a_number_that_is_not_finite_is_refused_and_the_file_stays(path, content, number):
    path.write_bytes(content)
    with pytest.raises(ValueError):
        records.append(path, [{"n": 1}, {"deep": [{"n": number}]}])
    assert path.read_bytes() == content


def test_a_source_of_rows_that_breaks_off_appends_none(path):
    def rows():
        yield {"n": 1}
        raise RuntimeError("the source broke off")

    records.append(path, ROWS[:1])
    with pytest.raises(RuntimeError):
        records.append(path, rows())
    assert path.read_bytes() == LINES[0]


def test_writes_that_take_a_byte_at_a_time_append_everything(path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:1]))
    records.append(path, ROWS)
    assert path.read_bytes() == b"".join(LINES)


def test_a_full_disk_is_our_fault_and_named(path):
    records.append(path, ROWS[:1])
    with no_file_beyond(len(LINES[0])), pytest.raises(Unavailable, match=r"rows\.jsonl"):
        records.append(path, ROWS[1:])
    assert list(records.read(path)) == ROWS[:1]


def test_a_disk_that_fills_between_two_rows_keeps_neither(path):
    records.append(path, ROWS[:1])
    with no_file_beyond(len(LINES[0] + LINES[1]) + 5), pytest.raises(Unavailable):
        records.append(path, ROWS[1:])
    assert list(records.read(path)) == ROWS[:1]


@pytest.mark.parametrize("text", ["\ud800", "\udfff x", "\ud83d", "\U0001f600", "\u2028\u2029\x85", "\x00\r\n", '"\\'])
def test_any_text_survives(path, text):
    records.append(path, [{text: text}])
    assert list(records.read(path)) == [{text: text}]
    records.write_json(path, {text: [text]})
    assert records.read_json(path) == {text: [text]}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=10,
    )
)
def test_any_json_value_is_one_line_and_survives(value):
    line = records.dumps(value)
    assert line.isascii() and len(line.splitlines()) == 1
    assert json.loads(line) == value


@pytest.mark.parametrize("line", [b"oops\n", b"\n", b"\x00\x00\n", b"\xff\xfe\n", b'{"n":1\n', b'{"n":1}{"n":2}\n'])
def test_a_line_in_the_middle_that_is_not_json_is_named(path, line):
    path.write_bytes(LINES[0] + line + LINES[2])
    with pytest.raises(Unavailable, match=r"rows\.jsonl, line 2,"):
        list(records.read(path))


def test_a_last_line_that_ends_and_is_not_json_is_named_too(path):
    path.write_bytes(LINES[0] + LINES[1] + b"{\n")
    with pytest.raises(Unavailable, match="line 3"):
        list(records.read(path))


def test_rows_before_a_broken_line_are_still_given(path):
    path.write_bytes(LINES[0] + b"oops\n")
    rows = records.read(path)
    assert next(rows) == ROWS[0]
    with pytest.raises(Unavailable):
        next(rows)


def test_rewrite_drops_what_is_refused_and_counts_it(path):
    path.write_bytes(b"".join(LINES))
    assert records.rewrite(path, lambda row: row["n"] != 1) == 1
    assert path.read_bytes() == LINES[0] + LINES[2]


def test_rewrite_may_drop_everything(path):
    path.write_bytes(b"".join(LINES))
    assert records.rewrite(path, lambda row: False) == 3
    assert path.read_bytes() == b""


def test_a_torn_line_is_no_row_that_rewrite_counts(path):
    path.write_bytes(LINES[0] + LINES[1] + LINES[2][:-1])
    assert records.rewrite(path, lambda row: row["n"] == 1) == 1
    assert path.read_bytes() == LINES[1]


def test_rewrite_leaves_a_file_alone_of_which_nothing_goes(path):
    assert records.rewrite(path, lambda row: True) == 0
    assert not path.exists()
    path.write_bytes(b"".join(LINES))
    before = path.stat()
    assert records.rewrite(path, lambda row: True) == 0
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("content", "stored"),
    [("é\r\n", b"\xc3\xa9\r\n"), ("\ud800", b"\xed\xa0\x80"), (b"\xff\x00", b"\xff\x00"), ("", b"")],
)
def test_a_file_is_written_as_given_and_leaves_nothing_beside_it(path, content, stored):
    path.write_bytes(b"old and longer")
    records.write_whole(path, content)
    assert path.read_bytes() == stored
    assert os.listdir(path.parent) == [path.name]


def test_a_written_file_may_be_read_by_others(path):
    records.write_whole(path, "x")
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("call", ["replace", "fsync", "chmod"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
def test_a_write_that_fails_keeps_the_old_content_and_leaves_nothing_beside_it(path, monkeypatch, call, error):
    def fail(*arguments):
        raise error

    path.write_bytes(b"old")
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(Unavailable if isinstance(error, OSError) else KeyboardInterrupt):
        records.write_whole(path, "new")
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


def test_a_rewrite_that_fails_drops_nothing(path):
    path.write_bytes(b"".join(LINES))
    with no_file_beyond(3), pytest.raises(Unavailable):
        records.rewrite(path, lambda row: row["n"] == 2)
    assert path.read_bytes() == b"".join(LINES)
    assert os.listdir(path.parent) == [path.name]


def test_json_that_is_not_finite_is_refused_and_the_file_stays(path):
    records.write_json(path, {"a": [1.5]})
    with pytest.raises(ValueError):
        records.write_json(path, {"a": float("nan")})
    assert records.read_json(path) == {"a": [1.5]}


def test_a_writer_killed_again_and_again_leaves_whole_consecutive_rows(path):
    wait, kept = random.Random(0), 0
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout.readline() == b"ready\n"
            deadline = time.monotonic() + 30
            while (path.stat().st_size if path.exists() else 0) <= kept and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(wait.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
        assert writer.returncode == -signal.SIGKILL
        rows = list(records.read(path))
        assert rows == [{"n": n, "text": str(n) * 20_000} for n in range(len(rows))]
        assert path.stat().st_size > kept, "the writer got further, else nothing was tried"
        kept = path.stat().st_size
