"""The system call tables against the kernel's own, and the filter's verdicts on both architectures, by interpretation."""

import errno
import re
import struct
from pathlib import Path

import pytest

from climbable.sandbox.jail import seccomp, syscalls
from climbable.sandbox.jail.seccomp import _AARCH64, _COMMON, _ON_ITSELF, _TOUCHES, _X86_64, _X86_64_ONLY, program

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
TABLES = {"x86_64": _X86_64, "aarch64": _AARCH64}
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
NEVER = {"x86_64": {"socket": 41, "execve": 59, "ptrace": 101, "mount": 165, "unshare": 272, "io_uring_setup": 425},
         "aarch64": {"mount": 40, "unshare": 97, "ptrace": 117, "socket": 198, "execve": 221, "io_uring_setup": 425}}  # fmt: skip


def kernels_numbers(machine):
    """Name → number by the kernel's header; the generic one has some under ``__NR3264_`` and one under another name."""
    for header in map(Path, HEADERS[machine]):
        if header.exists():
            found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())
            return {{"fstatat": "newfstatat"}.get(name, name): int(number) for name, number in found}
    pytest.skip("the kernel's headers are not installed here (Debian: linux-libc-dev)")


def verdict(machine, number, *arguments, arch=None, forks=True):
    """What the filter says to one call: BPF's loads, comparisons and returns, as `seccomp_data` is laid out."""
    data = struct.pack("IIQ6Q", number, arch or ARCHITECTURES[machine], 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    code = list(struct.iter_unpack("HBBI", program(machine, forks=forks)))
    at = value = 0
    while True:
        operation, yes, no, operand = code[at]
        if operation == 0x06:
            return operand
        if operation == 0x20:
            (value,) = struct.unpack_from("I", data, operand)
            at += 1
            continue
        holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[operation]
        at += 1 + (yes if holds else no)


@pytest.mark.parametrize("machine", TABLES)
def test_every_number_is_the_kernels(machine):
    known = kernels_numbers(machine)
    assert {name: number for name, number in TABLES[machine].items() if known.get(name) != number} == {}
    assert {name: known[name] for name in NEVER[machine]} == NEVER[machine]


@pytest.mark.parametrize("machine", TABLES)
def test_the_few_calls_that_the_jail_itself_makes_have_the_kernels_numbers(machine):
    known = kernels_numbers(machine)
    own = syscalls._NUMBERS[machine]
    assert own == {name: known["landlock_create_ruleset" if name == "landlock" else name] for name in own}


@pytest.mark.parametrize("forks", [True, False])
@pytest.mark.parametrize("machine", TABLES)
def test_what_is_listed_is_allowed_and_nothing_else(machine, forks):
    listed = {*_COMMON.split(), *(_X86_64_ONLY.split() if machine == "x86_64" else ())}
    special = {"clone", "clone3", "socketpair", *_ON_ITSELF, *_TOUCHES}
    if machine == "x86_64":
        special |= {"fork", "vfork"}
    assert listed | special >= set(TABLES[machine])
    numbers = {TABLES[machine][name] for name in listed}
    for number in range(600):
        if number in numbers:
            assert verdict(machine, number, forks=forks) in (
                ALLOW,
                REFUSE if number == TABLES[machine]["setrlimit"] else ALLOW,
            )
        elif number not in {TABLES[machine][name] for name in special if name in TABLES[machine]}:
            assert verdict(machine, number, forks=forks) == REFUSE, number
    for name, number in NEVER[machine].items():
        assert verdict(machine, number, forks=forks) == REFUSE, name


@pytest.mark.parametrize("machine", TABLES)
def test_what_a_call_is_given_decides(machine):
    table = TABLES[machine]
    thread, process = syscalls.CLONE_THREAD, 17
    assert verdict(machine, table["clone"], thread, forks=False) == ALLOW
    assert verdict(machine, table["clone"], process, forks=False) == REFUSE
    assert verdict(machine, table["clone"], process, forks=True) == ALLOW
    assert verdict(machine, table["clone"], thread | syscalls.CLONE_NEWUSER) == REFUSE
    assert verdict(machine, table["clone3"]) == 0x00050000 | errno.ENOSYS
    stream, datagram, raw = 1 | 0o2000000 | 0o4000, 2, 3
    assert verdict(machine, table["socketpair"], 1, stream) == ALLOW
    assert {verdict(machine, table["socketpair"], *kind) for kind in ((1, datagram), (1, raw), (2, stream))} == {REFUSE}
    for name, place in _ON_ITSELF.items():
        assert verdict(machine, table[name], *(0,) * place, 0) == ALLOW
        assert verdict(machine, table[name], *(0,) * place, 4321) == REFUSE
    assert verdict(machine, table["kill"], 1, 9, forks=False) == REFUSE
    assert verdict(machine, table["fchmod"], 3, 0o777, forks=False) == 0x00050000


@pytest.mark.parametrize("machine", TABLES)
def test_a_foreign_table_of_calls_kills(machine):
    (other,) = set(ARCHITECTURES.values()) - {ARCHITECTURES[machine]}
    assert verdict(machine, TABLES[machine]["read"], arch=other) == KILL
    if machine == "x86_64":
        assert verdict(machine, 0x40000000 | TABLES[machine]["read"]) == KILL


@pytest.mark.parametrize("machine", ["riscv64", "ppc64le", "i686", "armv7l", ""])
def test_an_architecture_without_a_table_is_refused(machine):
    with pytest.raises(OSError, match="no seccomp table"):
        seccomp.program(machine, forks=True)
