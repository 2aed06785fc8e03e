"""What happened in a run, in sentences: the headline, and the verdicts of gate and pilot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from climbable.report.load import RunData

ORDER = ("base", "warmup", "trained")
"""The evaluated policies, from the first to the last."""

NAMES = {"base": "untrained", "warmup": "warmed up", "trained": "trained"}

STAGES = {
    "gate.untrained": "Gate, untrained",
    "eval.base": "Evaluation, untrained",
    "warmup": "Warm-up",
    "gate": "Gate, warmed up",
    "eval.warmup": "Evaluation, warmed up",
    "pilot": "Pilot",
    "train": "GRPO",
    "eval.trained": "Evaluation, trained",
}
"""The stages of a whole run in order, as people call them."""


def percent(share: float) -> str:
    """``34.4 %``; whole numbers where a decimal would say nothing."""
    value = 100 * share
    return f"{value:.0f} %" if value in (0, 100) else f"{value:.1f} %"


def interval(figure: Mapping[str, Any]) -> str:
    """``[21.0, 50.2] %``."""
    return f"[{100 * figure['low']:.1f}, {100 * figure['high']:.1f}] %"


def duration(seconds: float) -> str:
    """``4.2 s``, ``48 s``, ``12 min``, ``3 h 31 min``."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def p_value(p: float) -> str:
    """``p = 0.03``, ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def headline(run: RunData) -> str:
    """One sentence with the figures that matter most, or with how far the run has come."""
    before, after = run.evaluations.get("base"), run.evaluations.get("trained")
    if before and after:
        return _change(run, before, after)
    if run.gate and run.gate.get("answer") != "go":
        return f"The gate is closed, so nothing was trained: {'; '.join(run.gate.get('reasons', ()))}."
    done = [STAGES[row["stage"]] for row in run.costs if row.get("finished") and row.get("stage") in STAGES]
    so_far = f"Finished so far: {', '.join(done)}." if done else "No stage has finished yet."
    if before and before["trained"]["tasks"]:
        so_far += f" Untrained, {_first_try(before['trained'])} on trained families."
    return f"This run is not finished. {so_far}"


def _change(run: RunData, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    changes = []
    for key, where in (("trained", "trained"), ("held_out", "held-out")):
        old, new = before[key]["pass_at_1"], after[key]["pass_at_1"]
        if not after[key]["tasks"]:
            continue
        test = ((run.comparison or {}).get("parts") or {}).get(key)
        tail = f", {p_value(test['p_value'])}" if test else ""
        came = f"went from {percent(old['estimate'])} to" if old["estimate"] != new["estimate"] else "stayed at"
        changes.append(
            f"{came} {percent(new['estimate'])} on {where} families ({interval(new)}, n = {new['n']} tasks{tail})"
        )
    return f"First attempts that solve a test task {' and '.join(changes)}."


def _first_try(figures: Mapping[str, Any]) -> str:
    share = figures["pass_at_1"]
    return f"{percent(share['estimate'])} {interval(share)} of first attempts are solved (n = {share['n']} tasks)"


def gate_sentence(gate: Mapping[str, Any]) -> str:
    """The verdict of a gate with its figures."""
    reward, signal = gate["reward"], gate["signal"]
    return (
        f"Mean reward {reward['estimate']:.3f} [{reward['low']:.3f}, {reward['high']:.3f}] over {reward['n']} tasks; "
        f"{signal['with_signal']} of {signal['groups']} groups have rewards that differ{_source(gate)}, {signal['solved']} are all "
        f"solved, {signal['hopeless']} alike without being solved; {percent(gate['solved']['estimate'])} of the "
        f"samples are solved, {percent(gate['failed']['estimate'])} failed, {gate['unmeasured']} could not be measured."
    )


def _source(gate: Mapping[str, Any]) -> str:
    """Where the spread comes from; older runs don't say."""
    only = gate.get("crash_only")
    return f" ({percent(1 - only)} of them between graded answers)" if only and gate["signal"]["with_signal"] else ""


def pilot_facts(pilot: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The figures in ``pilot.json``, whichever it has, as name and value."""
    facts = []
    for key, value in pilot.items():
        if isinstance(value, bool):
            facts.append((_spaced(key), "yes" if value else "no"))
        elif isinstance(value, int | float):
            facts.append((_spaced(key), f"{value:.4g}"))
        elif isinstance(value, list) and value and all(isinstance(item, int | float) for item in value):
            facts.append((_spaced(key), ", ".join(f"{item:.3g}" for item in value)))
    return facts


def _spaced(key: str) -> str:
    return key.replace("_", " ")
