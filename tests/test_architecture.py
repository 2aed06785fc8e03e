"""The house is as its map says: rooms, a core that rests on nothing, and no word of the workshop it was built in."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/climbable"
WORKSHOP = ["/".join(parts) for parts in (("", "work", ""), ("", "opt", "pypi"), ("..", "shared"))]

# Imports each named module and prints what that loaded.
LOADER = """
import importlib, json, sys
folder, *names = sys.argv[1:]
before = set(sys.modules)
sys.path.insert(0, folder)
for name in names:
    importlib.import_module(name)
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def rooms():
    """The rooms of the README's map; a name after the first of its row stands in the same folder."""
    found = []
    for line in (ROOT / "README.md").read_text(encoding="utf-8").split("## The map", 1)[1].splitlines():
        names = re.findall(r"`([^`]+)`", line.split("|")[1]) if line.startswith("|") else []
        for name in names:
            found.append(name if name == names[0] else f"{Path(names[0]).parent}/{name}")
    return found


def packages():
    return sorted(path.parent.relative_to(ROOT).as_posix() for path in PACKAGE.glob("*/__init__.py"))


def loaded_by(*names):
    command = [sys.executable, "-I", "-c", LOADER, str(PACKAGE.parent), *names]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_map_has_rooms():
    assert len(rooms()) > 10 and "src/climbable/core" in rooms() and "src/climbable/rollout.py" in rooms()


@pytest.mark.parametrize("room", rooms())
def test_each_room_of_the_map_is_there(room):
    assert (ROOT / room).exists()


@pytest.mark.parametrize("package", packages())
def test_each_package_is_on_the_map(package):
    assert package in rooms()


@pytest.mark.parametrize("module", sorted(path.stem for path in (PACKAGE / "core").glob("*.py")))
def test_the_core_loads_the_standard_library_and_itself_alone(module):
    name = "climbable.core" if module == "__init__" else f"climbable.core.{module}"
    loaded = loaded_by(name)
    assert name in loaded
    foreign = {one for one in loaded if one.split(".")[0] not in sys.stdlib_module_names}
    assert {one for one in foreign if one != "climbable" and not f"{one}.".startswith("climbable.core.")} == set()


@pytest.mark.skipif(not (ROOT / ".git").exists() or not shutil.which("git"), reason="no git checkout")
def test_no_file_speaks_of_the_workshop_it_was_made_in():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    assert len(files) > 100
    told = {
        f"{path.relative_to(ROOT)}: {word}"
        for path in files
        if path.is_file()
        for word in WORKSHOP
        if word.encode() in path.read_bytes()
    }
    assert told == set()
