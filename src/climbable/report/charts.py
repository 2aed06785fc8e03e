"""The report's drawings: inline SVG by matplotlib, in colours that the page's style sheet sets for light and dark."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from climbable.core.errors import Unavailable
from climbable.core.group import signal
from climbable.report.load import Row, RunData
from climbable.report.signal import climbs
from climbable.report.tables import evaluated

COLOURS = {"#111111": "currentColor", "#222222": "var(--muted)", "#333333": "var(--rule)"} | {
    "#440000": "var(--accent)",
    "#550000": "var(--second)",
    "#660000": "var(--third)",
}
"""What is drawn in a key's colour is shown in its value: a page has two themes, an SVG file would have one."""

INK, MUTED, RULE, ACCENT, SECOND, THIRD = COLOURS


Marks = Sequence[tuple[int, str]]
"""Steps with what is written there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing with its caption."""

    title: str
    note: str
    svg: str
    legend: tuple[tuple[str, str], ...] = ()
    """Labels, each with the name of the style sheet's colour that it explains."""


def curves(run: RunData, ceiling: float) -> list[Chart]:
    """What changed along the GRPO steps; a curve without data is left out."""
    steps = _by_step([row for row in run.rollouts if row.get("stage") == "train" and isinstance(row.get("step"), int)])
    warm = [
        (row["step"], row["loss"])
        for row in run.metrics
        if row.get("stage") == "warmup" and _is_number(row.get("loss"))
    ]
    metrics = {
        row["step"]: row
        for row in run.metrics
        if row.get("stage", "train") == "train" and isinstance(row.get("step"), int)
    }
    x = sorted(steps)
    marks = [(climb.step, climb.rung) for climb in climbs(run)]
    charts = []
    if len(x) > 1:
        rewards = [[r for r in _rewards(steps[step]) if r is not None] for step in x]
        means = [sum(each) / len(each) if each else None for each in rewards]
        failed = [sum(row["score"].get("outcome") == "failed" for row in steps[step]) / len(steps[step]) for step in x]
        counted = [signal(_groups(steps[step]), ceiling=ceiling) for step in x]
        groups = [max(1, each.groups - each.unmeasured) for each in counted]
        shares = [
            [getattr(each, kind) / n for each, n in zip(counted, groups, strict=True)]
            for kind in ("with_signal", "solved", "hopeless")
        ]
        charts = [
            _line("Reward", "mean of the samples of a step", x, means, marks=marks),
            _stack("Groups", "share of the groups of a step", x, shares, marks=marks),
            _line(
                "Failed samples",
                "share that crashed, ran out of time or gave no code",
                x,
                failed,
                least=0.0,
                marks=marks,
            ),
        ]
    drawn = [
        (
            "Gradient norm",
            "before clipping",
            marks,
            [(step, row.get("grad_norm")) for step, row in sorted(metrics.items())],
        ),
        (
            "Seconds a step",
            "sampling, verifying and learning",
            marks,
            [(step, _seconds(row)) for step, row in sorted(metrics.items())],
        ),
        ("Warm-up loss", "by supervised step, on the teacher's tokens", [], warm),
    ]
    for title, note, marked, points in drawn:
        there = [(step, float(value)) for step, value in points if _is_number(value)]
        if len(there) > 1:
            charts.append(
                _line(title, note, [step for step, _ in there], [value for _, value in there], least=0.0, marks=marked)
            )
    return charts


def before_after(run: RunData, names: Sequence[tuple[str, str, bool]]) -> Chart | None:
    """pass@1 with its interval for every evaluated policy; `names` are key, label and whether it is a sum."""
    policies = evaluated(run)
    if not policies or not names:
        return None
    figure, axes = _figure(7.2, 0.5 + 0.44 * len(names))
    colours = [THIRD, SECOND, ACCENT] if len(policies) > 2 else [THIRD, ACCENT]
    for row, (key, _, _) in enumerate(names):
        for place, (policy, _) in enumerate(policies):
            figures = _figures(run.evaluations[policy], key)
            if not figures or not figures["tasks"]:
                continue
            share, y = figures["pass_at_1"], row + 0.16 * (place - (len(policies) - 1) / 2)
            colour = colours[min(place, len(colours) - 1)]
            axes.plot(
                [100 * share["low"], 100 * share["high"]], [y, y], color=colour, linewidth=2, solid_capstyle="round"
            )
            axes.plot([100 * share["estimate"]], [y], "o", color=colour, markersize=6)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_yticks(range(len(names)), [label for _, label, _ in names])
    axes.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
    axes.grid(axis="x", color=RULE, linewidth=0.8)
    axes.spines[:].set_visible(False)
    names_of = {THIRD: "third", SECOND: "second", ACCENT: "accent"}
    legend = tuple((name, names_of[colours[min(i, len(colours) - 1)]]) for i, (_, name) in enumerate(policies))
    return Chart(
        title="First attempts solved", note="bars are 95 % intervals", svg=_svg(figure, "before"), legend=legend
    )


def _figures(evaluation: Row, key: str) -> Mapping[str, Any] | None:
    found = evaluation.get(key) if key in ("trained", "held_out") else evaluation.get("families", {}).get(key)
    return found if isinstance(found, dict) else None


def _seconds(row: Row) -> Any:
    seconds = row.get("seconds")
    return seconds.get("total") if isinstance(seconds, dict) else seconds


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _by_step(rows: Sequence[Row]) -> dict[int, list[Row]]:
    steps: dict[int, list[Row]] = {}
    for row in rows:
        if isinstance(row.get("score"), dict):
            steps.setdefault(row["step"], []).append(row)
    return steps


def _rewards(rows: Sequence[Row]) -> list[float | None]:
    return [row["score"].get("reward") for row in rows]


def _groups(rows: Sequence[Row]) -> list[list[float | None]]:
    tasks: dict[str, list[Row]] = {}
    for row in rows:
        tasks.setdefault(str(row.get("task")), []).append(row)
    return [_rewards(members) for members in tasks.values()]


def _line(
    title: str,
    note: str,
    x: Sequence[int],
    y: Sequence[float | None],
    *,
    least: float | None = None,
    marks: Marks = (),
) -> Chart:
    figure, axes = _figure(3.5, 1.9)
    values = [float("nan") if value is None else value for value in y]
    dots = "o" if len(x) <= 40 else ""
    axes.plot(x, values, marker=dots, markersize=2.5, color=ACCENT, linewidth=1.6)
    axes.set_ylim(bottom=least)
    _plain_axes(axes, x)
    _mark(axes, marks)
    return Chart(title=title, note=note, svg=_svg(figure, title))


def _stack(title: str, note: str, x: Sequence[int], shares: Sequence[Sequence[float]], *, marks: Marks = ()) -> Chart:
    figure, axes = _figure(3.5, 1.9)
    axes.stackplot(x, *shares, colors=[ACCENT, SECOND, THIRD], linewidth=0)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1], ["0", "50", "100 %"])
    _plain_axes(axes, x)
    _mark(axes, marks)
    legend = (("rewards differ", "accent"), ("all solved", "second"), ("all alike, not solved", "third"))
    return Chart(title=title, note=note, svg=_svg(figure, title), legend=legend)


def _mark(axes: Any, marks: Marks) -> None:
    """A line, with the rung's name, where the ladder was climbed."""
    for step, rung in marks:
        axes.axvline(step, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.annotate(
            rung,
            (step, 1),
            xycoords=("data", "axes fraction"),
            xytext=(2, -2),
            textcoords="offset points",
            fontsize=7.5,
            color=INK,
            va="top",
        )


def _plain_axes(axes: Any, x: Sequence[int]) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(min(x), max(x))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.grid(axis="y", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(RULE)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure without pyplot, which would keep state for the whole process."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Unavailable("the report needs matplotlib: pip install 'climbable[report]'") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.subplots()
    axes.patch.set_alpha(0)
    axes.tick_params(colors=MUTED, labelsize=8.5, length=0)
    return figure, axes


def _svg(figure: Any, salt: str) -> str:
    """The figure as an SVG element: text stays text, ids are its own, colours are the page's."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font: ([^;\"]*?)(\d[\d.]*px)[^;\"]*", r"font-size: \2", svg)
    # Ids of two drawings on one page must not meet.
    prefix = re.sub(r"[^a-z]", "", salt.lower())
    svg = re.sub(r'(\sid="|xlink:href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    for drawn, shown in COLOURS.items():
        svg = svg.replace(drawn, shown)
    return svg
