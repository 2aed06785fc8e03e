"""What a script may do, what becomes of one that fails, and whose fault it is, in every mode that works here."""

import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from climbable.blender import PROGRAM, find_interpreter, read_measurement
from climbable.core.errors import Unavailable
from climbable.core.types import Outcome, Reason
from climbable.sandbox import Sandbox, selftest
from climbable.sandbox.driver import MODES, ZygoteProcess, start_zygote

CUBE = "import bpy\nbpy.ops.mesh.primitive_cube_add(size=0.5, location=(0, 0, 1))\n"

SLEEP = "import ctypes, time\nctypes.CDLL(None).prctl(15, b'jailed-sleeper', 0, 0, 0)\ntime.sleep(1)\n"

SELF_KILLS = {
    "kill": "import os\nos.kill(os.getpid(), 9)",
    "thread": "import signal, threading\nsignal.pthread_kill(threading.get_ident(), 9)",
    "owned-pipe": "import fcntl, os\nends = os.pipe()\nfcntl.fcntl(ends[0], 10, 9)\nfcntl.fcntl(ends[0], 8, os.getpid())\n"
    "fcntl.fcntl(ends[0], 4, os.O_ASYNC)\nos.write(ends[1], b'x')",
    "cpu-limit": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass",
}


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
        ("open('big', 'wb').write(b'x' * (40 << 20))", Reason.OUTPUT, "line 1"),
        ("class E(Exception):\n    def __str__(self): raise SystemExit\nraise E", Reason.CRASHED, "E: "),
    ],
)
def test_a_failure_has_its_reason_and_a_line_to_act_on(sandbox, script, reason, told):
    run = sandbox.run(script)
    assert (run.outcome, run.reason) == (Outcome.FAILED, reason), run
    assert told in run.detail
    assert "\n" not in run.detail


def test_what_libraries_do_by_the_way_is_allowed(sandbox):
    script = (
        "import os, shutil, tempfile, zipfile, threading, asyncio\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    path = os.path.join(folder, 'a')\n    open(path, 'w').write('x')\n    shutil.copy2(path, path + 'b')\n"
        "    shutil.copytree(folder, folder + '2')\n    shutil.make_archive('all', 'zip', folder)\n"
        "zipfile.ZipFile('all.zip').extractall('out')\nassert sorted(os.listdir('out')) == ['a', 'ab']\n"
        "thread = threading.Thread(target=os.getpid)\nthread.start()\nthread.join()\nasyncio.run(asyncio.sleep(0))\n"
        "import bpy\nbpy.data.images.new('i', 8, 8).save(filepath=os.path.abspath('i.exr'))\n"
    )
    assert sandbox.run(script).outcome is Outcome.SCORED


def test_samples_do_not_see_each_other(sandbox):
    assert sandbox.run("open('left', 'w').write('x')").outcome is Outcome.SCORED
    assert sandbox.run("import os\nassert os.listdir('.') == [], os.listdir('.')").outcome is Outcome.SCORED


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


def test_nothing_that_a_script_starts_outlives_it(sandbox, below):
    daemon = "import os, time\ntry:\n    if not os.fork():\n        os.setsid()\n        time.sleep(60)\nexcept OSError: pass\n"
    sandbox.run(CUBE)
    zygotes = below(os.getpid())
    assert sandbox.run(daemon).outcome is Outcome.SCORED
    assert below(os.getpid()) == zygotes


def test_a_bomb_of_threads_costs_the_script_alone(sandbox):
    bomb = "import threading, time\nfor _ in range(100_000): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    run = sandbox.run(bomb)
    assert run.outcome is Outcome.FAILED, run
    assert sandbox.run(CUBE).outcome is Outcome.SCORED


def test_a_fork_that_comes_to_the_end_of_the_script_is_not_the_script(sandbox):
    run = sandbox.run("import os, time\ntry:\n    if os.fork(): time.sleep(0.3)\nexcept OSError: pass\n" + CUBE)
    assert run.outcome is Outcome.SCORED, run


def test_a_signal_that_comes_after_the_last_line_counts_for_nothing(sandbox):
    script = (
        "import bpy, signal\ndef late(number, frame):\n    if frame.f_code.co_filename != '<script>':\n"
        "        bpy.ops.mesh.primitive_cube_add()\n"
        "signal.signal(signal.SIGALRM, late)\nsignal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\n"
    )
    runs = [sandbox.run(script) for _ in range(5)]
    # Between the last line and our first one there is a moment that a signal can hit.
    assert sum(run.outcome is Outcome.SCORED and not run.artefact["objects"] for run in runs) >= 4, runs


@pytest.mark.parametrize("name", SELF_KILLS)
def test_no_script_can_make_its_failure_look_like_the_machines(sandbox, name, below):
    zygotes = below(os.getpid())
    assert sandbox.run(SELF_KILLS[name]).outcome is not Outcome.UNMEASURED
    assert below(os.getpid()) == zygotes


@pytest.mark.parametrize("name", SELF_KILLS)
def test_those_ways_do_kill_a_process_that_is_not_jailed(name):
    dead = subprocess.run([find_interpreter(), "-c", SELF_KILLS[name]], timeout=60)
    assert dead.returncode == -signal.SIGKILL


def test_a_script_that_is_killed_from_outside_is_tried_again(start, mode, below):
    with start(mode) as box:
        running = box.submit(SLEEP + CUBE)
        os.kill(_script(below), signal.SIGKILL)
        assert running.result(timeout=60).outcome is Outcome.SCORED


def test_a_script_that_is_killed_from_outside_twice_is_unmeasured(start, mode, below):
    with start(mode) as box:
        running = box.submit(SLEEP)
        first = _script(below)
        os.kill(first, signal.SIGKILL)
        os.kill(_script(below, other_than=first), signal.SIGKILL)
        run = running.result(timeout=60)
    assert (run.outcome, run.reason) == (Outcome.UNMEASURED, None)
    assert "from outside" in run.detail


def test_a_zygote_that_dies_is_replaced_and_its_sample_tried_again(start, mode, below):
    with start(mode) as box:
        assert box.run(CUBE).outcome is Outcome.SCORED
        for pid in below(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        assert box.run(CUBE).outcome is Outcome.SCORED


def test_a_zygote_that_is_spoilt_is_replaced_and_its_sample_tried_again(start, mode, below):
    with start(mode) as box:
        spoilt = below(os.getpid())
        for pid in spoilt:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, 4))
        assert box.run(CUBE).outcome is Outcome.SCORED
        assert not set(spoilt) & set(below(os.getpid()))


def test_an_error_of_our_own_makes_the_sample_unmeasured_and_the_next_one_is_run(start, mode):
    def validate(value):
        if value["objects"]:
            raise ZeroDivisionError("oops")
        return value

    with start(mode, validate=validate) as box:
        run = box.submit(CUBE).result(timeout=60)
        assert (run.outcome, run.reason) == (Outcome.UNMEASURED, None)
        assert "ZeroDivisionError: oops" in run.detail
        assert box.submit("").result(timeout=60).outcome is Outcome.SCORED


def test_a_sample_that_its_caller_cancelled_does_not_stop_the_next_one(start, mode):
    with start(mode) as box:
        box.submit(SLEEP)
        assert box.submit(SLEEP).cancel()
        assert box.submit(CUBE).result(timeout=60).outcome is Outcome.SCORED


def test_what_waits_when_the_sandbox_is_closed_is_unmeasured(start, mode):
    with start(mode) as box:
        waiting = [box.submit(SLEEP) for _ in range(3)]
    assert [run.result(timeout=60).outcome for run in waiting][1:] == [Outcome.UNMEASURED] * 2


def test_nothing_is_left_when_the_driver_is_killed(start, mode, below):
    start(mode).close()
    code = (
        "import sys, time\nfrom climbable.blender import *\nfrom climbable.sandbox import *\n"
        "box = Sandbox(interpreter=find_interpreter(), program=PROGRAM, validate=read_measurement, modes=[sys.argv[1]])\n"
        "box.submit('import ctypes\\nctypes.CDLL(None).prctl(1, 0)\\nwhile True: pass')\ntime.sleep(0.5)\n"
        "print('up', flush=True)\ntime.sleep(60)"
    )
    driver = subprocess.Popen([sys.executable, "-c", code, mode], stdout=subprocess.PIPE, text=True)
    assert driver.stdout.readline() == "up\n"
    started = below(driver.pid)
    assert len(started) >= 2
    driver.kill()
    driver.wait()
    driver.stdout.close()
    _until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in started))


def _script(below, other_than=None):
    """The process that runs a script with `SLEEP` in it, once it has come so far."""

    def find():
        return [pid for pid in below(os.getpid()) if pid != other_than and _name(pid) == "jailed-sleeper"]

    return _until(find)[0]


def _name(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def _until(condition):
    deadline = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found
