"""Folders that scripts wrote to go away whatever they hold, and those of a driver that was killed are swept up."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from climbable.sandbox import folders
from climbable.sandbox.folders import Folder, sweep
from climbable.sandbox.jail.remove import remove_tree


def nest(path, depth):
    os.mkdir(path)
    inner = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=inner)
        deeper = os.open("d", os.O_RDONLY, dir_fd=inner)
        os.close(inner)
        inner = deeper
    os.close(os.open("file", os.O_CREAT, dir_fd=inner))
    os.close(inner)


def test_a_nest_deeper_than_python_recurses_is_removed(tmp_path):
    nest(tmp_path / "deep", 3000)
    remove_tree(str(tmp_path / "deep"))
    assert os.listdir(tmp_path) == []


def test_links_are_removed_and_what_they_name_stays(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    tree = tmp_path / "tree"
    (tree / "inner/deep").mkdir(parents=True)
    (tree / "folder").symlink_to(kept)
    (tree / "inner/deep/up").symlink_to("..")
    (tree / "dangling").symlink_to("/no/such")
    os.link(kept / "file", tree / "hard")
    os.mkfifo(tree / "inner/fifo")
    remove_tree(str(tree))
    assert os.listdir(tmp_path) == ["kept"] and (kept / "file").read_text() == "x"


AS_NOBODY = """
import os, sys
from climbable.sandbox.jail.remove import remove_tree
if os.getuid() == 0: os.setuid(65534)
top = sys.argv[1] + "/tree"
os.makedirs(top + "/a/b/c"); open(top + "/a/b/c/file", "w").close()
for path in ("/a/b/c", "/a/b", "/a", ""): os.chmod(top + path, 0)
remove_tree(top)
print(os.listdir(sys.argv[1]))
"""


def test_permissions_that_were_taken_away_hold_nothing(tmp_path):
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    path = os.pathsep.join(sys.path)
    told = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, tmp_path], env={"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert told.stdout == "[]\n", told.stderr


DRIVER = """
import sys, tempfile, time
from climbable.sandbox.folders import Folder
tempfile.tempdir = sys.argv[1]
print(Folder().path, flush=True)
time.sleep(60)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(folders, "_YOUNG_S", -1.0)
    return tmp_path


def test_only_folders_without_a_living_driver_are_swept(place):
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, place],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as driver:
        lost = driver.stdout.readline().strip()
        mine = Folder()
        (place / "climbable-of-someone-else").mkdir()
        assert sweep() == 0
        driver.send_signal(signal.SIGKILL)
    assert sweep() == 1
    assert not os.path.exists(lost)
    mine.remove()
    assert os.listdir(place) == ["climbable-of-someone-else"]


def test_a_folder_that_is_just_being_made_is_left_alone(place, monkeypatch):
    monkeypatch.setattr(folders, "_YOUNG_S", 60.0)
    folder = Folder()
    os.close(folder._lock)
    assert sweep() == 0
    os.utime(folder.path, (time.time() - 100, time.time() - 100))
    assert sweep() == 1
