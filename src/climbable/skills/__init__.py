"""The skills that come along, and those that others publish under the entry-point group ``climbable.skills``."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from pathlib import Path

from climbable.core.errors import UserError, nearest
from climbable.core.skill import Skill

GROUP = "climbable.skills"
_OWN = {"langgraph": "climbable.skills.langgraph:SKILL", "scene": "climbable.skills.scene:SKILL"}


def skill_names() -> tuple[str, ...]:
    """The names that `load_skill` knows, without loading any."""
    return tuple(sorted({*_OWN, *(entry.name for entry in importlib.metadata.entry_points(group=GROUP))}))


def load_skill(name: str) -> Skill:
    """The skill called `name`, or the value at ``package.module:ATTRIBUTE`` for one that is not published yet.

    The module may lie in the working folder: an installed command doesn't look there by itself, as ``python -m`` does.
    """
    if ":" in name:
        if (here := str(Path.cwd())) not in sys.path:
            sys.path.insert(0, here)
        return _load(name, name)
    if name in _OWN:
        return _load(_OWN[name], name)
    for entry in importlib.metadata.entry_points(group=GROUP):
        if entry.name == name:
            return _load(entry.value, name)
    raise UserError(
        f"there is no skill {name!r}: {nearest(name, skill_names())} (`climb skills`), or package.module:ATTRIBUTE for your own"
    )


def _load(reference: str, name: str) -> Skill:
    module_name, _, attribute = reference.partition(":")
    try:
        skill = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"skill {name!r} cannot be loaded from {reference!r}: {error}") from error
    if not isinstance(skill, Skill):
        raise UserError(f"{reference!r} is a {type(skill).__name__}; a skill is a climbable.core.skill.Skill")
    return skill
