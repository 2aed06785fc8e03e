import subprocess
import sys

import pytest

from climbable.cli import VERBS, climb, main
from climbable.core.errors import StageSaysNo, Unavailable, UserError


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from climbable.cli import main; status = main(['--help']); "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'torch', 'transformers', 'trl', 'rich', 'jinja2', 'matplotlib', 'numpy'}), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")
    assert all(f"\n  {verb} " in done.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example_and_json(verb, capsys):
    assert main([verb, "--help"]) == 0
    text = capsys.readouterr().out
    example = next(line for line in text.partition("Example")[2].splitlines() if f"climb {verb}" in line)
    assert example.strip().startswith(f"climb {verb}"), "an example stands on a line of its own, to be copied"
    assert "\\b" not in text and "\b" not in text
    assert "--json" in text


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("climb 0.")


@pytest.mark.parametrize(
    "arguments", [["verfy"], ["verify"], ["tasks", "toy:SKILL", "--famly", "one"], ["gate", "toy:SKILL"]]
)
def test_wrong_usage_is_the_callers_mistake(arguments, capsys):
    assert main(arguments) == 2
    assert "--help" in capsys.readouterr().err


def test_a_misspelt_verb_is_told_the_nearest(capsys):
    main(["verfy"])
    assert "did you mean 'verify'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StageSaysNo("no"), 1),
        (UserError("typo"), 2),
        (Unavailable("disk"), 3),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("ours"), 3),
    ],
)
def test_each_error_has_its_exit_status(error, status, monkeypatch, capsys):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(climb, "main", fail)
    assert main(["skills"]) == status
    assert "climb: " in capsys.readouterr().err
