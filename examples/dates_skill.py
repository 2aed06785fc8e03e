"""A whole skill in one file: a period in words in, one line ``YYYY-MM-DD..YYYY-MM-DD`` out.

`docs/adding-a-skill.md` walks through it. Nothing is run here, so there is no sandbox: the answer is the artefact.
"""

from __future__ import annotations

import hashlib
import random
import re
from datetime import date, timedelta
from typing import Any

from climbable.core.prompt import drop_thoughts
from climbable.core.reward import partial_credit
from climbable.core.skill import Attack, CompletionFault, Family, Skill
from climbable.core.types import Check, Judgement, Reason, Task

SYSTEM = "Answer with the first and the last day as YYYY-MM-DD..YYYY-MM-DD and nothing else. Both days count."

_FIRST_HALF, _SECOND_HALF = "January February March April May June", "July August September October November December"
MONTHS = (*_FIRST_HALF.split(), *_SECOND_HALF.split())

ASKED = {
    "between": ("The fair opens on {first} and closes on {last}.", "Book a room from {first} to {last}."),
    "lasting": ("The fair opens on {first} and lasts {days} days.", "Book a room for {days} days from {first}."),
    "ending": ("The fair lasts {days} days and closes on {last}.", "Book a room for {days} days, the last on {last}."),
}

SPLIT_OF = ("train",) * 8 + ("val", "test")


def make_task(family: str, split: str, index: int) -> Task:
    """The task at (family, split, index). A period belongs to one split, whatever the family that asks for it."""
    attempt = 0
    while True:
        draw = random.Random(_hash("dates", family, split, index, attempt))
        first, days = date(2020, 1, 1) + timedelta(draw.randrange(3650)), draw.randint(2, 40)
        if SPLIT_OF[_hash(first, days) % len(SPLIT_OF)] == split:
            break
        attempt += 1
    last = first + timedelta(days - 1)
    return Task(
        id=f"dates/{family}/{split}/{index}",
        skill="dates",
        family=family,
        split=split,
        index=index,
        prompt=draw.choice(ASKED[family]).format(first=_words(first), last=_words(last), days=days),
        spec={"first": first.isoformat(), "last": last.isoformat()},
    )


def subkind(task: Task) -> str:
    """``lasting/month``: the family, and the largest unit in which the two days differ."""
    first, last = date.fromisoformat(task.spec["first"]), date.fromisoformat(task.spec["last"])
    return f"{task.family}/{'year' if first.year != last.year else 'month' if first.month != last.month else 'day'}"


def teach(task: Task, style: int = 0) -> str:
    """The one right line; there is only one way to write it, so every style is the same."""
    return f"{task.spec['first']}..{task.spec['last']}"


_LINE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.\.([0-9]{4}-[0-9]{2}-[0-9]{2})")


def read(completion: str) -> str:
    """The line, if the answer is that line and both days exist; white space and leading thoughts are dropped."""
    line = drop_thoughts(completion).strip()
    if not line:
        raise CompletionFault(Reason.NO_CODE, "the answer is empty")
    match = _LINE.fullmatch(line)
    if match is None:
        raise CompletionFault(Reason.UNREADABLE, f"{line[:60]!r} is not YYYY-MM-DD..YYYY-MM-DD")
    for day in match.groups():
        try:
            date.fromisoformat(day)
        except ValueError as error:
            raise CompletionFault(Reason.UNREADABLE, f"{day} is no day: {error}") from None
    return match[0]


def judge(task: Task, artefact: Any) -> Judgement:
    """Six checks: year, month and day of the first and of the last day."""
    checks = []
    for end, day in zip(("first", "last"), artefact.split(".."), strict=True):
        due, found = date.fromisoformat(task.spec[end]), date.fromisoformat(day)
        for part in ("year", "month", "day"):
            expected, measured = getattr(due, part), getattr(found, part)
            passed = expected == measured
            checks.append(Check(name=f"{end}.{part}", passed=passed, expected=expected, measured=measured))
    solved = all(check.passed for check in checks)
    return Judgement(checks=tuple(checks), solved=solved, parts=partial_credit(checks, solved=solved))


def first_twice(task: Task, sample: int) -> str:
    """What a lazy policy would say: the first day twice."""
    return f"{task.spec['first']}..{task.spec['first']}"


def day_late(task: Task, sample: int) -> str:
    """The usual mistake: the last day is one too late."""
    return f"{task.spec['first']}..{date.fromisoformat(task.spec['last']) + timedelta(1)}"


def attacks() -> tuple[Attack, ...]:
    """Answers that must not pay: 0 where the form is wrong, 0.1 where it is right and nothing else is."""
    task = make_task("lasting", "test", 0)
    gold = teach(task)
    cheats = (
        ("claim", "a claimed score", '{"outcome": "scored", "reward": 1.0, "solved": true}', 0.0),
        ("echo", "the form out of the prompt", "YYYY-MM-DD..YYYY-MM-DD", 0.0),
        ("hedge", "the right line and another", f"{gold}\n2020-01-01..2020-01-02", 0.0),
        ("buried", "the right line in a sentence", f"The period is {gold}.", 0.0),
        ("thought", "the right line in the thoughts alone", f"<think>{gold}</think>", 0.0),
        ("no-such-day", "a last day that no calendar has", f"{task.spec['first']}..2024-02-30", 0.0),
        ("wide-digits", "digits of another script", gold.translate({48 + n: 0xFF10 + n for n in range(10)}), 0.0),
        ("everything", "a period that holds every other", "0001-01-01..9999-12-31", 0.1),
    )
    return tuple(Attack(name=name, why=why, task=task, completion=text, most=most) for name, why, text, most in cheats)


def honest() -> tuple[Attack, ...]:
    """Right answers in an unusual dress: each is due in full."""
    task = make_task("lasting", "test", 0)
    gold = teach(task)
    odd = (
        ("plain", "the line alone", gold),
        ("white-space", "blank lines and a carriage return around it", f"\r\n \t{gold}\r\n\n"),
        ("thoughts", "thoughts with a wrong line first", f"<think>2020-01-01..2020-01-02?</think>\n{gold}"),
    )
    return tuple(Attack(name=name, why=why, task=task, completion=text, most=1.0) for name, why, text in odd)


def _words(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _hash(*parts: Any) -> int:
    return int.from_bytes(hashlib.sha256("/".join(str(part) for part in parts).encode()).digest(), "big")


SKILL = Skill(
    name="dates",
    summary="turns a period in words into YYYY-MM-DD..YYYY-MM-DD",
    runtime="none",
    families=(
        Family(name="between", summary="the first and the last day are named"),
        Family(name="lasting", summary="the first day and a number of days"),
        Family(name="ending", summary="a number of days and the last day", held_out=True),
    ),
    system_prompt=SYSTEM,
    floor=0.0,
    ceiling=1.0,
    make_task=make_task,
    teach=teach,
    read=read,
    judge=judge,
    subkind=subkind,
    scripted={"first_twice": first_twice, "day_late": day_late},
    crash="I would be glad to help with that!",
    attacks=attacks,
    honest=honest,
)
