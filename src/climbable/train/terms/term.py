"""One term of an objective, and how a list of them is said and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from climbable.core import records
from climbable.core.progress import Progress
from climbable.core.run import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A term is active if leaving it out could change an update."""

    name: str
    active: bool
    equation: str
    """In Unicode; the letters are explained in ``docs/learning.md``."""
    value: str
    why: str
    """Why it acts, or why it does not."""


def announce(run: RunFolder, stage: str, terms: Sequence[Term], progress: Progress) -> None:
    """Says which terms a stage's objective has, and keeps all of them in ``terms.json`` under `stage`."""
    kept: dict[str, Any] = records.read_json(run.terms) or {}
    records.write_json(run.terms, kept | {stage: [asdict(term) for term in terms]})
    for line in lines(stage, terms):
        progress.say(line)


def lines(stage: str, terms: Sequence[Term]) -> list[str]:
    """A line for each active term, and one for all others."""
    active = [term for term in terms if term.active]
    width = max((len(term.name) for term in active), default=0)
    shown = [f"  {term.name:{width}}  {term.equation}  ({term.value})" for term in active]
    off = ", ".join(f"{term.name} ({term.value})" for term in terms if not term.active)
    return [f"terms of the {stage} objective; `climb terms RECIPE` says why:", *shown, f"  without effect: {off}"]
