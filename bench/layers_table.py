"""Which attack each layer stops, and how the layer is taken away: the rows of `bench/layers.py`.

A layer is taken away by code that runs in the zygote before it starts, so the product itself has no switch for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from climbable.sandbox.jail.namespaces import NONE, ROOT
from forge import FORGE

_LIMIT = (
    "import resource; _set = resource.setrlimit\n"
    "resource.setrlimit = lambda kind, value: None if kind == resource.RLIMIT_{0} else _set(kind, value)\n"
)
_SCRATCH = (
    "flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC\n"
    "namespaces.mount_scratch = lambda uid, mib: syscalls.mount('tmpfs', '/scratch', 'tmpfs', flags, {0})\n"
)
_SHOW_ALSO = (
    "_build = namespaces.build_root\n"
    "namespaces.build_root = lambda base, paths: _build(base, sorted({{*paths, {0}}}))\n"
)
_IN_BLENDER = (
    "_import = zygote.Zygote._import_program\n"
    "def _changed(self, folder):\n"
    "    loaded = _import(self, folder)\n"
    "    import bpy; from program import measure, script\n"
    "    {0}\n"
    "    return loaded\n"
    "zygote.Zygote._import_program = _changed\n"
)

OFF = {
    "bare environment": "",  # the driver's; `layers` gives the zygote the caller's
    "no open descriptors": "os.closerange = lambda *_: None",
    "process namespace": "_unshare = syscalls.unshare\n"
    "syscalls.unshare = lambda flags: None if flags == syscalls.CLONE_NEWPID else _unshare(flags)",
    "network namespace": "namespaces._ALL &= ~syscalls.CLONE_NEWNET",
    "IPC namespace": "namespaces._ALL &= ~syscalls.CLONE_NEWIPC; syscalls.CLONE_NEWIPC = 0",
    "UTS namespace": "namespaces._ALL &= ~syscalls.CLONE_NEWUTS",
    "own root": _SHOW_ALSO.format("'/tmp', '/root', '/home'"),
    "no /proc": "namespaces._hide_proc = lambda: None",
    "read-only": "syscalls.MS_RDONLY = 0",
    "no setuid": "syscalls.MS_NOSUID = 0",
    "scratch: no programs": "syscalls.MS_NOEXEC = 0",
    "scratch: a quota": _SCRATCH.format("f'mode=700,uid={uid}'"),
    "scratch: fresh": _SCRATCH.format("'mode=777'") + "_mount, _turns = namespaces.mount_scratch, []\n"
    "namespaces.mount_scratch = lambda *a: _turns or (_turns.append(1), _mount(*a))\n"
    "namespaces.unmount_scratch = lambda: None",
    "wall time": "_serve = zygote.Zygote.serve\n"
    "zygote.Zygote.serve = lambda self, job: _serve(self, job | {'wall_s': 60.0} if job['wall_s'] < 5 else job)",
    "memory": _LIMIT.format("AS"),
    "file size": _LIMIT.format("FSIZE"),
    "descriptors": _LIMIT.format("NOFILE"),
    "processes": _LIMIT.format("NPROC"),
    "locked memory": _LIMIT.format("MEMLOCK"),
    "a user a sample": "confine.Confinement.uid = lambda self, turn: os.getuid()",
    "no capabilities": "syscalls.clear_capabilities = syscalls.drop_bounding_set = lambda: None",
    "no new privileges": "_prctl = syscalls.prctl\n"
    "syscalls.prctl = lambda option, *more: None if option == 38 else _prctl(option, *more)",
    "Landlock": "landlock.restrict = lambda *_: None",
    "seccomp": "seccomp.install = lambda code: None",
    "pick-up": "import shutil; zygote.pick_up = lambda source, target, most_bytes: shutil.copyfile(source, target)",
    "report limit": "zygote.REPORT_BYTES = 1 << 40",
    "fresh measurer": "def _measure(self, job, bounds, target, reply):\n"
    "    def work(report, _):\n"
    "        exec(job['script'], {'__name__': '__main__'})\n"
    "        self.program.measure(target, job['vertices'], report)\n"
    "    seen = self._child(work, bounds, folder=self.artefacts, writable=False)\n"
    "    failed = child.ending(seen, bounds, measuring=True)\n"
    "    return failed or {'outcome': 'scored', 'measurement': seen.output.decode('latin-1')}\n"
    "zygote.Zygote._measure = _measure",
    "no scripts of the file": _IN_BLENDER.format(
        "opens = bpy.ops.wm.open_mainfile; kinds = type('M', (), {})\n"
        "    class Fake:\n"
        "        def __getattr__(self, name): return getattr(bpy, name)\n"
        "    fake = Fake(); fake.ops = kinds(); fake.ops.wm = kinds(); fake.ops.object = bpy.ops.object\n"
        "    fake.ops.wm.open_mainfile = lambda **more: opens(**more | {'use_scripts': True})\n"
        "    measure.bpy = fake"
    ),
    "taken hold of before": _IN_BLENDER.format(
        "script._saver = lambda: lambda path: bpy.ops.wm.save_as_mainfile(filepath=path)"
    ),
}
"""Layer → what takes it away, with the modules of `climbable.sandbox.jail` and `os` at hand."""


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One attack and the layer that stops it."""

    layer: str
    tries: str
    script: str
    """Sets `word` to ``escaped`` if it got through. FILE, SHOWN, VICTIM, PORT, KEY are there for it (see `layers`)."""
    besides: tuple[str, ...] = ()
    """Other layers that stop the same, taken away in both runs so that this one shows by itself."""
    mode: str = ROOT
    before: str = ""
    """A script of an earlier sample."""
    blender: bool = False
    """It needs real Blender, and gets through if an object is measured."""
    outside: str = ""
    """What is looked at from outside in place of `word`: ``processes``, ``host name``, ``forged`` or ``unmeasured``."""


ATTACKS = (
    Attack(
        layer="bare environment",
        tries="read a variable of the caller",
        script="word = 'escaped' if 'API_TOKEN' in os.environ else 'nothing'",
    ),
    Attack(
        layer="no open descriptors",
        tries="answer the driver in the zygote's place",
        script="import json, struct\n"
        'body = json.dumps({"outcome": "scored", "measurement": json.dumps("forged")}).encode()\n'
        "for n in range(3, 64):\n    try: os.write(n, struct.pack('!I', len(body)) + body)\n    except OSError: pass\n",
        outside="forged",
    ),
    Attack(
        layer="process namespace",
        tries="leave a daemon behind",
        script="import time\nos.chdir('/')\nif os.fork() == 0:\n    os.setsid(); time.sleep(20); os._exit(0)",
        outside="processes",
    ),
    Attack(
        layer="network namespace",
        tries="connect to a server of this machine",
        script="socket.create_connection(('127.0.0.1', PORT), timeout=2)\nword = 'escaped'",
        besides=("seccomp", "Landlock"),
    ),
    Attack(
        layer="network namespace",
        tries="connect to an abstract socket",
        script="socket.socket(socket.AF_UNIX).connect('\\0' + LOG)\nword = 'escaped'",
        besides=("seccomp", "Landlock"),
    ),
    Attack(
        layer="IPC namespace",
        tries="find another's System V memory",
        script="check('shmget', KEY, 0, 0)\nword = 'escaped'",
        besides=("seccomp",),
    ),
    Attack(
        layer="UTS namespace",
        tries="rename the machine",
        script="check('sethostname', b'spoilt', 6)",
        besides=("seccomp", "no capabilities", "a user a sample"),
        outside="host name",
    ),
    Attack(
        layer="own root",
        tries="read a file that everybody may read",
        script="open(FILE).read()\nword = 'escaped'",
        besides=("Landlock",),
    ),
    Attack(
        layer="no /proc",
        tries="read the zygote's command line",
        script="word = 'escaped' if b'zygote' in open('/proc/1/cmdline', 'rb').read() else 'nothing'",
        besides=("Landlock",),
    ),
    Attack(
        layer="read-only",
        tries="change a file that everybody may change",
        script="open(SHOWN + '/notes', 'a').close()\nword = 'escaped'",
        besides=("Landlock",),
    ),
    Attack(
        layer="no setuid",
        tries="become root by a setuid program",
        script="import subprocess\nout = subprocess.check_output([SHOWN + '/id', '-u'])\n"
        "word = 'escaped' if out == b'0\\n' else 'nothing'",
        besides=("seccomp", "Landlock", "no new privileges"),
    ),
    Attack(
        layer="no new privileges",
        tries="become root by a setuid program",
        script="import subprocess\nout = subprocess.check_output([SHOWN + '/id', '-u'])\n"
        "word = 'escaped' if out == b'0\\n' else 'nothing'",
        besides=("seccomp", "Landlock", "no setuid"),
    ),
    Attack(
        layer="scratch: no programs",
        tries="start a program of its own",
        script="import shutil, subprocess\nshutil.copy('/bin/true', 'own')\nos.chmod('own', 0o700)\n"
        "subprocess.check_call(['./own'])\nword = 'escaped'",
        besides=("seccomp", "Landlock"),
    ),
    Attack(
        layer="scratch: a quota",
        tries="fill the disk with many files",
        script="for n in range(4): open(f'big{n}', 'wb').write(b'x' * (20 << 20))\nword = 'escaped'",
    ),
    Attack(
        layer="scratch: fresh",
        tries="read what an earlier sample left",
        script="word = 'escaped' if os.path.exists('note') else 'nothing'",
        before="open('note', 'w').write('x')",
    ),
    Attack(
        layer="wall time",
        tries="take its time",
        script="import time\ntime.sleep(2)\nword = 'escaped'",
    ),
    Attack(layer="memory", tries="take 1 GiB", script="import mmap\nheld = mmap.mmap(-1, 1 << 30)\nword = 'escaped'"),
    Attack(
        layer="file size",
        tries="make a file of 1 TiB without content",
        script="open('hole', 'w').truncate(1 << 40)\nword = 'escaped'",
    ),
    Attack(
        layer="descriptors",
        tries="hold 400 descriptors",
        script="held = [os.dup(0) if n else os.open('/dev/null', 0) for n in range(400)]\nword = 'escaped'",
    ),
    Attack(
        layer="processes",
        tries="fork 100 times",
        script="import time\nfor n in range(100):\n    if os.fork() == 0: time.sleep(9); os._exit(0)\nword = 'escaped'",
    ),
    Attack(
        layer="locked memory",
        tries="lock memory",
        script="check('mlock', ctypes.create_string_buffer(1 << 16), 1 << 16)\nword = 'escaped'",
    ),
    Attack(
        layer="a user a sample",
        tries="read the private file of the user who runs Climbable",
        script="open(SHOWN + '/private').read()\nword = 'escaped'",
    ),
    Attack(
        layer="no capabilities",
        tries="read the private file of another user",
        script="open(SHOWN + '/of-another').read()\nword = 'escaped'",
        besides=("a user a sample",),
    ),
    Attack(
        layer="Landlock",
        tries="start a program of the system",
        script="import subprocess\nsubprocess.check_call(['/bin/true'])\nword = 'escaped'",
        besides=("seccomp",),
    ),
    Attack(layer="Landlock", tries="read a file", script="open(FILE).read()\nword = 'escaped'", mode=NONE),
    Attack(
        layer="Landlock",
        tries="send a signal to another process",
        script="os.kill(VICTIM, 18)\nword = 'escaped'",
        mode=NONE,
    ),
    Attack(
        layer="Landlock",
        tries="connect to an abstract socket",
        script="socket.socket(socket.AF_UNIX).connect('\\0' + LOG)\nword = 'escaped'",
        besides=("seccomp",),
        mode=NONE,
    ),
    Attack(
        layer="seccomp",
        tries="make a user namespace",
        script="check('unshare', 0x10000000)\nword = 'escaped'",
    ),
    Attack(layer="seccomp", tries="make a socket", script="socket.socket()\nword = 'escaped'", mode=NONE),
    Attack(
        layer="seccomp",
        tries="write to a datagram socket that has a path (the system's log)",
        script="socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', LOG)\nword = 'escaped'",
        mode=NONE,
    ),
    Attack(
        layer="seccomp",
        tries="change another process's limits",
        script="import resource\nresource.prlimit(VICTIM, resource.RLIMIT_CORE, (0, 0))\nword = 'escaped'",
        mode=NONE,
    ),
    Attack(
        layer="pick-up",
        tries="have a file read for it: a link in the artefact's place",
        script=FORGE + "os.symlink(FILE, path)\nleave()",
        mode=NONE,
    ),
    Attack(
        layer="report limit",
        tries="flood the driver with its report",
        script="for n in range(3, 64):\n    try:\n        for _ in range(70): os.write(n, b'x' * (1 << 20))\n"
        "    except OSError: pass",
        outside="unmeasured",
    ),
    Attack(
        layer="fresh measurer",
        tries="replace what measures",
        script="import sys\nplain = sys.modules['plain']\n"
        "plain.Program.measure = lambda *a: (os.write(a[-1], b'\"escaped\"'), os._exit(0))",
    ),
    Attack(
        layer="no scripts of the file",
        tries="have the measurer run a text block",
        script="import bpy\ntext = bpy.data.texts.new('start.py')\n"
        "text.write('import bpy\\nbpy.ops.mesh.primitive_cube_add()')\ntext.use_module = True",
        blender=True,
    ),
    Attack(
        layer="taken hold of before",
        tries="keep another scene by a handler before the save",
        script="import bpy\nbpy.app.handlers.save_pre.append(lambda *_: bpy.ops.mesh.primitive_cube_add())",
        blender=True,
    ),
)
