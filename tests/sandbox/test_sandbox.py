"""What a script may do, what becomes of one that fails, and what stays out of its reach, in every mode that works here."""

import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from climbable.blender import PROGRAM, find_interpreter, read_measurement
from climbable.core.errors import Unavailable
from climbable.core.types import Outcome, Reason
from climbable.sandbox import Limits, Sandbox, selftest
from climbable.sandbox.driver import MODES, ZygoteProcess, start_zygote

CUBE = "import bpy\nbpy.ops.mesh.primitive_cube_add(size=0.5, location=(0, 0, 1))\n"

# Each raises unless it works; `test_an_escape_works_where_no_jail_is` is the proof that it would.
ESCAPES = {
    "read-shadow": "assert open('/etc/shadow').read()",
    "read-anothers-file": "import glob\nassert [open(path).read() for path in glob.glob('/tmp/*/secret-of-a-test')]",
    "read-shared-memory": "import glob\nassert [open(path).read() for path in glob.glob('/dev/shm/secret-of-a-test*')]",
    "write-root": "open('/mark', 'w')",
    "write-usr": "open('/usr/mark', 'w')",
    "socket": "import socket\nsocket.socket()",
    "exec": "import os\nos.execv('/bin/true', ['true'])",
    "user-namespace": "import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "mount": "import ctypes\nassert ctypes.CDLL(None).mount(b'x', b'/mnt', b'tmpfs', 0, None) == 0",
    "ptrace": "import ctypes, os\nassert ctypes.CDLL(None).ptrace(0x4206, os.getppid(), None, None) == 0",
    "shared-memory": "import ctypes\nassert ctypes.CDLL(None).shmget(0, 4096, 0o1600) >= 0",
    "chroot": "import os\nos.chroot('/')",
    "host-name": "import socket\nsocket.sethostname('mine')",
}


@pytest.fixture(scope="module", autouse=True)
def secret():
    """A file that the user who runs the verifier can read."""
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="secret-of-a-test") as shared,
    ):
        shared.write(b"secret")
        shared.flush()
        (pathlib.Path(folder) / "secret-of-a-test").write_text("secret")
        yield


@pytest.fixture(scope="module", params=MODES)
def sandbox(request):
    limits = Limits(wall_s=4, memory_mib=1024, scratch_mib=32, artefact_mib=2)
    try:
        with Sandbox(
            interpreter=find_interpreter(),
            program=PROGRAM,
            validate=read_measurement,
            limits=limits,
            modes=[request.param],
        ) as box:
            yield box
    except Unavailable as error:
        pytest.skip(f"this machine does not allow the mode: {error}")


def test_a_script_is_run_and_measured(sandbox):
    run = sandbox.run(CUBE)
    assert run.outcome is Outcome.SCORED, run
    (cube,) = run.artefact["objects"]
    assert cube["min"] == pytest.approx([-0.25, -0.25, 0.75])
    assert cube["hull_volume"] == pytest.approx(0.125)
    assert cube["area"] == pytest.approx(1.5) == cube["hull_area"]


@pytest.mark.parametrize(
    ("script", "reason", "told"),
    [
        ("import bpy\n\nbpy.data.cube", Reason.CRASHED, "(line 3)"),
        ("x = (", Reason.CRASHED, "SyntaxError"),
        (CUBE + "import sys\nsys.exit(0)", Reason.CRASHED, "SystemExit"),
        (CUBE + "import os\nos._exit(0)", Reason.CRASHED, "exit status 0"),
        ("import os\nos.kill(os.getpid(), 11)\nos.abort()", Reason.CRASHED, "SIG"),
        ("while True: pass", Reason.TIMEOUT, "4 s"),
        ("x = b'x' * (3 << 30)", Reason.MEMORY, "MemoryError"),
        ("open('big', 'wb').write(b'x' * (200 << 20))", Reason.OUTPUT, "line 1"),
        ("class E(Exception):\n    def __str__(self): raise SystemExit\nraise E", Reason.CRASHED, "E: "),
    ],
)
def test_a_failure_has_its_reason_and_a_line_to_act_on(sandbox, script, reason, told):
    if "200 << 20" in script and sandbox.hello["mode"] == "landlock":
        script = script.replace("200", "40")
    run = sandbox.run(script)
    assert (run.outcome, run.reason) == (Outcome.FAILED, reason), run
    assert told in run.detail
    assert "\n" not in run.detail


@pytest.mark.parametrize("name", ESCAPES)
def test_an_escape_does_not_work(sandbox, name):
    run = sandbox.run("import bpy\n" + ESCAPES[name])
    assert run.outcome is Outcome.FAILED, f"{name} worked"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take the jail's layers away one by one")
@pytest.mark.parametrize("name", ESCAPES)
def test_an_escape_works_where_no_jail_is(name):
    script = (
        f"import os\n{ESCAPES[name]}\nfor path in ('/mark', '/usr/mark'):\n    if os.path.exists(path): os.remove(path)"
    )
    # Namespaces of its own keep the machine as it is: mounts, host name. They take no permission away.
    alone = ["unshare", "--mount", "--uts", "--ipc", "--fork"]
    told = subprocess.run([*alone, sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert told.returncode == 0, told.stderr


def test_samples_do_not_see_each_other(sandbox):
    assert sandbox.run("open('left', 'w').write('x')").outcome is Outcome.SCORED
    assert sandbox.run("import os\nassert os.listdir('.') == [], os.listdir('.')").outcome is Outcome.SCORED


def test_no_secret_of_the_environment_is_seen(monkeypatch):
    monkeypatch.setenv("API_TOKEN", "secret")
    script = "import os, glob\nseen = repr(dict(os.environ))\nfor path in glob.glob('/proc/*/environ'):\n"
    script += "    try: seen += open(path).read()\n    except OSError: pass\nassert 'API_TOKEN' not in seen, seen"
    with Sandbox(interpreter=find_interpreter(), program=PROGRAM, validate=read_measurement) as box:
        run = box.run(script)
    assert run.outcome is Outcome.SCORED, run.detail


NEST = """
import os
for number in range(2500):
    os.mkdir("d")
    os.chdir("d")
"""


def test_a_nest_of_folders_that_none_recurses_through_is_cleared_away(sandbox):
    assert sandbox.run(CUBE + NEST).outcome is not Outcome.UNMEASURED
    assert sandbox.run("import os\nassert os.listdir('.') == [], os.listdir('.')").outcome is Outcome.SCORED


def test_whatever_breaks_in_a_worker_its_samples_are_answered_and_it_goes_on(monkeypatch):
    def broken(*_):
        raise RecursionError("too deep")

    with Sandbox(interpreter=find_interpreter(), program=PROGRAM, validate=read_measurement) as box:
        monkeypatch.setattr(ZygoteProcess, "sample", broken)
        run = box.run(CUBE)
        assert (run.outcome, "RecursionError" in run.detail) == (Outcome.UNMEASURED, True)
        monkeypatch.undo()
        assert box.run(CUBE).outcome is Outcome.SCORED


def test_a_forged_report_cannot_turn_a_failure_into_a_score(sandbox):
    forged = "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\nR done\\n{\"objects\": []}')\n    except OSError: pass\n"
    assert sandbox.run(forged + "os._exit(0)").outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "call",
    [
        "resource.prlimit({pid}, resource.RLIMIT_NOFILE, (16, 16))",
        "os.setpriority(os.PRIO_PROCESS, {pid}, 19)",
        "os.sched_setaffinity({pid}, {{0}})",
        "os.kill({pid}, 9)",
    ],
)
@pytest.mark.parametrize("whom", ["stranger", "parent"])
def test_no_other_process_is_reached(sandbox, call, whom):
    stranger = subprocess.Popen(["/bin/sleep", "60"])
    try:
        limits = [resource.prlimit(stranger.pid, resource.RLIMIT_NOFILE), os.getpriority(os.PRIO_PROCESS, stranger.pid)]
        pid = stranger.pid if whom == "stranger" else "os.getppid()"
        run = sandbox.run(f"import os, resource\n{call.format(pid=pid)}")
        # Where it is the first of its own process namespace its parent is 0, which means itself.
        assert run.outcome is Outcome.FAILED or (whom == "parent" and sandbox.hello["mode"] != MODES[-1])
        assert limits == [
            resource.prlimit(stranger.pid, resource.RLIMIT_NOFILE),
            os.getpriority(os.PRIO_PROCESS, stranger.pid),
        ]
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
    assert sandbox.run(CUBE).outcome is Outcome.SCORED


def test_files_outside_keep_their_permissions_and_times(sandbox, tmp_path):
    outside = tmp_path / "file"
    outside.write_text("x")
    os.utime(outside, (1e9, 1e9))
    before = outside.stat()
    script = "import contextlib, os\nfor touch, what in ((os.chmod, 0o777), (os.utime, (5, 5))):\n"
    script += f"    with contextlib.suppress(OSError): touch({str(outside)!r}, what)\n"
    assert sandbox.run(script).outcome is Outcome.SCORED
    after = outside.stat()
    assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)


def test_limits_and_permissions_of_its_own_are_a_scripts_to_set(sandbox):
    own = "import os, resource, shutil\nopen('a', 'w').write('x')\nshutil.copy2('a', 'b')\nos.chmod('b', 0o600)\n"
    run = sandbox.run(own + "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nos.nice(1)\n" + CUBE)
    assert run.outcome is Outcome.SCORED, run.detail


def test_where_no_mode_works_nothing_is_run():
    with pytest.raises(Unavailable, match="climb doctor"):
        start_zygote(find_interpreter(), PROGRAM, [])


def test_a_jail_that_the_self_test_gets_out_of_is_not_used(monkeypatch):
    monkeypatch.setattr(selftest, "SCRIPT", "assert False, 'the jail is open to sockets'")
    with pytest.raises(Unavailable, match=r"self-test failed: .*open to sockets"):
        start_zygote(find_interpreter(), PROGRAM, MODES)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gets through everywhere")
def test_the_self_test_names_every_way_out_where_no_jail_is():
    told = subprocess.run([sys.executable, "-c", selftest.SCRIPT], capture_output=True, text=True, timeout=30)
    assert told.returncode == 1
    assert all(name in told.stderr.splitlines()[-1] for name in selftest.PROBES), told.stderr


def test_a_zygote_that_dies_is_replaced_and_its_sample_tried_again():
    with Sandbox(interpreter=find_interpreter(), program=PROGRAM, validate=read_measurement) as box:
        assert box.run(CUBE).outcome is Outcome.SCORED
        for pid in _zygotes(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        assert box.run(CUBE).outcome is Outcome.SCORED


def test_nothing_is_left_when_the_driver_is_killed():
    code = (
        "import os, sys, time\nfrom climbable.blender import *\nfrom climbable.sandbox import *\n"
        "box = Sandbox(interpreter=find_interpreter(), program=PROGRAM, validate=read_measurement)\n"
        "box.submit('while True: pass')\ntime.sleep(0.5)\nprint('up', flush=True)\ntime.sleep(60)"
    )
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert driver.stdout.readline() == "up\n"
    zygotes = _zygotes(driver.pid)
    assert zygotes
    driver.kill()
    driver.wait()
    driver.stdout.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(os.path.exists(f"/proc/{pid}") for pid in zygotes):
        time.sleep(0.05)
    assert not [pid for pid in zygotes if os.path.exists(f"/proc/{pid}")]


def _zygotes(driver):
    """Every process below the driver."""
    below, found = {driver}, []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            with open(f"/proc/{pid}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent in below:
            below.add(pid)
            found.append(pid)
    return found
