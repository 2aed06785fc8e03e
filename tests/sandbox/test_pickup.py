"""The artefact is picked up as one plain file of bounded size, whatever a script put in its place."""

import os
import socket
import stat

import pytest

from climbable.sandbox.jail import pickup
from climbable.sandbox.jail.pickup import Refused, pick_up

MOST = 1000


@pytest.fixture
def places(tmp_path):
    return tmp_path / "source", tmp_path / "target"


def refusal(source, target):
    """The reason for which `source` is not taken; nothing may have been copied."""
    with pytest.raises(Refused) as refused:
        pick_up(str(source), str(target), most_bytes=MOST)
    assert not target.exists()
    return refused.value.reason


def test_a_plain_file_is_copied_and_the_copy_is_read_only(places):
    source, target = places
    source.write_bytes(b"x" * MOST)
    pick_up(str(source), str(target), most_bytes=MOST)
    assert target.read_bytes() == b"x" * MOST
    assert stat.S_IMODE(target.stat().st_mode) & 0o222 == 0


def test_nothing_is_refused(places):
    assert refusal(*places) == "unreadable"


def test_a_symbolic_link_is_refused(places):
    (places[0].parent / "real").write_bytes(b"x")
    places[0].symlink_to("real")
    assert refusal(*places) == "unreadable"


def test_a_hard_link_is_refused(places):
    places[0].write_bytes(b"x")
    os.link(places[0], places[0].parent / "other")
    assert refusal(*places) == "unreadable"


def test_a_folder_is_refused(places):
    places[0].mkdir()
    assert refusal(*places) == "unreadable"


def test_a_pipe_is_refused_and_not_waited_for(places):
    os.mkfifo(places[0])
    assert refusal(*places) == "unreadable"


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket's path has to be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("source")
        assert refusal(tmp_path / "source", tmp_path / "target") == "unreadable"


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device_is_refused(device, places):
    assert refusal(device, places[1]) == "unreadable"


def test_a_huge_file_without_content_is_refused(places):
    with open(places[0], "wb") as file:
        file.truncate(1 << 40)
    assert refusal(*places) == "output"


def test_a_file_that_is_one_byte_too_long_is_refused(places):
    places[0].write_bytes(b"x" * (MOST + 1))
    assert refusal(*places) == "output"


def after_the_check(monkeypatch, act):
    """Has `act` run between the look at the file and the copy."""
    look = os.fstat

    def fstat(descriptor):
        monkeypatch.undo()
        found = look(descriptor)
        act()
        return found

    monkeypatch.setattr(pickup.os, "fstat", fstat)


def test_a_file_that_grows_after_the_check_is_copied_up_to_the_limit(places, monkeypatch):
    source, target = places
    source.write_bytes(b"x")
    after_the_check(monkeypatch, lambda: os.truncate(source, 1 << 40))
    pick_up(str(source), str(target), most_bytes=MOST)
    assert target.stat().st_size == MOST


def test_a_file_that_is_replaced_after_the_check_is_copied_as_it_was(places, monkeypatch):
    source, target = places
    source.write_bytes(b"checked")
    other = source.parent / "other"
    other.write_bytes(b"another")
    after_the_check(monkeypatch, lambda: os.replace(other, source))
    pick_up(str(source), str(target), most_bytes=MOST)
    assert target.read_bytes() == b"checked"


def test_a_copy_never_goes_through_a_link_that_waits_for_it(places):
    source, target = places
    source.write_bytes(b"x")
    target.symlink_to(source.parent / "elsewhere")
    with pytest.raises(FileExistsError):
        pick_up(str(source), str(target), most_bytes=MOST)
    assert not (source.parent / "elsewhere").exists()
