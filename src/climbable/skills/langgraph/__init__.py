"""Skill `langgraph`: a request in, one call of the LangGraph command line out, as a JSON object."""

from __future__ import annotations

from climbable.core.skill import Family, Skill
from climbable.skills.langgraph.answer import unwrap
from climbable.skills.langgraph.cheats import attacks, honest, teach
from climbable.skills.langgraph.checks import CEILING, FLOOR, judge
from climbable.skills.langgraph.tasks import make_task, subkind
from climbable.skills.langgraph.wording import SYSTEM

SKILL = Skill(
    name="langgraph",
    summary="turns a request into one call of the LangGraph command line",
    runtime="none",
    families=(
        Family(name="new", summary="a new project: template and path"),
        Family(name="dev", summary="the development server: port, browser"),
        Family(name="up", summary="the stack in Docker: port, watching"),
        Family(name="build", summary="an image: its tag"),
        Family(name="dockerfile", summary="a Dockerfile: where it goes"),
    ),
    system_prompt=SYSTEM,
    floor=FLOOR,
    ceiling=CEILING,
    make_task=make_task,
    teach=teach,
    read=unwrap,
    judge=judge,
    subkind=subkind,
    crash="I am not sure which command you mean.",
    attacks=attacks,
    honest=honest,
)
