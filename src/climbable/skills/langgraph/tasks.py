"""Tasks of the skill `langgraph`: command, flags and values are drawn first, the label is made of them, the sentence last.

So a label cannot be wrong, and every value of it stands in the sentence. The command line is that of `langgraph-cli`:
``new PATH --template T``, ``dev``, ``up``, ``build -t TAG``, ``dockerfile PATH``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from climbable.core.types import Task
from climbable.skills.drawing import draw_in_split
from climbable.skills.langgraph.checks import KEYS
from climbable.skills.langgraph.wording import say

Label = dict[str, Any]

TEMPLATES = ("react-agent", "memory-agent", "retrieval-agent", "data-enrichment-agent", "new-langgraph-project")
_NAMES = (
    "agent",
    "bot",
    "helper",
    "planner",
    "router",
    "search",
    "support",
    "billing",
    "crawler",
    "tutor",
    "notes",
    "triage",
)
_KINDS = ("my", "demo", "team", "sales", "night", "lab", "pilot", "quick", "blue", "north")
_FOLDERS = ("", "./", "apps/", "services/", "./agents/", "projects/")


def make_task(family: str, split: str, index: int) -> Task:
    """The task at (family, split, index): the same on every machine."""
    label, draw = draw_in_split(
        "langgraph", family, split, index, lambda draw: dict.fromkeys(KEYS) | {"command": family} | _DRAW[family](draw)
    )
    return Task(
        id=f"langgraph/{family}/{split}/{index}",
        skill="langgraph",
        family=family,
        split=split,
        index=index,
        prompt=say(label, draw),
        spec={"expected": label},
    )


def subkind(task: Task) -> str:
    """The command with the flags that are asked: ``dev/port+no_browser``."""
    expected = task.spec["expected"]
    asked = [key for key in KEYS[1:] if expected[key] is not None]
    return f"{task.family}/{'+'.join(asked) or 'bare'}"


def _name(draw: random.Random) -> str:
    return f"{draw.choice(_KINDS)}-{draw.choice(_NAMES)}"


def _new(draw: random.Random) -> Label:
    return {"template": draw.choice(TEMPLATES), "path": draw.choice(_FOLDERS) + _name(draw)}


def _serve(usual: int, flag: str) -> Callable[[random.Random], Label]:
    def label(draw: random.Random) -> Label:
        port = draw.choice((usual, draw.randint(3000, 9999))) if draw.random() < 0.7 else None
        return {"port": port, flag: True if draw.random() < 0.5 else None}

    return label


def _build(draw: random.Random) -> Label:
    version = draw.choice(("latest", "dev", f"v{draw.randint(1, 9)}", f"{draw.randint(0, 4)}.{draw.randint(0, 20)}"))
    return {"tag": f"{_name(draw)}:{version}"}


def _dockerfile(draw: random.Random) -> Label:
    return {
        "output_path": draw.choice(_FOLDERS)
        + draw.choice(("Dockerfile", "Dockerfile.dev", f"{_name(draw)}.dockerfile"))
    }


_DRAW: dict[str, Callable[[random.Random], Label]] = {
    "new": _new,
    "dev": _serve(2024, "no_browser"),
    "up": _serve(8123, "watch"),
    "build": _build,
    "dockerfile": _dockerfile,
}
