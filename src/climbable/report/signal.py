"""Where the signal is, how long it will last and what to do: from the lines of ``metrics.jsonl``, in tables and words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from climbable.core.exhaustion import Exhaustion, exhaustion
from climbable.report.load import RunData
from climbable.report.words import duration, percent

LATEST = 8
"""The table is of the latest quarter of the steps, and of so many at least."""

ENOUGH = 8
"""With fewer groups of a sub-kind it is called neither solved nor hopeless."""

BAR = 0.1
"""Below this share of groups with signal nine tenths of the samples are spent on nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A line of the table: a family, or one of its sub-kinds, in the latest steps. Shares are of measured groups."""

    name: str
    whole: bool
    groups: int
    signal: float
    solved: float
    hopeless: float
    unmeasured: int

    @property
    def word(self) -> str:
        """``solved`` or ``hopeless`` where more than half of enough groups are; else empty."""
        if self.groups - self.unmeasured < ENOUGH:
            return ""
        return "solved" if self.solved > 0.5 else "hopeless" if self.hopeless > 0.5 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Climbed:
    """A line of the ladder's table, and a mark in the curves."""

    step: int
    rung: str
    solved: str
    figures: str


def steps(run: RunData) -> list[Mapping[str, Any]]:
    """The training steps that say where their signal is, in order."""
    rows = [row for row in run.metrics if row.get("stage") == "train" and isinstance(row.get("step"), int)]
    return sorted((row for row in rows if isinstance(row.get("kinds"), dict)), key=lambda row: row["step"])


def standings(run: RunData) -> list[Standing]:
    """Families, each followed by its sub-kinds where it has some, over the latest steps."""
    rows = steps(run)
    latest = rows[-max(LATEST, len(rows) // 4) :]
    total: dict[str, dict[str, list[int]]] = {}
    for row in latest:
        for family, kinds in row["kinds"].items():
            for kind, counts in kinds.items():
                sums = total.setdefault(family, {}).setdefault(kind, [0, 0, 0, 0])
                sums[:] = [old + new for old, new in zip(sums, counts, strict=True)]
    lines = []
    for family, kinds in total.items():
        lines.append(_standing(family, True, [sum(column) for column in zip(*kinds.values(), strict=True)]))
        if list(kinds) != [family]:
            lines += [_standing(kind, False, counts) for kind, counts in sorted(kinds.items())]
    return lines


def climbs(run: RunData) -> list[Climbed]:
    """When the ladder was climbed."""
    return [
        Climbed(
            step=row["step"],
            rung=climb["rung"],
            solved=climb["solved"],
            figures=f"{percent(climb['pass_at_1'])} over {climb['groups']} groups",
        )
        for row in steps(run)
        if (climb := row.get("climb"))
    ]


def sentences(run: RunData) -> list[str]:
    """What the table, the fit and the replaced groups come to, and what to do."""
    rows, lines = steps(run), standings(run)
    if not rows:
        return []
    since = max((climb.step for climb in climbs(run)), default=0)
    counts = [(row["step"], row["signal"]["with_signal"], _measured(row)) for row in rows if row["step"] > since]
    found = exhaustion(counts, bar=BAR)
    said = [_outlook(found)] if found else []
    kinds = [line for line in lines if not line.whole] or lines
    for word in ("solved", "hopeless"):
        named = [f"{line.name} {percent(getattr(line, word))}" for line in kinds if line.word == word]
        if named:
            said.append(f"{word.capitalize()}: {', '.join(named)}.")
    return [*said, *_advice(found, kinds), *_resampled(rows)]


def _standing(name: str, whole: bool, counts: Sequence[int]) -> Standing:
    signal, solved, hopeless, unmeasured = counts
    measured = max(1, signal + solved + hopeless)
    return Standing(
        name=name,
        whole=whole,
        groups=sum(counts),
        signal=signal / measured,
        solved=solved / measured,
        hopeless=hopeless / measured,
        unmeasured=unmeasured,
    )


def _measured(row: Mapping[str, Any]) -> int:
    return int(row["signal"]["groups"]) - int(row["signal"]["unmeasured"])


def _outlook(found: Exhaustion) -> str:
    now = f"Signal share {found.share:.2f} now"
    if found.left == 0:
        return f"{now}, below {found.bar} already."
    if math.isinf(found.left):
        return f"{now}, and not falling over {found.steps} steps."
    high = f"{found.high:.0f}" if math.isfinite(found.high) else "no end"
    return f"{now}, below {found.bar} in about {found.left:.0f} steps ({found.low:.0f}–{high})."


def _advice(found: Exhaustion | None, kinds: Sequence[Standing]) -> list[str]:
    said = []
    hopeless = [line.name for line in kinds if line.word == "hopeless"]
    measured = sum(line.groups - line.unmeasured for line in kinds)
    solved = sum(line.solved * (line.groups - line.unmeasured) for line in kinds)
    if found and found.left == 0:
        said.append("Stop here, or change the tasks: further steps on these would learn next to nothing.")
    if measured >= ENOUGH and solved > measured / 2 + 1e-9:
        said.append("Most groups are solved: harder tasks are next (`rungs` in the recipe's [ladder]).")
    if hopeless:
        said.append(
            f"Hopeless groups may hold a right answer if they are larger (`train.group`), or after more warm-up rows: "
            f"{', '.join(hopeless)}."
        )
    return said


def _resampled(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    counted = [row for row in rows if row.get("resampled")]
    if not counted:
        return []
    groups, samples = (sum(row["resampled"][key] for row in counted) for key in ("groups", "samples"))
    seconds = sum(row["seconds"].get("resample", 0.0) for row in counted)
    share = samples / max(1, sum(row["samples"] for row in counted))
    return [
        f"Dynamic sampling replaced {groups} groups: {samples} samples ({percent(share)} of all) are in no update, "
        f"and it took {duration(seconds)} more."
    ]
