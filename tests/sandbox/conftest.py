"""What the sandbox's tests share: a sandbox in each mode that works here, and the processes that it has."""

import os

import pytest

from climbable.blender import PROGRAM, find_interpreter, read_measurement
from climbable.core.errors import Unavailable
from climbable.sandbox import Limits, Sandbox
from climbable.sandbox.driver import MODES

LIMITS = Limits(wall_s=4, memory_mib=1024, scratch_mib=32, artefact_mib=2)


@pytest.fixture(scope="session")
def start():
    """Starts a sandbox in a mode, or skips the test where the machine does not allow it."""

    def start(mode, *, validate=read_measurement, limits=LIMITS):
        try:
            return Sandbox(
                interpreter=find_interpreter(), program=PROGRAM, validate=validate, limits=limits, modes=[mode]
            )
        except Unavailable as error:
            pytest.skip(f"this machine does not allow the mode: {error}")

    return start


@pytest.fixture(scope="module", params=MODES)
def mode(request):
    return request.param


@pytest.fixture(scope="module")
def sandbox(start, mode):
    with start(mode) as box:
        yield box


@pytest.fixture
def below():
    """Lists every process below another, parents first."""

    def below(top):
        above, found = {top}, []
        for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    state, parent, *_ = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(parent) in above and state != "Z":
                above.add(pid)
                found.append(pid)
        return found

    return below
