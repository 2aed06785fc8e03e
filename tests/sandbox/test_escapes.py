"""What stays out of a script's reach, in every mode that works here; each escape works in a process that is not jailed."""

import os
import secrets
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from climbable.blender import find_interpreter
from climbable.core.types import Outcome, Reason
from forge import FORGE

# Each is the body of a function that is true, or raises no OSError, if it got through. FILE, SHARED, LOG and VICTIM are a
# file, a file in /dev/shm, a datagram socket (with a zero before it an abstract one that listens) and a process of the
# test's user, made for this one attempt.
ESCAPES = {
    "read-file": "open(FILE).read()",
    "read-shadow": "open('/etc/shadow').read()",
    "read-environ": "open(f'/proc/{VICTIM}/environ', 'rb').read()",
    "read-shared": "open(SHARED).read()",
    "open-terminal": "os.open('/dev/ptmx', os.O_RDONLY | os.O_NOCTTY)",
    "list-home": f"os.listdir({str(Path.home())!r})",
    "write-file": "open(FILE, 'a')",
    "write-root": "open('/climbable-mark', 'w')\nos.unlink('/climbable-mark')",
    "write-usr": "open('/usr/climbable-mark', 'w')\nos.unlink('/usr/climbable-mark')",
    "truncate": "os.truncate(FILE, 0)",
    "remove": "os.unlink(FILE)",
    "rename": "os.rename(FILE, FILE + '2')",
    "link-in": "os.link(FILE, os.path.dirname(FILE) + '/link')",
    "chmod": "os.chmod(FILE, 0o777)\nreturn os.stat(FILE).st_mode & 0o777 == 0o777",
    "utime": "os.utime(FILE, (1, 1))\nreturn os.stat(FILE).st_mtime == 1",
    "chown": "os.chown(FILE, os.getuid(), os.getgid())",
    "attribute": "os.setxattr(FILE, 'user.mark', b'x')",
    "signal": "os.kill(VICTIM, 18)",
    "limit": "resource.prlimit(VICTIM, resource.RLIMIT_CORE, (0, 0))",
    "priority": "os.setpriority(os.PRIO_PROCESS, VICTIM, 5)",
    "priority-of-a-group": "os.setpriority(os.PRIO_PGRP, VICTIM, 5)",
    "processors": "os.sched_setaffinity(VICTIM, os.sched_getaffinity(0))",
    "scheduler": "os.sched_setscheduler(VICTIM, os.SCHED_BATCH, os.sched_param(0))",
    "ptrace": "check('ptrace', 16, VICTIM, None, None)",
    "read-memory": "check('process_vm_readv', VICTIM, None, 0, None, 0, 0)",
    "parent-environ": "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "parent-memory": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "pidfd": "os.pidfd_open(VICTIM)",
    "own-cpu-limit": "check('setrlimit', resource.RLIMIT_CPU, (ctypes.c_ulong * 2)(1000, 1000))",
    "socket": "socket.socket()",
    "unix-socket": "socket.socket(socket.AF_UNIX)",
    "datagram": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', LOG)",
    "abstract-socket": "socket.socket(socket.AF_UNIX).connect('\\0' + LOG)",
    "memfd": "os.memfd_create('program')",
    "exec": "os.execv('/bin/echo', ['echo', 'escaped'])",
    "user-namespace": "check('unshare', 0x10000000)",
    "mount": "check('unshare', 0x20000)\ncheck('mount', b'none', b'/', None, 1 << 18, None)",
    "shared-memory": "check('shmctl', check('shmget', 0, 4096, 0o1600), 0, None)",
    "chroot": "os.chroot('/')",
    "host-name": "check('sethostname', socket.gethostname().encode(), len(socket.gethostname()))",
    "device": "os.mknod('device', 0o20600, os.makedev(1, 3))\nos.unlink('device')",
    "become-another": "os.setuid(54321 if os.getuid() == 0 else 0)",
    "capabilities": "sets = (ctypes.c_uint32 * 6)()\ncheck('capget', (ctypes.c_uint32 * 2)(0x20080522, 0), sets)\nreturn any(sets)",
    "privileges": "return check('prctl', 39, 0, 0, 0, 0) == 0",
}  # fmt: skip
DENIED = {"EPERM", "EACCES", "ENOENT", "ESRCH", "EROFS", "EXDEV", "nothing"}

PRELUDE = """
import ctypes, errno, os, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
def check(name, *args):
    result = getattr(libc, name)(*args)
    if result < 0: raise OSError(ctypes.get_errno(), name)
    return result
def attempt():
    {body}
    return True
try: word = 'escaped' if attempt() else 'nothing'
except OSError as error: word = errno.errorcode[error.errno]
"""
IN_JAIL = "import bpy\nbpy.ops.mesh.primitive_cube_add()\nbpy.context.object.name = word\n"

SAVED = "import bpy\nbpy.ops.mesh.primitive_cube_add()\nbpy.ops.wm.save_as_mainfile(filepath=os.path.abspath(path), copy=True)\n"


@pytest.fixture(scope="module")
def victim():
    """A process with as few rights as a script has: the kernel itself would keep scripts from a process with more."""
    code = (
        "import time\nfrom climbable.sandbox.jail import syscalls\nsyscalls.clear_capabilities()\n"
        "print('up', flush=True)\ntime.sleep(600)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


@pytest.fixture
def script(tmp_path, victim):
    """The script of an attempt, aimed at things that are there."""
    file, shared = tmp_path / "file", Path("/dev/shm") / f"climbable-test-{secrets.token_hex(6)}"
    file.write_text("secret")
    file.chmod(0o644)
    shared.write_text("secret")

    def script(body):
        aims = f"FILE, SHARED, LOG, VICTIM = {str(file)!r}, {str(shared)!r}, {str(log)!r}, {victim.pid}\n"
        return aims + PRELUDE.format(body=body.replace("\n", "\n    "))

    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        log = Path(folder) / "log"  # a socket's path must be short
        datagrams.bind(str(log))
        abstract.bind(f"\0{log}")
        abstract.listen()
        yield script
    shared.unlink(missing_ok=True)


@pytest.mark.parametrize("name", ESCAPES)
def test_an_escape_does_not_work(sandbox, script, name):
    run = sandbox.run(script(ESCAPES[name]) + IN_JAIL)
    assert run.outcome is Outcome.SCORED, run
    assert run.artefact["objects"][0]["name"] in DENIED


@pytest.mark.parametrize("name", ESCAPES)
def test_an_escape_works_where_no_jail_is(script, tmp_path, name):
    code = script(ESCAPES[name]) + "print(word)"
    done = subprocess.run([find_interpreter(), "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    if os.getuid() and done.stdout.strip() in DENIED:
        pytest.skip("this user may not do it without a jail either")
    assert done.stdout.strip() == "escaped", done


SECRET = (
    "libc.getenv.restype = ctypes.c_char_p\nfound = os.environ.get('API_TOKEN') or libc.getenv(b'API_TOKEN')\n"
    "for process in ('self', os.getpid(), os.getppid()):\n"
    "    try: found = found or b'API_TOKEN' in open(f'/proc/{process}/environ', 'rb').read()\n"
    "    except OSError: pass\nreturn found"
)


def test_no_secret_of_the_environment_is_seen(start, mode, script, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "secret")
    with start(mode) as box:
        run = box.run(script(SECRET) + IN_JAIL)
    assert run.artefact["objects"][0]["name"] == "nothing"
    code = [find_interpreter(), "-c", script(SECRET) + "print(word)"]
    assert subprocess.run(code, capture_output=True, text=True, timeout=60).stdout == "escaped\n"


# Collects whatever looks like a token from all frames and all objects, and claims the end with each on each descriptor.
CLAIM = """
import bpy, gc, os, re, sys
frame, seen = sys._getframe(), []
while frame:
    seen += [repr(value)[:10000] for value in frame.f_locals.values()]
    frame = frame.f_back
seen += [repr(thing)[:1000] for thing in gc.get_objects() if type(thing) in (str, bytes, tuple, list, dict)]
tokens = sorted(set(re.findall('[0-9a-f]{16,}', ' '.join(seen))))
tokens = tokens[TURN:] + tokens[:TURN]
paths = set(re.findall('[^\\'" ]+[.]blend', ' '.join(seen)))
for path in {*paths, *(os.path.abspath(token + '.blend') for token in tokens)}:
    try: bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    except RuntimeError: pass
for descriptor in range(3, 64):
    for token in tokens:
        try: os.write(descriptor, f'\\n{token} done\\n'.encode())
        except OSError: pass
os._exit(0)
"""


def test_a_script_finds_nothing_with_which_to_claim_that_it_ran_to_its_end(sandbox):
    for turn in range(8):  # only the last claim is listened to, so each has to be the last one once
        run = sandbox.run(CLAIM.replace("TURN", str(turn)))
        assert (run.outcome, run.reason) == (Outcome.FAILED, Reason.CRASHED), run
        assert "exit status 0" in run.detail


PLACED = {
    "link": "path = 'real'\n" + SAVED + "os.symlink('real', token + '.blend')",
    "link-outside": "os.symlink('/dev/zero', path)",
    "two-names": SAVED + "os.link(path, 'other')",
    "folder": "os.mkdir(path)",
    "nothing": "",
    "too-long": "open(path, 'w').truncate(20 << 20)",
    "no-scene": "open(path, 'w').write('BLENDER')",
}


def test_whoever_forges_the_end_still_earns_only_what_the_saved_scene_measures(sandbox):
    run = sandbox.run(FORGE + SAVED + "leave()")
    assert run.outcome is Outcome.SCORED, run
    assert [thing["name"] for thing in run.artefact["objects"]] == ["Cube"]


@pytest.mark.parametrize("name", PLACED)
def test_only_a_plain_file_with_a_scene_is_taken_for_the_saved_one(sandbox, name):
    run = sandbox.run(FORGE + PLACED[name] + "\nleave()")
    reason = Reason.OUTPUT if name == "too-long" else Reason.UNREADABLE
    assert (run.outcome, run.reason) == (Outcome.FAILED, reason), run


def test_a_report_without_the_token_cannot_turn_a_failure_into_a_score(sandbox):
    forged = (
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\n done\\n{\"objects\": []}\\n done\\n')\n"
        "    except OSError: pass\nos._exit(0)"
    )
    run = sandbox.run(forged)
    assert (run.outcome, run.reason) == (Outcome.FAILED, Reason.CRASHED), run
