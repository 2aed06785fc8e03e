"""What every zygote has to withstand before it gets its first sample: a jail that was only thought to be closed is open.

Each probe would do no harm if it got through. The script knows nothing of the jail; it goes the way of any other.
"""

from __future__ import annotations

PROBES = {
    "files that are not shown": ("os.open('/etc/shadow', os.O_RDONLY)", "EACCES EPERM ENOENT"),
    "writing beyond scratch": ("os.open('/usr', os.O_TMPFILE | os.O_WRONLY)", "EACCES EPERM EROFS"),
    "sockets": ("socket.socket()", "EPERM EACCES"),
    "datagrams": ("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)", "EPERM"),
    "programs": ("os.execv('/no-such-program', ['x'])", "EPERM"),
    "mounts": ("call('mount', b'none', b'/', b'no-such-kind', 0, None)", "EPERM"),
    "looking into processes": ("call('ptrace', 0xFFFF, os.getppid(), None, None)", "EPERM"),
    "new namespaces": ("call('unshare', 0x10000000)", "EPERM"),
}
"""Name → (Python that tries it, the errors by which it may fail)."""

SCRIPT = (
    "import ctypes, errno, os, socket\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def call(name, *arguments):\n"
    "    if getattr(libc, name)(*arguments) < 0:\n"
    "        raise OSError(ctypes.get_errno(), name)\n"
    "open_doors = []\n"
    f"for name, (code, errors) in {PROBES!r}.items():\n"
    "    try:\n"
    "        exec(code)\n"
    "    except OSError as error:\n"
    "        if errno.errorcode.get(error.errno) in errors.split():\n"
    "            continue\n"
    "    open_doors.append(name)\n"
    "assert not open_doors, 'the jail is open to ' + ', '.join(open_doors)\n"
)
"""Ends well if nothing got through; else its exception names what did."""
