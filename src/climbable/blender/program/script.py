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
END = b"\nthe script has ended\n"
"""What asks for the token; `jail.child` waits for it."""


def run(text: str, folder: str, report: int, orders: int, alone: bool) -> None:
    """Never returns. Saves to ``FOLDER/TOKEN.blend`` and writes one line to `report`.

    The line is ``TOKEN done``, or ``TOKEN`` and what went wrong as JSON. Other ends have no token: it is asked for with
    `END` once the script has ended, comes over `orders`, and does not exist before. `alone` says that this process is
    the first of its own process namespace, so that it may kill all others in it.
    """
    leave, write, read, process, own = os._exit, os.write, os.read, os.getpid, os.getpid()
    still, save, encode = _stiller(alone), _saver(), json.JSONEncoder().encode
    _still_streams()
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    sys.argv = ["script.py"]
    sys.path.insert(0, "")
    fault = None
    try:
        exec(compile(text, NAME, "exec", dont_inherit=True), main.__dict__)
    except BaseException as error:  # SystemExit too: a script that ends early has not run to its end
        fault = _fault(error)
    if process() != own:
        leave(0)  # a fork that the script made and that came to the end of it
    still()
    write(report, END)
    token = read(orders, 64).decode("ascii")
    if fault is None:
        try:
            save(f"{folder}/{token}.blend")
        except BaseException as error:
            fault = _save_fault(error)
    write(report, f"\n{token} {'done' if fault is None else encode(fault)}\n".encode())
    leave(0 if fault is None else 1)


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


def _stiller(alone: bool) -> Callable[[], None]:
    """A function that keeps all else that the script has started from running on, made before it could meddle."""
    kill, thread_frames, signal_thread = os.kill, sys._current_frames, signal.pthread_kill
    mask, block, everything = signal.pthread_sigmask, signal.SIG_BLOCK, signal.valid_signals()
    pause, hook = _pause_handler()

    def still() -> None:
        mask(block, everything)
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

    return still


def _saver() -> Callable[[str], None]:
    """A function that saves the scene to a path, made of nothing that a script could replace by name."""
    save_as, context = _operator_that_saves(), bpy.context
    handlers = [value for name in dir(bpy.app.handlers) if isinstance(value := getattr(bpy.app.handlers, name), list)]
    clear = list.clear

    def save(path: str) -> None:
        for handler in handlers:
            clear(handler)
        context.preferences.filepaths.file_preview_type = "NONE"
        save_as(filepath=path, check_existing=False, compress=False)

    return save


def _operator_that_saves() -> Callable[..., Any]:
    """Blender's own operator, below the names that ``bpy.ops`` gives it."""
    if hasattr(_bpy.ops, "create_function"):  # Blender 5.3 and later
        operator: Callable[..., Any] = _bpy.ops.create_function("wm", "save_as_mainfile")
        return operator
    call = _bpy.ops.call
    override: tuple[Any, ...] = ({},) if bpy.app.version < (4, 0, 0) else ()
    return lambda **settings: call("WM_OT_save_as_mainfile", *override, settings, "EXEC_DEFAULT")


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
