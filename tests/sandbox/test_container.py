"""The container runner against a program that stands for the engine: no engine is needed, and none was tried.

It looks at the options, and in place of `docker run … -i` it starts the container's command on this machine.
"""

import os
import subprocess
import sys
import time

import pytest

from climbable.blender import PROGRAM, find_interpreter, read_measurement
from climbable.cli import main
from climbable.core.errors import Unavailable
from climbable.core.types import Outcome
from climbable.sandbox import Container, Sandbox
from climbable.sandbox.container import ENGINES
from climbable.sandbox.jail import landlock

pytestmark = pytest.mark.skipif(
    landlock.abi() < landlock.LEAST_ABI_ALONE, reason="a container's jail needs Landlock here"
)

CUBE = "import bpy\nbpy.ops.mesh.primitive_cube_add(size=1)\n"

ENGINE = """#!{python}
import os, sys
arguments = sys.argv[1:]
open({log!r}, "a").write(repr(arguments) + "\\n")
shown = [arguments[n + 1].rsplit(":", 2) for n, word in enumerate(arguments) if word == "--volume"]
command = arguments[arguments.index("climbable-blender") + 1:]
for here, there, mode in shown:
    command = [word.replace(there, here) for word in command]
os.execve({blender!r}, [{blender!r}, *command[1:]], {{"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}})
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A `docker` on the path; returns the file with what it was asked."""
    log, docker = tmp_path / "log", tmp_path / "docker"
    docker.write_text(ENGINE.format(python=sys.executable, log=str(log), blender=str(find_interpreter())))
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return log


@pytest.fixture
def box(engine):
    with Sandbox(interpreter=Container(engine="docker"), program=PROGRAM, validate=read_measurement) as box:
        yield box


def test_scripts_are_run_and_measured_and_the_jail_is_on(box):
    assert box.hello["mode"] == "landlock"
    run = box.run("print('not a message')\n" + CUBE)
    assert (run.outcome, len(run.artefact["objects"])) == (Outcome.SCORED, 1), run
    assert box.run("1 / 0").outcome is Outcome.FAILED
    for escape in ("open('/etc/hostname').read()", "import socket; socket.socket()", "import os; os.fork()"):
        run = box.run(escape)
        assert (run.outcome, "PermissionError" in run.detail) == (Outcome.FAILED, True), run


def test_the_container_may_do_nothing_that_it_need_not(box, engine):
    (told,) = engine.read_text().splitlines()
    for words in (
        "'--network', 'none'",
        "'--read-only'",
        "'--cap-drop', 'ALL'",
        "'--security-opt', 'no-new-privileges'",
        "'--user', '65534:65534'",
        "'--pids-limit'",
        "'--memory'",
        "'--tmpfs'",
        "'--rm', '--interactive'",
    ):
        assert words in told, words
    assert told.count("'--volume'") == told.count(":ro'") == 2
    assert "privileged'" not in told.replace("no-new-privileges", "") and "docker.sock" not in told


def test_it_ends_when_the_sandbox_is_closed_or_the_engine_dies(engine, below):
    with Sandbox(interpreter=Container(engine="docker"), program=PROGRAM, validate=read_measurement) as box:
        started = below(os.getpid())
        assert len(started) >= 2
        os.kill(started[0], 9)
        assert box.run(CUBE).outcome is Outcome.SCORED
        started += below(os.getpid())
    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in started):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_container_ends_with_its_stdin(engine):
    command = Container(engine="docker").command(PROGRAM.parents[1] / "sandbox/jail", PROGRAM)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        process.stdin.close()
        process.wait(timeout=30)


def test_the_command_takes_it_as_an_option(engine, capsys, tmp_path):
    (tmp_path / "answer.py").write_text(CUBE)
    words = ["verify", "scene", "--task", "scene/stack/test/0", "--completion", str(tmp_path / "answer.py")]
    assert main([*words, "--container", "docker", "--json"]) == 0
    assert '"reward": 0.1' in capsys.readouterr().out
    assert engine.read_text()


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_that_is_not_installed_is_told_with_what_to_type(name, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match=f"{name} build -t climbable-blender docker"):
        Container(engine=name).command(PROGRAM, PROGRAM)
