"""A completion becomes a score: read it, run it in the sandbox, let a clean process measure it, judge the measurement.

Nothing that the candidate's process wrote or printed reaches the reward, except the artefact that the clean process
measured. Whatever goes wrong on our side is `unmeasured`, which has no reward; it is never 0.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from types import TracebackType
from typing import Any

from climbable.blender import PROGRAM, find_interpreter, read_measurement
from climbable.core.errors import UserError
from climbable.core.skill import CompletionFault, Skill
from climbable.core.types import Outcome, Score, Task
from climbable.sandbox import Container, Limits, Run, Sandbox
from climbable.sandbox.driver import MODES

LOCAL = "local"
"""The runner that uses this machine's own jail; the others are `climbable.sandbox.container.ENGINES`."""


class Verifier:
    """Scores completions of one skill. Thread-safe; holds the sandbox open until closed.

    It never raises for anything that a completion does. Starting it raises `Unavailable` where the skill needs a
    sandbox and this machine has too little of one.
    """

    def __init__(
        self,
        skill: Skill,
        *,
        workers: int = 0,
        wall_s: float = 40.0,
        memory_mib: int = 4096,
        interpreter: str | None = None,
        runner: str = LOCAL,
        modes: Sequence[str] = MODES,
    ) -> None:
        self.skill = skill
        self.workers = workers or os.cpu_count() or 1
        self._sandbox: Sandbox | None = None
        if skill.runtime == "blender":
            self._sandbox = Sandbox(
                interpreter=find_interpreter(interpreter) if runner == LOCAL else Container(engine=runner),
                program=PROGRAM,
                validate=read_measurement,
                workers=self.workers,
                limits=Limits(wall_s=wall_s, memory_mib=memory_mib),
                modes=modes,
            )

    def __enter__(self) -> Verifier:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the sandbox and all its processes."""
        if self._sandbox is not None:
            self._sandbox.close()

    def submit(self, task: Task, completion: str) -> Future[Score]:
        """Starts scoring; the future's result is the score. A task of another skill is a `UserError`."""
        if task.skill != self.skill.name:
            raise UserError(f"task {task.id!r} is of skill {task.skill!r}; this verifier is for {self.skill.name!r}")
        done: Future[Score] = Future()
        program = self._read(task, completion)
        if isinstance(program, Score):
            done.set_result(program)
            return done
        if self._sandbox is None:
            done.set_result(self._judge(task, program, {}))
            return done

        def finish(running: Future[Run]) -> None:
            try:
                done.set_result(self._from_run(task, running.result()))
            except (
                BaseException
            ) as error:  # a callback's exception would be swallowed, and the caller would wait for ever
                done.set_exception(error)

        self._sandbox.submit(program).add_done_callback(finish)
        return done

    def verify(self, task: Task, completion: str) -> Score:
        """The score of one completion."""
        return self.submit(task, completion).result()

    def verify_many(self, pairs: Sequence[tuple[Task, str]]) -> list[Score]:
        """The scores of many completions, in their order."""
        futures = [self.submit(task, completion) for task, completion in pairs]
        return [future.result() for future in futures]

    def stream(self, pairs: Iterable[tuple[Task, str]]) -> Iterator[Score]:
        """Scores in the order of `pairs`, which is read only a few samples ahead of the sandbox."""
        ahead: deque[Future[Score]] = deque()
        for task, completion in pairs:
            ahead.append(self.submit(task, completion))
            while len(ahead) > 4 * self.workers or (ahead and ahead[0].done()):
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()

    def _from_run(self, task: Task, run: Run) -> Score:
        if run.outcome is Outcome.SCORED:
            return self._judge(task, run.artefact, run.seconds)
        reward = None if run.outcome is Outcome.UNMEASURED else self.skill.floor
        return Score(
            task=task.id, outcome=run.outcome, reason=run.reason, detail=run.detail, reward=reward, seconds=run.seconds
        )

    def _read(self, task: Task, completion: str) -> str | Score:
        """What the runtime is given, or the score that the completion has without one."""
        try:
            program = self.skill.read(completion)
            if not isinstance(program, str):
                raise TypeError(f"it gave {type(program).__name__}, not str")
            return program
        except CompletionFault as fault:
            return self._failed(task, fault)
        except Exception as error:
            return self._broken(task, "reading a completion", error)

    def _judge(self, task: Task, artefact: Any, seconds: Any) -> Score:
        """A judgement becomes a score; a reward that the skill's table does not allow is our fault, not the model's."""
        try:
            verdict = self.skill.judge(task, artefact)
            reward = round(sum(verdict.parts.values()), 4)
            if not self.skill.floor <= reward <= self.skill.ceiling:  # also false for nan
                detail = f"reward {reward} is outside the skill's range {self.skill.floor} to {self.skill.ceiling}"
                return Score(task=task.id, outcome=Outcome.UNMEASURED, reward=None, detail=detail, seconds=seconds)
            return Score(
                task=task.id,
                outcome=Outcome.SCORED,
                reward=reward,
                solved=verdict.solved,
                parts=verdict.parts,
                checks=verdict.checks,
                extras=verdict.extras,
                seconds=seconds,
            )
        except CompletionFault as fault:
            return replace(self._failed(task, fault), seconds=seconds)
        except Exception as error:
            return replace(self._broken(task, "its checks", error), seconds=seconds)

    def _broken(self, task: Task, what: str, error: Exception) -> Score:
        """A third party's skill may hold a mistake: that is never the completion's fault."""
        detail = f"skill {self.skill.name!r}, {what}: {type(error).__name__}: {error}"
        return Score(task=task.id, outcome=Outcome.UNMEASURED, reward=None, detail=detail[:300])

    def _failed(self, task: Task, fault: CompletionFault) -> Score:
        return Score(
            task=task.id, outcome=Outcome.FAILED, reason=fault.reason, detail=fault.detail, reward=self.skill.floor
        )
