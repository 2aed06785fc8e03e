"""The desk at the verifier's door: so many at once are let in, each is answered once, and all of it is counted."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from climbable.core.types import Outcome, Score, Task
from climbable.verify import Verifier

_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Full(Exception):
    """No place is free; `retry_after` is in how many seconds one may be."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"the queue is full; try again in {retry_after} s")
        self.retry_after = retry_after


class Desk:
    """Admits up to `places` completions to `verifier`; an answer that takes over `deadline_s` is unmeasured."""

    def __init__(self, verifier: Verifier, *, places: int, deadline_s: float) -> None:
        self.registry = CollectorRegistry()
        self._verifier = verifier
        self._places = places
        self._deadline_s = deadline_s
        self._taken = 0
        self._ended: deque[float] = deque(maxlen=256)
        self._answers = Counter(
            "climbable_verifications", "Completions answered.", ["outcome", "reason"], registry=self.registry
        )
        self._refused = Counter("climbable_refused", "Requests sent away for want of a place.", registry=self.registry)
        self._waiting = Gauge("climbable_in_flight", "Completions admitted and not answered.", registry=self.registry)
        self._seconds = Histogram(
            "climbable_verify_seconds", "From admission to answer.", buckets=_BUCKETS, registry=self.registry
        )

    @property
    def in_flight(self) -> int:
        """How many are admitted and not answered yet."""
        return self._taken

    async def verify(self, task: Task, completion: str) -> Score:
        """The score; `Full` where no place is free."""
        if self._taken >= self._places:
            self._refused.inc()
            raise Full(self._retry_after())
        self._taken += 1
        self._waiting.inc()
        began = time.monotonic()
        try:
            score = await self._within_deadline(task, completion)
        finally:
            self._taken -= 1
            self._waiting.dec()
            self._ended.append(time.monotonic())
            self._seconds.observe(time.monotonic() - began)
        self._answers.labels(score.outcome.value, score.reason.value if score.reason else "").inc()
        return score

    async def _within_deadline(self, task: Task, completion: str) -> Score:
        try:
            return await asyncio.wait_for(self._run(task, completion), self._deadline_s)
        except TimeoutError:
            detail = f"no answer within {self._deadline_s:g} s: the server is overloaded"
            return Score(task=task.id, outcome=Outcome.UNMEASURED, reward=None, detail=detail)

    async def _run(self, task: Task, completion: str) -> Score:
        # Submitting reads the completion, which for a large one is no work for the event loop.
        running = await asyncio.to_thread(self._verifier.submit, task, completion)
        return await asyncio.shield(asyncio.wrap_future(running))

    def _retry_after(self) -> int:
        """Seconds until a tenth of the places are free, at the rate of the latest answers."""
        if len(self._ended) < 2 or self._ended[-1] == self._ended[0]:
            return 1
        rate = (len(self._ended) - 1) / (self._ended[-1] - self._ended[0])
        return max(1, min(60, math.ceil(self._places / 10 / rate)))
