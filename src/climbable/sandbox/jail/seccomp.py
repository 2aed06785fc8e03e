"""The last layer: an allow-list of system calls, by architecture. Whatever is not listed fails with EPERM.

Listed is what Python, numpy and Blender need to build, save and open a scene. Nothing that makes sockets, other
namespaces, mounts or programs; nothing that looks into another process. ``clone3`` is ENOSYS, since its flags cannot be
seen by a filter, and libc then falls back to ``clone``, whose flags can.
"""

from __future__ import annotations

import ctypes
import errno
import resource
import signal
import struct

from . import syscalls

_COMMON = (
    "read write close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn ioctl pread64 "
    "pwrite64 readv writev sched_yield mremap msync mincore madvise dup nanosleep getitimer setitimer getpid sendfile "
    "exit wait4 kill uname fcntl flock fsync fdatasync truncate ftruncate getcwd chdir fchdir umask gettimeofday "
    "getrlimit getrusage sysinfo times getuid getgid geteuid getegid setpgid getppid setsid getgroups getresuid "
    "getresgid getpgid getsid capget rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack statfs "
    "fstatfs getpriority sched_getparam sched_getscheduler "
    "sched_get_priority_max sched_get_priority_min prctl setrlimit sync gettid tkill futex "
    "sched_getaffinity getdents64 set_tid_address restart_syscall fadvise64 clock_gettime clock_getres clock_nanosleep "
    "exit_group epoll_ctl tgkill waitid openat mkdirat newfstatat unlinkat renameat linkat symlinkat readlinkat "
    "faccessat pselect6 ppoll set_robust_list get_robust_list epoll_pwait fallocate eventfd2 "
    "epoll_create1 dup3 pipe2 preadv pwritev getcpu renameat2 getrandom copy_file_range statx rseq "
    "close_range faccessat2 membarrier mlock munlock sendto recvfrom sendmsg recvmsg shutdown getsockname getpeername "
    "getsockopt setsockopt getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr"
)
_X86_64_ONLY = (
    "open stat lstat poll access pipe select dup2 pause alarm getdents rename mkdir rmdir creat link unlink symlink "
    "readlink getpgrp arch_prctl time epoll_create epoll_wait eventfd"
)

_F_SETSIG = 10

_ON_ITSELF = {"prlimit64": 0, "sched_setaffinity": 0, "sched_setparam": 0, "sched_setscheduler": 0, "setpriority": 1}
"""Calls that may name another process, and which argument does: it must be 0, the caller itself."""

_TOUCHES = ("fchmod", "fchmodat", "utimensat", "chmod", "utime", "utimes")
"""Permissions and times, which Landlock does not govern. Without namespaces they do nothing and say that they did."""

Rule = tuple[int, bool, int]
"""(half, equal, value): argument n's lower half is half 2 n, its upper half 2 n + 1; it equals `value`, or it does not."""

_NO_CPU_LIMIT: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("setrlimit", ((0, True, resource.RLIMIT_CPU),)),
    ("prlimit64", ((2, True, resource.RLIMIT_CPU), (4, False, 0))),
    ("prlimit64", ((2, True, resource.RLIMIT_CPU), (5, False, 0))),
)
_NO_SIGKILL: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("kill", ((2, True, signal.SIGKILL),)),
    ("tkill", ((2, True, signal.SIGKILL),)),
    ("tgkill", ((4, True, signal.SIGKILL),)),
    ("rt_sigqueueinfo", ((2, True, signal.SIGKILL),)),
    ("fcntl", ((2, True, _F_SETSIG),)),
)
"""A script that dies of SIGKILL must not have sent it to itself, nor lowered its CPU time: see `child.ending`. The first
process of a namespace gets none from within, so these are for where there is none."""

_NO_ORPHANS: tuple[tuple[str, tuple[Rule, ...]], ...] = (("prctl", ((0, True, syscalls.PR_SET_PDEATHSIG),)),)
"""Without a namespace, this alone ends a script whose zygote has died."""

_X86_64 = dict(
    read=0, write=1, open=2, close=3, stat=4, fstat=5, lstat=6, poll=7, lseek=8, mmap=9, mprotect=10, munmap=11,
    brk=12, rt_sigaction=13, rt_sigprocmask=14, rt_sigreturn=15, ioctl=16, pread64=17, pwrite64=18, readv=19, writev=20,
    access=21, pipe=22, select=23, sched_yield=24, mremap=25, msync=26, mincore=27, madvise=28, dup=32, dup2=33,
    pause=34, nanosleep=35, getitimer=36, alarm=37, setitimer=38, getpid=39, sendfile=40, sendto=44, recvfrom=45,
    sendmsg=46, recvmsg=47, shutdown=48, getsockname=51, getpeername=52, socketpair=53, setsockopt=54, getsockopt=55,
    clone=56, fork=57, vfork=58, exit=60, wait4=61, kill=62, uname=63, fcntl=72, flock=73, fsync=74, fdatasync=75,
    truncate=76, ftruncate=77, getdents=78, getcwd=79, chdir=80, fchdir=81, rename=82, mkdir=83, rmdir=84, creat=85,
    link=86, unlink=87, symlink=88, readlink=89, chmod=90, fchmod=91, umask=95, gettimeofday=96, getrlimit=97,
    getrusage=98, sysinfo=99, times=100, getuid=102, getgid=104, geteuid=107, getegid=108, setpgid=109, getppid=110,
    getpgrp=111, setsid=112, getgroups=115, getresuid=118, getresgid=120, getpgid=121, getsid=124, capget=125,
    rt_sigpending=127, rt_sigtimedwait=128, rt_sigqueueinfo=129, rt_sigsuspend=130, sigaltstack=131, utime=132,
    statfs=137, fstatfs=138, getpriority=140, setpriority=141, sched_setparam=142, sched_getparam=143,
    sched_setscheduler=144, sched_getscheduler=145, sched_get_priority_max=146, sched_get_priority_min=147, mlock=149,
    munlock=150, prctl=157, arch_prctl=158, setrlimit=160, sync=162, gettid=186,
    getxattr=191, lgetxattr=192, fgetxattr=193, listxattr=194, llistxattr=195, flistxattr=196, tkill=200, time=201, futex=202,
    sched_setaffinity=203, sched_getaffinity=204, epoll_create=213, getdents64=217, set_tid_address=218,
    restart_syscall=219, fadvise64=221, clock_gettime=228, clock_getres=229, clock_nanosleep=230, exit_group=231,
    epoll_wait=232, epoll_ctl=233, tgkill=234, utimes=235, waitid=247, openat=257, mkdirat=258, newfstatat=262,
    unlinkat=263, renameat=264, linkat=265, symlinkat=266, readlinkat=267, fchmodat=268, faccessat=269, pselect6=270,
    ppoll=271, set_robust_list=273, get_robust_list=274, utimensat=280, epoll_pwait=281, eventfd=284, fallocate=285,
    eventfd2=290, epoll_create1=291, dup3=292, pipe2=293, preadv=295, pwritev=296, prlimit64=302, getcpu=309,
    renameat2=316, getrandom=318, membarrier=324, copy_file_range=326, statx=332, rseq=334, clone3=435,
    close_range=436, faccessat2=439,
)  # fmt: skip
_AARCH64 = dict(
    getxattr=8, lgetxattr=9, fgetxattr=10, listxattr=11, llistxattr=12, flistxattr=13, getcwd=17,
    eventfd2=19, epoll_create1=20, epoll_ctl=21, epoll_pwait=22, dup=23, dup3=24, fcntl=25, ioctl=29,
    flock=32, mkdirat=34, unlinkat=35, symlinkat=36, linkat=37, renameat=38, statfs=43, fstatfs=44, truncate=45,
    ftruncate=46, fallocate=47, faccessat=48, chdir=49, fchdir=50, fchmod=52, fchmodat=53, openat=56, close=57,
    pipe2=59, getdents64=61, lseek=62, read=63, write=64, readv=65, writev=66, pread64=67, pwrite64=68, preadv=69,
    pwritev=70, sendfile=71, pselect6=72, ppoll=73, readlinkat=78, newfstatat=79, fstat=80, sync=81, fsync=82,
    fdatasync=83, utimensat=88, capget=90, exit=93, exit_group=94, waitid=95, set_tid_address=96, futex=98,
    set_robust_list=99, get_robust_list=100, nanosleep=101, getitimer=102, setitimer=103, clock_gettime=113,
    clock_getres=114, clock_nanosleep=115, sched_setparam=118, sched_setscheduler=119, sched_getscheduler=120,
    sched_getparam=121, sched_setaffinity=122, sched_getaffinity=123, sched_yield=124, sched_get_priority_max=125,
    sched_get_priority_min=126, restart_syscall=128, kill=129, tkill=130, tgkill=131, sigaltstack=132,
    rt_sigsuspend=133, rt_sigaction=134, rt_sigprocmask=135, rt_sigpending=136, rt_sigtimedwait=137,
    rt_sigqueueinfo=138, rt_sigreturn=139, setpriority=140, getpriority=141, getresuid=148, getresgid=150, times=153,
    setpgid=154, getpgid=155, getsid=156, setsid=157, getgroups=158, uname=160, getrlimit=163, setrlimit=164,
    getrusage=165, umask=166, prctl=167, getcpu=168, gettimeofday=169, getpid=172, getppid=173, getuid=174,
    geteuid=175, getgid=176, getegid=177, gettid=178, sysinfo=179, socketpair=199, getsockname=204, getpeername=205,
    sendto=206, recvfrom=207, setsockopt=208, getsockopt=209, shutdown=210, sendmsg=211, recvmsg=212, brk=214,
    munmap=215, mremap=216, clone=220, mmap=222, fadvise64=223, mprotect=226, msync=227, mlock=228, munlock=229,
    mincore=232, madvise=233, wait4=260, prlimit64=261, renameat2=276, getrandom=278, membarrier=283,
    copy_file_range=285, statx=291, rseq=293, clone3=435, close_range=436, faccessat2=439,
)  # fmt: skip

_TABLES = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_AF_UNIX = 1
_NO_STREAM = 0xE
"""Of a socket's kind, all but ``SOCK_STREAM`` and its flags: a datagram can be sent to any socket that has a path."""


def program(machine: str, *, forks: bool) -> bytes:
    """The BPF program for `machine`. Without `forks`, as where there are no namespaces, only threads can be made.

    An OSError for an unknown machine.
    """
    if machine not in _TABLES:
        raise OSError(f"no seccomp table for {machine}: known are {', '.join(_TABLES)}")
    arch, numbers = _TABLES[machine]
    names = _COMMON.split() + (_X86_64_ONLY.split() if machine == "x86_64" else [])
    if forks and machine == "x86_64":
        names += ["fork", "vfork"]
    code = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL)]  # the x32 table aliases every number
    code += [(_EQUAL, 0, 1, numbers["clone3"]), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    code += [
        (_EQUAL, 0, 5, numbers["clone"]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_ANY_BIT, 2, 0, syscalls.CLONE_NEW_ANY),
        (_ANY_BIT, 0, 1, syscalls.CLONE_THREAD) if not forks else (_ANY_BIT, 0, 0, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]
    code += [
        (_EQUAL, 0, 6, numbers["socketpair"]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_EQUAL, 0, 3, _AF_UNIX),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT + 8),
        (_ANY_BIT, 1, 0, _NO_STREAM),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]
    for name, rules in _NO_CPU_LIMIT + (() if forks else _NO_SIGKILL + _NO_ORPHANS):
        code += _refuse_if(numbers[name], rules)
    for name, place in _ON_ITSELF.items():
        code += [
            (_EQUAL, 0, 4, numbers[name]),
            (_LOAD, 0, 0, _FIRST_ARGUMENT_AT + 8 * place),
            (_EQUAL, 0, 1, 0),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        ]
    for name in _TOUCHES:
        if name in numbers:
            code += [(_EQUAL, 0, 1, numbers[name]), (_RETURN, 0, 0, _ALLOW if forks else _ERRNO | 0)]
    for name in names:
        code += [(_EQUAL, 0, 1, numbers[name]), (_RETURN, 0, 0, _ALLOW)]
    code.append((_RETURN, 0, 0, _ERRNO | errno.EPERM))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


def _refuse_if(number: int, rules: tuple[Rule, ...]) -> list[tuple[int, int, int, int]]:
    """Refuses the call if all rules hold; what does not fit falls through, with the call's number loaded again."""
    code = [(_EQUAL, 0, 2 * len(rules) + 2, number)]
    for place, (half, equal, value) in enumerate(rules):
        leave = 2 * (len(rules) - place) - 1
        code.append((_LOAD, 0, 0, _FIRST_ARGUMENT_AT + 4 * half))
        code.append((_EQUAL, 0, leave, value) if equal else (_EQUAL, leave, 0, value))
    return [*code, (_RETURN, 0, 0, _ERRNO | errno.EPERM), (_LOAD, 0, 0, _NUMBER_AT)]


def install(code: bytes) -> None:
    """Puts this thread under the filter for good; needs no_new_privs."""
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer)))
    syscalls.call(syscalls.number("seccomp"), ctypes.c_uint(1), ctypes.c_uint(0), header)
