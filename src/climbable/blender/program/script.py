"""Runs one script in a jailed child and saves the scene as it stands when the last line has run.

Everything used after the script is taken hold of before it, since a script may replace whatever it can reach. That
is for fairness, not for safety: what counts is only the file, and a clean process measures that.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import errno
import json
import os
import signal
import sys
import types
from collections.abc import Callable
from typing import Any

import _bpy
import bpy

NAME = "<script>"
_MOST_DETAIL = 2000
_FREEZE = signal.SIGRTMAX - 2


def run(text: str, path: str, report: int, token: str, alone: bool) -> None:
    """Never returns. Writes one line to `report`: ``TOKEN done``, or ``TOKEN`` and what went wrong as JSON.

    `alone` says that this process is the first of its own process namespace, so that it may kill all others in it.
    """
    leave, write = os._exit, os.write
    save = _saver(path, alone)
    tell = _teller(write, report, token)
    _still_streams()
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    sys.argv = ["script.py"]
    sys.path.insert(0, "")
    try:
        exec(compile(text, NAME, "exec", dont_inherit=True), main.__dict__)
    except BaseException as error:  # SystemExit too: a script that ends early has not run to its end
        tell(_fault(error))
        leave(1)
    try:
        save()
    except BaseException as error:
        tell(_save_fault(error))
        leave(1)
    write(report, f"\n{token} done\n".encode())
    leave(0)


def _teller(write: Callable[[int, bytes], int], report: int, token: str) -> Callable[[dict[str, str]], None]:
    encode = json.JSONEncoder().encode

    def tell(fault: dict[str, str]) -> None:
        write(report, f"\n{token} {encode(fault)}\n".encode())

    return tell


def _fault(error: BaseException) -> dict[str, str]:
    """Reason and detail of an exception that left the script: its type, message and the line in the script."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == NAME else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
    except BaseException as nested:  # a hostile __str__
        message = f"(its message raised {type(nested).__name__})"
    kind = type(error).__name__
    reason = "crashed"
    if isinstance(error, MemoryError):
        reason = "memory"
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        reason = "output"
    elif isinstance(error, SystemExit):
        message = f"{message} - the script ended itself early; let it run to its last line".lstrip()
    where = f" (line {line})" if line else ""
    return {"reason": reason, "detail": f"{kind}: {message}"[:_MOST_DETAIL] + where}


def _save_fault(error: BaseException) -> dict[str, str]:
    text = str(error)
    full = any(words in text for words in ("No space left", "File too large", "Disk quota"))
    if isinstance(error, MemoryError):
        return {"reason": "memory", "detail": "no memory left to save the scene"}
    return {"reason": "output" if full else "unreadable", "detail": f"the scene cannot be saved: {text}"[:_MOST_DETAIL]}


def _saver(path: str, alone: bool) -> Callable[[], None]:
    """A function that saves the scene to `path`, made of nothing that a script could replace by name."""
    call, kill = _bpy.ops.call, os.kill
    context, thread_frames = bpy.context, sys._current_frames
    handlers = [value for name in dir(bpy.app.handlers) if isinstance(value := getattr(bpy.app.handlers, name), list)]
    clear = list.clear
    pause, hook = _pause_handler()
    signal_thread = signal.pthread_kill

    def save() -> None:
        if alone:
            with contextlib.suppress(ProcessLookupError):
                kill(-1, signal.SIGKILL)  # from the first process of a namespace: all others in it
        threads = list(thread_frames())
        if len(threads) > 1:
            # Operators let go of the interpreter's lock, so a thread could change the scene or the file meanwhile.
            hook(_FREEZE, pause)
            own = _own_thread()
            for thread in threads:
                if thread != own:
                    signal_thread(thread, _FREEZE)
        for handler in handlers:
            clear(handler)
        context.preferences.filepaths.file_preview_type = "NONE"
        call("WM_OT_save_as_mainfile", {"filepath": path, "check_existing": False, "compress": False}, "EXEC_DEFAULT")

    return save


def _pause_handler() -> tuple[Any, Callable[[int, Any], Any]]:
    """The address of libc's ``pause`` as a signal handler: a thread that gets the signal sleeps for good."""
    libc = ctypes.CDLL(None)
    address = ctypes.cast(libc.pause, ctypes.c_void_p)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    return address, libc.signal


def _own_thread() -> int:
    import _thread

    return _thread.get_ident()


def _still_streams() -> None:
    """Stdin reads as closed; what is printed goes nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)
