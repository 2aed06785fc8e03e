"""Blenders beside the one of `make setup`: a `blender` on the path, and those that CLIMBABLE_OTHER_BLENDERS names (with ``:``)."""

import os
import shutil
from pathlib import Path

import pytest

from climbable.blender import install
from climbable.core.errors import Unavailable, UserError
from climbable.core.types import Task
from climbable.sandbox.driver import MODES
from climbable.skills import load_skill
from climbable.verify import Verifier
from handed import misses, rows

OTHERS = [
    *filter(None, [shutil.which("blender")]),
    *filter(None, os.environ.get("CLIMBABLE_OTHER_BLENDERS", "").split(":")),
]
SKILL = load_skill("scene")
OF_VERSION_4_5 = {"good-current-api", "bad-newer-api", "bad-older-api"}
ROWS = [row for row in rows("scene") if not row["case"].startswith("abuse-") and row["case"] not in OF_VERSION_4_5]

if not OTHERS:
    OTHERS = [pytest.param("", marks=pytest.mark.skip(reason="no other Blender is installed here"))]


@pytest.fixture(scope="module", params=OTHERS)
def interpreter(request):
    return request.param


@pytest.fixture(scope="module", params=MODES)
def scores(request, interpreter):
    golds = [SKILL.task(family.name, "test", n) for family in SKILL.families for n in range(6)]
    asked = [(task, SKILL.teach(task, n % 6)) for n, task in enumerate(golds)]
    cases = ROWS if request.param == MODES[0] else ROWS[::8]
    try:
        with Verifier(SKILL, workers=2, wall_s=10, modes=[request.param], interpreter=interpreter) as verifier:
            scores = verifier.verify_many(
                [*asked, *((Task.from_json(row["task"]), row["completion"]) for row in cases)]
            )
    except Unavailable as error:
        pytest.skip(f"this machine does not allow the mode: {error}")
    return scores[: len(golds)], list(zip(cases, scores[len(golds) :], strict=True))


def test_the_teacher_is_paid_in_full(scores):
    golds, _ = scores
    assert [score.reward for score in golds] == [1.0] * len(golds), golds


def test_the_handed_cases_come_out_as_expected(scores):
    _, cases = scores
    assert {row["case"]: missed for row, score in cases if (missed := misses(score.to_json(), row["expect"]))} == {}


def test_a_version_that_nobody_knows_and_a_wrong_python_are_named(tmp_path):
    with pytest.raises(UserError, match=r"'5\.9'.*5\.3"):
        install.install(tmp_path, version="5.9")
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 3.8")
    python.chmod(0o755)
    with pytest.raises(UserError, match=r"Blender 5\.3 needs Python 3\.13"):
        install.install(tmp_path, python=str(python), version="5.3")
    assert Path(python).exists()
