"""The report's tables, as rows of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from climbable.report.load import RunData
from climbable.report.words import NAMES, ORDER, STAGES, duration, interval, p_value, percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A figure, with its interval under it."""

    figure: str
    under: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A line of the table before and after: a family, or all trained or held-out ones together."""

    name: str
    kind: str
    whole: bool
    tasks: int
    cells: tuple[Cell | None, ...]
    """One for each evaluated policy."""
    change: Cell | None


def evaluated(run: RunData) -> list[tuple[str, str]]:
    """The policies that were evaluated, first to last: key and what people call it."""
    others = sorted(set(run.evaluations) - set(ORDER))
    return [(key, NAMES.get(key, key)) for key in (*ORDER, *others) if key in run.evaluations]


def comparisons(run: RunData, held_out: tuple[str, ...]) -> list[Comparison]:
    """pass@1 by family for every evaluated policy, with the paired change from the untrained to the trained one."""
    names = [key for key, _ in evaluated(run)]
    if not names:
        return []
    families = list(dict.fromkeys(family for name in names for family in run.evaluations[name].get("families", {})))
    rows = []
    for whole, kind in (("trained", "trained"), ("held_out", "held out")):
        members = [family for family in families if (family in held_out) == (whole == "held_out")]
        if not members:
            continue
        for member in members:
            figures = [run.evaluations[name].get("families", {}).get(member) for name in names]
            rows.append(_comparison(run, member, kind, figures, test=member, whole=False))
        if len(members) > 1:
            figures = [run.evaluations[name].get(whole) for name in names]
            rows.append(_comparison(run, f"all {kind}", kind, figures, test=whole, whole=True))
    return rows


def _comparison(
    run: RunData, name: str, kind: str, figures: list[Mapping[str, Any] | None], *, test: str, whole: bool
) -> Comparison:
    found = ((run.comparison or {}).get("parts") or {}).get(test)
    change = None
    if found:
        difference = found["difference"]
        change = Cell(
            figure=f"{100 * difference['estimate']:+.1f} points",
            under=f"{p_value(found['p_value'])}; {found['better']} up, {found['worse']} down, {found['same']} same",
        )
    return Comparison(
        name=name,
        kind=kind,
        whole=whole,
        tasks=max((each["tasks"] for each in figures if each), default=0),
        cells=tuple(
            Cell(figure=percent(each["pass_at_1"]["estimate"]), under=interval(each["pass_at_1"])) if each else None
            for each in figures
        ),
        change=change,
    )


ENOUGH = 24
"""With fewer samples of a sub-kind its share says too little to call it lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A line of the table by sub-kind: a figure for each evaluated policy, and whether training lost what there was."""

    name: str
    tasks: int
    cells: tuple[str, ...]
    lost: bool


def kinds(run: RunData) -> list[Kind]:
    """pass@1 by sub-kind; nothing where the families have none of their own.

    A kind is lost if some answers solved it before and its share has halved at least: the mode that GRPO froze in is
    wrong there, and nothing that it samples can tell it so.
    """
    names = [key for key, _ in evaluated(run)]
    found = list(dict.fromkeys(kind for name in names for kind in run.evaluations[name].get("subkinds", {})))
    if all("/" not in kind for kind in found):
        return []
    rows = []
    for kind in found:
        figures = [run.evaluations[name].get("subkinds", {}).get(kind) for name in names]
        shares = [each["pass_at_1"]["estimate"] for each in figures if each and each["samples"] >= ENOUGH]
        rows.append(
            Kind(
                name=kind,
                tasks=max((each["tasks"] for each in figures if each), default=0),
                cells=tuple(percent(each["pass_at_1"]["estimate"]) if each else "–" for each in figures),
                lost=len(shares) > 1 and shares[-1] <= max(shares[:-1]) / 2 and max(shares[:-1]) > 0,
            )
        )
    return rows


def beside(run: RunData) -> list[tuple[str, list[str]]]:
    """Further figures over all test tasks: what, and a value for each evaluated policy."""
    rows: list[tuple[str, list[str]]] = []
    for part, where in (("trained", "trained families"), ("held_out", "held-out families")):
        figures = [run.evaluations[name].get(part) for name, _ in evaluated(run)]
        asked = [each if each and each["tasks"] else None for each in figures]
        lines = [_further(each) for each in asked if each]
        for name in dict.fromkeys(name for line in lines for name in line):
            rows.append((f"{name}, {where}", [_further(each).get(name, "–") if each else "–" for each in asked]))
    return rows


def _further(figures: Mapping[str, Any]) -> dict[str, str]:
    shown = {
        "Mean reward": f"{figures['reward']['estimate']:.3f}",
        "Samples that failed": percent(figures["crashed"]["estimate"]),
    }
    shown |= {f"pass@{k}": percent(share) for k, share in list(figures["pass_at"].items())[-1:] if k != "1"}
    if figures["unmeasured"]:
        shown["Unmeasured samples"] = str(figures["unmeasured"])
    return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often something went wrong, before and after; `share` is of the largest count in its table."""

    name: str
    before: int
    after: int
    before_share: float
    after_share: float


def counts(run: RunData, key: str, most: int = 8) -> list[Count]:
    """``failed_checks`` or ``failures`` of the first and the last evaluated policy, the most frequent first."""
    names = [name for name, _ in evaluated(run)]
    if not names:
        return []
    before, after = (_summed(run.evaluations[name], key) for name in (names[0], names[-1]))
    top = max([*before.values(), *after.values()], default=0)
    frequent = sorted({*before, *after}, key=lambda name: (-max(before[name], after[name]), name))
    return [
        Count(
            name=name,
            before=before[name],
            after=after[name],
            before_share=before[name] / top,
            after_share=after[name] / top,
        )
        for name in frequent[:most]
    ]


def _summed(evaluation: Mapping[str, Any], key: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in ("trained", "held_out"):
        total.update(evaluation.get(part, {}).get(key, {}))
    return total


def costs(run: RunData) -> tuple[list[list[str]], list[str] | None]:
    """What each stage cost, and the sum; attempts of one stage are added up."""
    stages = list(dict.fromkeys(str(row.get("stage")) for row in run.costs))
    stages.sort(key=lambda stage: list(STAGES).index(stage) if stage in STAGES else len(STAGES))
    rows, total = [], Counter[str]()
    for stage in stages:
        attempts = [row for row in run.costs if row.get("stage") == stage]
        sums = {
            key: sum(row.get(key) or 0 for row in attempts)
            for key in ("seconds", "gpu_seconds", "samples", "tokens", "money")
        }
        total.update(sums)
        ended = any(row.get("finished") for row in attempts)
        rows.append([STAGES.get(stage, stage) + ("" if ended else " (interrupted)"), *_cost_cells(sums, run)])
    return rows, ["All", *_cost_cells(total, run)] if len(rows) > 1 else None


def _cost_cells(sums: Mapping[str, float], run: RunData) -> list[str]:
    money = f"{sums['money']:.2f} {run.costs[0].get('currency', '')}" if sums["money"] else "–"
    rate = f"{sums['tokens'] / sums['seconds']:,.0f}".replace(",", " ") if sums["tokens"] and sums["seconds"] else "–"
    return [
        duration(sums["seconds"]),
        duration(sums["gpu_seconds"]) if sums["gpu_seconds"] else "–",
        _grouped(sums["samples"]),
        _grouped(sums["tokens"]),
        rate,
        money,
    ]


def _grouped(number: float) -> str:
    return f"{number:,.0f}".replace(",", "\u202f") if number else "–"
