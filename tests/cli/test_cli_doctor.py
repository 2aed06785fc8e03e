import json
import shutil
import subprocess
import sys

import pytest

from climbable.blender import find_interpreter
from climbable.cli import layers, machine, main
from climbable.cli.finding import Finding


def test_without_blender_it_says_what_that_costs_and_what_to_type(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(machine, "_training", list)
    monkeypatch.setattr(machine, "_gpu", lambda: Finding(part="gpu", works=False, here="none"))
    assert main(["doctor", "--blender", str(tmp_path / "none"), "--json"]) == 1
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


def test_a_needed_lack_is_a_no(monkeypatch, capsys):
    monkeypatch.setattr(
        machine, "examine", lambda blender: [Finding(part="torch", works=False, here="no", needed=True)]
    )
    assert main(["doctor"]) == 1
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


def test_each_layer_is_tried_and_tells_what_its_lack_costs():
    found = {finding.part: finding for finding in layers.layers()}
    assert {"layer seccomp", "layer landlock", "layer user namespaces", "layer limits", "layer kill by pidfd"} <= set(
        found
    )
    assert all(finding.cost and finding.fix and finding.here for finding in found.values())
    assert found["layer seccomp"].works and found["layer no new privileges"].works  # else no other test here could pass


def test_a_layer_that_does_not_work_says_why_and_one_that_must_is_needed():
    told = dict.fromkeys([name for name, *_ in layers._LAYERS], "") | {"landlock ABI": 7}
    assert all(finding.works for finding in layers.findings(told))
    lacking = {
        finding.part: finding for finding in layers.findings(dict.fromkeys(told, "not here") | {"landlock ABI": 0})
    }
    assert not any(finding.works for finding in lacking.values())
    assert lacking["layer seccomp"].needed and not lacking["layer landlock"].needed
    assert "not here" in lacking["layer landlock"].here


def test_the_switch_that_keeps_user_namespaces_away_is_named(tmp_path):
    assert "CONFIG_USER_NS" in layers.user_namespace_switch(tmp_path)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("1\n")
    assert "apparmor_restrict_unprivileged_userns=0" in layers.user_namespace_switch(tmp_path)


def test_where_no_namespaces_can_be_made_it_says_so_and_the_weakest_mode_is_taken():
    """As in a container: a user namespace that allows no further ones, without capabilities."""
    less = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    less += ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if not shutil.which("setpriv") or subprocess.run([*less, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not allow the set-up")
    command = [sys.executable, "-m", "climbable", "doctor", "--json", "--blender", str(find_interpreter())]
    done = subprocess.run([*less, *command], capture_output=True, text=True, timeout=120)
    found = {finding["part"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert not found["layer root namespaces"]["works"]
    assert "max_user_namespaces=15000" in found["layer user namespaces"]["fix"]
    if found["layer landlock"]["works"]:
        assert "mode landlock" in found["sandbox"]["here"] and found["sandbox"]["works"]
