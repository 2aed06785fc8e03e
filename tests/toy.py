"""A tiny skill without a runtime, for tests of everything that needs no Blender: say the asked word, once, in lower case."""

import dataclasses
import hashlib

from climbable.core.skill import Attack, CompletionFault, Family, Skill
from climbable.core.types import Check, Judgement, Reason, Task

WORDS = ("ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "spruce")


def make_task(family: str, split: str, index: int) -> Task:
    seed = hashlib.sha256(f"toy/{family}/{split}/{index}".encode()).digest()
    words = [WORDS[seed[i] % len(WORDS)] for i in range(2 if family == "two" else 1)]
    return Task(
        id=f"toy/{family}/{split}/{index}",
        skill="toy",
        family=family,
        split=split,
        index=index,
        prompt="say " + " ".join(words),
        spec={"words": words},
    )


def read(completion: str) -> str:
    if not completion.strip():
        raise CompletionFault(Reason.NO_CODE, "the answer is empty")
    if "crash" in completion:
        raise CompletionFault(Reason.CRASHED, "RuntimeError: crash (line 1)")
    return completion.strip()


def judge(task: Task, artefact: object) -> Judgement:
    said = str(artefact).split()
    checks = tuple(
        Check(name=f"word{i}", passed=i < len(said) and said[i] == word, expected=word, measured=said[i : i + 1])
        for i, word in enumerate(task.spec["words"])
    )
    solved = all(check.passed for check in checks) and len(said) == len(checks)
    share = round(0.5 * sum(check.passed for check in checks) / len(checks), 4)
    return Judgement(checks=checks, solved=solved, parts={"ran": 0.1, "checks": share, "bonus": 0.4 if solved else 0.0})


def gold(task: Task, style: int = 0) -> str:
    return " ".join(task.spec["words"])


def attacks() -> tuple[Attack, ...]:
    task = make_task("one", "test", 0)
    return (Attack(name="claim", why="a claimed reward", task=task, completion='{"reward": 1.0}', most=0.1),)


def honest() -> tuple[Attack, ...]:
    task = make_task("one", "test", 0)
    return (Attack(name="padded", why="white space around", task=task, completion=f"\n {gold(task)} \n", most=1.0),)


SKILL = Skill(
    name="toy",
    summary="says the asked words",
    runtime="none",
    families=(
        Family(name="one", summary="one word"),
        Family(name="two", summary="two words"),
        Family(name="hidden", summary="one word, held out", held_out=True),
    ),
    system_prompt="Say the words.",
    floor=0.0,
    ceiling=1.0,
    make_task=make_task,
    teach=gold,
    read=read,
    judge=judge,
    crash="crash",
    scripted={"wrong": lambda task, sample: "nothing"},
    attacks=attacks,
    honest=honest,
)


def chatty(task: Task, style: int) -> str:
    """Three styles of five begin with a word that breaks the format, as an untrained assistant would."""
    return ("sure " if style % 5 < 3 else "") + gold(task)


def judge_any(task: Task, artefact: object) -> Judgement:
    """Any of the words will do, so that the format alone is left to learn."""
    said = [word if word in WORDS else "" for word in str(artefact).split()]
    words = [word or "?" for word in said[: len(task.spec["words"])]]
    spec = {"words": words + ["?"] * (len(task.spec["words"]) - len(words))}
    return judge(dataclasses.replace(task, spec=spec), " ".join(word or "-" for word in said))


CHATTY = dataclasses.replace(SKILL, teach=chatty, judge=judge_any)
