import json

from climbable.cli import machine, main
from climbable.cli.machine import Finding


def test_without_blender_it_says_what_that_costs_and_what_to_type(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(machine, "_training", list)
    monkeypatch.setattr(machine, "_gpu", lambda: Finding(part="gpu", works=False, here="none"))
    assert main(["doctor", "--blender", str(tmp_path / "none"), "--json"]) == 3
    answer = json.loads(capsys.readouterr().out)
    blender = next(finding for finding in answer["findings"] if finding["part"] == "blender")
    assert (answer["works"], blender["works"], blender["fix"]) == (False, False, "climb doctor --fix")
    assert "scene" in blender["cost"]


def test_a_lack_that_is_not_needed_is_no_failure(monkeypatch, capsys):
    findings = [
        Finding(part="all", works=True, here="well", needed=True),
        Finding(part="gpu", works=False, here="none", cost="slower", fix="buy one"),
    ]
    monkeypatch.setattr(machine, "examine", lambda blender: findings)
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "The main path works" in text
    assert "buy one" in text


def test_a_needed_lack_is_our_fault(monkeypatch, capsys):
    monkeypatch.setattr(
        machine, "examine", lambda blender: [Finding(part="torch", works=False, here="no", needed=True)]
    )
    assert main(["doctor"]) == 3
    assert "does not work yet" in capsys.readouterr().out


def test_system_libraries_that_a_starting_blender_has_from_elsewhere_are_not_missed(monkeypatch, tmp_path):
    interpreter = tmp_path / "python"
    interpreter.write_text("")
    interpreter.chmod(0o755)
    monkeypatch.setattr("climbable.blender.find.missing_system_libraries", lambda: ["libx11-6"])
    monkeypatch.setattr(machine, "_sandbox", lambda path: [Finding(part="sandbox", works=True, here="", needed=True)])
    assert [finding.part for finding in machine._blender(str(interpreter))] == ["sandbox"]
    monkeypatch.setattr(machine, "_sandbox", lambda path: [Finding(part="sandbox", works=False, here="", needed=True)])
    libraries, _ = machine._blender(str(interpreter))
    assert "apt-get install" in libraries.fix and "libx11-6" in libraries.fix


def test_a_model_file_named_by_the_environment_is_looked_at(monkeypatch, tmp_path):
    monkeypatch.setenv("CLIMBABLE_SMOLLM2_GGUF", str(tmp_path / "none.gguf"))
    finding = machine._model()
    assert not finding.works and "none.gguf" in finding.here
    monkeypatch.delenv("CLIMBABLE_SMOLLM2_GGUF")
    assert machine._model().works
