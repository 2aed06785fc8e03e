"""When a child's time begins, and whose fault its end is: real processes, no Blender."""

import pickle
import subprocess
import sys
from pathlib import Path

from climbable.sandbox.jail import child
from climbable.sandbox.jail.child import Bounds

BOUNDS = Bounds(wall_s=2.0, memory_mib=1000, file_mib=1, output_bytes=1000)
READY = f"os.write(report, {child.READY!r})\n"


def watch(code: str, bounds: Bounds = BOUNDS, ready_s: float = child.READY_S) -> child.Child:
    """A process that runs `code` and has ended."""
    order = pickle.dumps((code, bounds, ready_s))
    told = subprocess.run(
        [sys.executable, Path(__file__).with_name("watched.py")], input=order, stdout=subprocess.PIPE, check=True
    )
    return pickle.loads(told.stdout)


def test_the_time_of_a_script_begins_once_its_jail_is_closed():
    ended = watch("time.sleep(2.5)\n" + READY + "os._exit(0)")
    assert not ended.timed_out
    assert child.ending(ended, BOUNDS) is None


def test_a_jail_that_a_busy_machine_does_not_close_in_time_is_our_fault():
    ending = child.ending(watch("time.sleep(60)", ready_s=0.5), BOUNDS)
    assert (ending["outcome"], ending["reason"]) == ("unmeasured", None)
    assert "busy" in ending["detail"]


def test_a_script_that_takes_too_long_is_at_fault():
    bounds = Bounds(wall_s=0.2, memory_mib=1000, file_mib=1, output_bytes=1000)
    ending = child.ending(watch(READY + "time.sleep(60)", bounds), bounds)
    assert (ending["outcome"], ending["reason"]) == ("failed", "timeout")


def test_a_process_that_something_else_killed_is_our_fault():
    ending = child.ending(watch(READY + "os.kill(os.getpid(), 9)"), BOUNDS)
    assert (ending["outcome"], ending["reason"]) == ("unmeasured", None)


def test_a_process_that_is_killed_near_its_own_limit_of_memory_is_at_fault():
    bounds = Bounds(wall_s=20.0, memory_mib=100, file_mib=1, output_bytes=1000)
    ending = child.ending(watch(READY + "x = b'x' * (95 << 20)\nos.kill(os.getpid(), 9)", bounds), bounds)
    assert (ending["outcome"], ending["reason"]) == ("failed", "memory")


def test_a_process_that_used_up_its_cpu_time_is_at_fault():
    bounds = Bounds(wall_s=-9.5, memory_mib=1000, file_mib=1, output_bytes=1000)
    ended = watch("x = time.process_time()\nwhile time.process_time() < 1.2: pass\nos.kill(os.getpid(), 9)")
    ended = child.Child(**{name: getattr(ended, name) for name in ended.__dataclass_fields__} | {"ready": True})
    assert child.ending(ended, bounds)["reason"] == "timeout"


def test_a_token_exists_only_once_it_was_asked_for():
    asked = watch(READY + f"os.write(report, {child.END!r})\nos.write(report, os.read(orders, 64))")
    assert len(asked.token) >= 24
    assert asked.output.endswith(asked.token.encode())
    assert watch(READY + "os.write(report, b'the script has ended')").token == ""


def test_a_request_that_comes_in_pieces_is_understood():
    pieces = f"for byte in {child.END!r}: os.write(report, bytes([byte])); time.sleep(0.001)\nos.read(orders, 64)"
    assert watch(READY + pieces).token


def test_nothing_that_comes_before_the_jail_is_closed_asks_for_a_token():
    assert watch(f"os.write(report, {child.END!r})").token == ""
