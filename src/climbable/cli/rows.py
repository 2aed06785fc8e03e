"""``climb verify --rows``: rows in, answers out, in the same order and as soon as they are known.

One thread reads rows and hands them to the verifier; the main thread waits for the oldest and prints it. So whoever
feeds a pipe row by row gets each answer without having to send the next row.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from queue import Queue
from typing import Any, BinaryIO

from climbable.cli import output
from climbable.core import records
from climbable.core.errors import UserError
from climbable.core.skill import Skill
from climbable.core.types import Outcome, Score, Task
from climbable.verify import Verifier

Answer = Future[Score] | dict[str, Any]
"""A score to come, or the error object of a row that cannot be read."""


def verify_rows(skill: Skill, verifier: Verifier, file: str, *, quiet: bool) -> int:
    """Answers every row of `file` (``-`` is stdin) on stdout; returns the exit status.

    Blank lines are no rows. A file without a row is a `UserError`.
    """
    queue: Queue[Answer | BaseException | None] = Queue(maxsize=4 * verifier.workers)
    with ExitStack() as stack:
        try:
            source = sys.stdin.buffer if file == "-" else stack.enter_context(open(file, "rb"))
        except OSError as error:
            raise UserError(f"cannot read the rows {file!r}: {error.strerror}; - reads stdin") from None
        threading.Thread(target=_feed, args=(skill, verifier, source, queue), daemon=True).start()
        malformed = unmeasured = rows = solved = 0
        while (answer := queue.get()) is not None:
            if isinstance(answer, BaseException):
                raise answer
            rows += 1
            if isinstance(answer, dict):
                malformed += 1
                output.emit(answer, indent=False)
            else:
                score = answer.result()
                unmeasured += score.outcome is Outcome.UNMEASURED
                solved += score.solved
                output.emit(score.to_json(), indent=False)
            sys.stdout.flush()
    if not rows:
        raise UserError(
            f"{file!r} holds no rows; a row is a line such as "
            f'{{"task": "{skill.name}/{skill.families[0].name}/test/0", "completion": "…"}}'
        )
    if not quiet or malformed or unmeasured:
        output.say(f"{rows} rows: {solved} solved, {unmeasured} unmeasured, {malformed} malformed")
    if unmeasured:
        output.say("unmeasured is our fault, not the answer's: `climb doctor` says what is missing here")
    return 3 if unmeasured else 2 if malformed else 0


def _feed(skill: Skill, verifier: Verifier, source: BinaryIO, queue: Queue[Answer | BaseException | None]) -> None:
    try:
        for number, line in _rows(source):
            try:
                task, completion = _read_row(skill, line)
                answer: Answer = verifier.submit(task, completion)
            except (UserError, ValueError) as error:
                answer = {"error": str(error), "row": number}
            queue.put(answer)
        queue.put(None)
    except BaseException as error:  # it would end with this thread, and the main thread would wait for ever
        queue.put(error)


def _rows(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(iter(source.readline, b""), 1):
        if line.strip():
            yield number, line


def _read_row(skill: Skill, line: bytes) -> tuple[Task, str]:
    try:
        row = records.loads(line)
    except ValueError as error:
        raise UserError(f"the row is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise UserError(f"the row is {type(row).__name__}, not an object with task and completion")
    for key in ("task", "completion"):
        if key not in row:
            raise UserError(f'the row has no {key!r}; it needs {{"task": id or object, "completion": text}}')
    if not isinstance(row["completion"], str):
        raise UserError(f"the row's 'completion' is {row['completion']!r:.60}; it must be a string")
    if isinstance(row["task"], str):
        return skill.task_by_id(row["task"]), row["completion"]
    return Task.from_json(row["task"]), row["completion"]
