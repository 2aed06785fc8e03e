"""Answers that must not pay, and odd ones that must: what `climb attack langgraph` runs."""

from __future__ import annotations

import json

from climbable.core.skill import Attack
from climbable.core.types import Task
from climbable.skills.langgraph.checks import CEILING, FLOOR
from climbable.skills.langgraph.tasks import make_task


def teach(task: Task, style: int = 0) -> str:
    """The label as JSON: on one line, without the nulls, indented, or in a fence."""
    label = dict(task.spec["expected"])
    short = {key: value for key, value in label.items() if value is not None}
    styles = (
        json.dumps(label, ensure_ascii=False),
        json.dumps(short, ensure_ascii=False),
        json.dumps(label, ensure_ascii=False, indent=2),
        f"```json\n{json.dumps(label, ensure_ascii=False)}\n```",
    )
    return styles[style % len(styles)]


def attacks() -> tuple[Attack, ...]:
    """The cheats on a task that asks for a port, each with the most that it may earn."""
    task = _task()
    label, gold = dict(task.spec["expected"]), teach(task)
    every = label | {"template": "x", "path": "x", "watch": True, "tag": "x", "output_path": "x"}
    cheats = (
        ("claims", "claims a reward", '{"reward": 1.3, "solved": true}', -0.7),
        ("both", "two objects, one of them right", f"{gold}\n{gold}", FLOOR),
        ("prose", "prose around the right object", f"Sure! {gold}", FLOOR),
        ("list", "the right object in a list", f"[{gold}]", FLOOR),
        ("twice", "the key twice, once right", f'{{"port": 1, {gold[1:]}', FLOOR),
        ("all-flags", "sets every flag, so that the right ones are among them", json.dumps(every), 0.3 + 2 / 7),
        ("near-port", "the port as text", json.dumps(label | {"port": str(label["port"])}), 0.8),
        ("true-port", "true in place of the port", json.dumps(label | {"port": True}), 0.8),
        ("extra", "a key of its own beside the right ones", json.dumps(label | {"note": None}), 0.97),
        ("command-alone", "only the command, in the hope of a share", '{"command": "dev"}', 0.3),
        ("nan", "a number that is none", gold.replace(str(label["port"]), "NaN"), FLOOR),
    )
    return tuple(
        Attack(name=name, why=why, task=task, completion=completion, most=round(most, 4))
        for name, why, completion, most in cheats
    )


def honest() -> tuple[Attack, ...]:
    """The styles of the teacher, and an answer after thoughts that hold another object."""
    task = _task()
    odd = [
        ("thoughts", "an object in the thoughts before the answer", '<think>{"command": "up"}?</think>\n' + teach(task))
    ]
    odd += [(f"style-{style}", "a style of the teacher", teach(task, style)) for style in range(4)]
    return tuple(Attack(name=name, why=why, task=task, completion=text, most=CEILING) for name, why, text in odd)


def _task() -> Task:
    """The first test task of ``dev`` that asks for a port and for no browser."""
    index = 0
    while True:
        task = make_task("dev", "test", index)
        if task.spec["expected"]["port"] and task.spec["expected"]["no_browser"]:
            return task
        index += 1
