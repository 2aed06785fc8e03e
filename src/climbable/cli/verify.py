"""``climb verify``: completions in, scores out."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from climbable.cli import options, output
from climbable.core import records
from climbable.core.errors import UserError
from climbable.core.skill import Skill
from climbable.core.types import Outcome, Task


@click.command()
@options.skill
@click.option("--task", help="A task's id, or a file with one task's JSON.")
@click.option("--completion", metavar="FILE", help="A file with the answer; - is stdin.")
@click.option("--rows", metavar="FILE", help='JSON lines {"task": id or object, "completion": text}; - is stdin.')
@options.sandbox
@options.as_json
def command(
    skill: str,
    task: str | None,
    completion: str | None,
    rows: str | None,
    blender: str | None,
    container: str | None,
    workers: int,
    memory: int,
    timeout: float,
    as_json: bool,
) -> int:
    """The score of completions, check by check.

    With --rows, JSON lines come out in the order in which they went in, one a row: a score, or an error in the place of
    a row that cannot be read. Exit status 3: something was not measured; 2: a row was malformed.

    \b
    Examples:
      climb verify scene --task scene/stack/test/0 --completion answer.md
      climb verify scene --rows answers.jsonl > scores.jsonl
    """
    from climbable.skills import load_skill
    from climbable.verify import Verifier

    known = load_skill(skill)
    if rows is not None and (task is not None or completion is not None):
        raise UserError("--rows brings its own tasks and completions: leave out --task and --completion, or --rows")
    if rows is None and (task is None or completion is None):
        raise UserError(
            "what to verify? give --task and --completion, or --rows: "
            f"`climb verify {known.name} --task {known.name}/{known.families[0].name}/test/0 --completion FILE`"
        )
    if rows is not None:
        from climbable.cli.rows import verify_rows

        with Verifier(
            known, workers=workers, wall_s=timeout, memory_mib=memory, interpreter=blender, runner=container or "local"
        ) as verifier:
            return verify_rows(known, verifier, rows, quiet=as_json)

    assert task is not None and completion is not None
    asked, answer = read_task(known, task), read_completion(completion)
    with Verifier(
        known, workers=1, wall_s=timeout, memory_mib=memory, interpreter=blender, runner=container or "local"
    ) as verifier:
        score = verifier.verify(asked, answer)
    if as_json:
        output.emit(score.to_json())
    else:
        from climbable.cli.score_card import print_score

        print_score(asked, score)
    return 3 if score.outcome is Outcome.UNMEASURED else 0


def read_task(skill: Skill, task: str) -> Task:
    """The task with the id `task`, or in the file `task`."""
    path = Path(task)
    if not path.is_file():
        if path.suffix == ".json" or task.startswith((".", "/")):
            raise UserError(
                f"there is no task file {task!r}; `climb tasks {skill.name} -n 1 --json > task.json` makes one"
            )
        return skill.task_by_id(task)
    try:
        value = records.loads(path.read_bytes())
    except ValueError as error:
        raise UserError(f"task file {task!r} is not one JSON object: {error}") from None
    try:
        read = Task.from_json(value)
    except UserError as error:
        raise UserError(f"task file {task!r}: {error}") from None
    if read.skill != skill.name:
        raise UserError(f"task file {task!r} is of skill {read.skill!r}: `climb verify {read.skill} …`")
    return read


def read_completion(file: str) -> str:
    """The text of `file`, or of stdin for ``-``."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise UserError(f"cannot read the completion {file!r}: {error.strerror}; - reads stdin") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"the completion {file!r} is not UTF-8: byte {error.start} is {data[error.start]:#04x}"
        ) from None
