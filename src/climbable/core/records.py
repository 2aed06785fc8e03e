"""Records that survive a kill at any moment: append-only JSON lines, and files written whole or not at all.

A line is appended by one write and made durable before `append` returns; what a kill leaves torn is at most the last
line, which readers pass over and the next append clears away.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from climbable.core.errors import Unavailable


def dumps(value: Any) -> str:
    """`value` as one line of JSON in ASCII, so that lone surrogates survive; a number that is not finite is a ValueError."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def loads(data: bytes | str) -> Any:
    """The JSON value in `data`; a ValueError for what is not UTF-8 JSON, numbers that are not finite and endless nesting too."""
    text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def append(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Appends `rows`, all or none of them, as JSON lines; a torn last line is cut off first."""
    data = "".join(dumps(row) + "\n" for row in rows).encode()
    if not data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        end = _cut_torn_line(descriptor)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, end)
            raise
    except OSError as error:
        raise Unavailable(
            f"cannot append to {path}: {error.strerror}; free some room, then go on with --resume"
        ) from error
    finally:
        os.close(descriptor)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON lines; a missing file has none, and a torn last line is passed over.

    A line in the middle that is not JSON means that something else wrote to the file: an `Unavailable` names it.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError:
                raise Unavailable(f"{path}, line {number}, is not JSON: {line[:80]!r}; remove that line") from None


def rewrite(path: Path, keep: Callable[[dict[str, Any]], bool]) -> int:
    """Drops the rows that `keep` refuses, whole or not at all; returns how many went."""
    rows = list(read(path))
    kept = [row for row in rows if keep(row)]
    if len(kept) < len(rows):
        write_whole(path, "".join(dumps(row) + "\n" for row in kept))
    return len(rows) - len(kept)


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file so that a reader, or a kill, meets the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError):
            raise Unavailable(f"cannot write {path}: {error.strerror}; free some room, then try again") from error
        raise


def write_json(path: Path, value: Any) -> None:
    """Writes one JSON value whole, indented for people."""
    write_whole(path, json.dumps(value, allow_nan=False, indent=2) + "\n")


def read_json(path: Path) -> Any:
    """The JSON value in `path`, or ``None`` where there is no such file."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise ValueError(f"the number {digits:.40} is too large")
    return number


def _cut_torn_line(descriptor: int) -> int:
    """The length of the file once its last line is whole."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    keep = end
    while keep:
        start = max(0, keep - 65536)
        block = os.pread(descriptor, keep - start, start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            keep = start + newline + 1
            break
        keep = start
    if keep < end:
        os.ftruncate(descriptor, keep)
    return keep
