"""The page: what the run's data become in ``page.html.j2``. Every text is escaped; the page runs no script."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from climbable.core.errors import Unavailable, UserError
from climbable.core.plain import short
from climbable.core.skill import Skill
from climbable.report import charts, signal, tables, words
from climbable.report.load import RunData
from climbable.report.samples import pick, stage_of_samples
from climbable.skills import load_skill


def render(run: RunData) -> str:
    """The page's HTML."""
    try:
        from jinja2 import ChainableUndefined, Environment
        from markupsafe import Markup, escape
    except ImportError:
        raise Unavailable("the report needs jinja2: pip install 'climbable[report]'") from None

    environment = Environment(autoescape=True, undefined=ChainableUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": words.percent, "duration": words.duration, "value": short}
    environment.filters["prose"] = lambda text: Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
    template = environment.from_string(Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8"))
    skill = _skill(run)
    held_out = skill.held_out_families() if skill else ()
    rows = tables.comparisons(run, held_out)
    overview = charts.before_after(run, [(_key(row), row.name, row.whole) for row in rows])
    cost_rows, cost_total = tables.costs(run)
    return template.render(
        run=run,
        style=Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8")),
        headline=words.headline(run),
        status=_status(run),
        facts=_facts(run, skill),
        forced=any(row.get("forced") and row.get("finished") for row in run.costs),
        policies=tables.evaluated(run),
        rows=rows,
        beside=tables.beside(run),
        kinds=tables.kinds(run),
        overview=_drawn(overview, Markup) if overview else None,
        curves=[_drawn(chart, Markup) for chart in charts.curves(run, skill.ceiling if skill else 1.0)],
        standings=signal.standings(run),
        signal_sentences=signal.sentences(run),
        climbs=signal.climbs(run),
        gates=_gates(run),
        gate_sentence=words.gate_sentence,
        pilot_facts=words.pilot_facts(run.pilot or {}),
        terms=[(words.STAGES[stage], run.terms[stage]) for stage in ("warmup", "train") if stage in run.terms],
        failed_checks=tables.counts(run, "failed_checks"),
        failures=tables.counts(run, "failures"),
        samples=pick(run, skill),
        samples_from=words.STAGES.get(stage_of_samples(run) or "", "").lower(),
        costs=cost_rows,
        cost_total=cost_total,
        commands=_commands(run),
    )


def _skill(run: RunData) -> Skill | None:
    try:
        return load_skill(str(run.recipe["skill"]))
    except (KeyError, UserError):
        return None  # a run by somebody else's skill: prompts and held-out families are not known here


def _key(row: tables.Comparison) -> str:
    return {"all trained": "trained", "all held out": "held_out"}.get(row.name, row.name) if row.whole else row.name


def _drawn(chart: charts.Chart, markup: Any) -> dict[str, Any]:
    return {"title": chart.title, "note": chart.note, "svg": markup(chart.svg), "legend": chart.legend}


def _gates(run: RunData) -> list[tuple[str, Any]]:
    """The gate's verdicts that differ, in order."""
    gates = [("The untrained model", run.untrained_gate)] if run.untrained_gate else []
    if run.gate and run.gate != run.untrained_gate:
        gates.append(("The warmed-up model" if gates else "The model", run.gate))
    return gates


def _status(run: RunData) -> tuple[str, str]:
    """A word for the run's state, and the class that colours it."""
    if run.finished:
        return "finished", "good"
    if run.gate and run.gate.get("answer") == "no-go":
        return "stopped by the gate", "bad"
    return "not finished", "open"


def _facts(run: RunData, skill: Skill | None) -> list[tuple[str, str]]:
    """The line under the headline."""
    model, machine = run.recipe.get("model") or {}, run.environment.get("machine") or {}
    gpus = machine.get("gpus") or []
    facts = [
        ("skill", f"{skill.name}: {skill.summary}" if skill else str(run.recipe.get("skill", "unknown"))),
        ("model", f"{model.get('name', 'unknown')}, {model.get('method', '')}".rstrip(", ")),
        ("machine", ", ".join(gpus) if gpus else f"{machine.get('cores', '?')} cores, no GPU"),
        ("began", str(run.environment.get("began", "unknown")).replace("T", " ").replace("+00:00", " UTC")),
    ]
    if total := sum(row.get("seconds") or 0 for row in run.costs):
        facts.append(("took", words.duration(total)))
    return facts


def _commands(run: RunData) -> list[str]:
    """What to type to do it again."""
    folder = shlex.quote(str(run.path))
    again = shlex.quote(f"{run.name}.toml")
    lines = [f"cp {folder}/recipe.toml {again}", f"climb run {again} --run runs/again"]
    return lines if run.finished else [f"climb run {folder}/recipe.toml --run {folder} --resume", *lines]
