"""A score for people: outcome, reward and its parts, and every check with what was expected and measured."""

from __future__ import annotations

from climbable.cli import output
from climbable.core.types import Outcome, Score, Task


def print_score(task: Task, score: Score) -> None:
    """Prints the card on stdout."""
    from rich.text import Text

    screen = output.console()
    screen.print(Text(task.id, style="bold"), Text(output.plain(task.prompt), style="dim"), sep="\n")
    screen.print()
    if score.checks:
        grid = output.table("", "check", ">expected", ">measured", ">tolerance")
        for check in score.checks:
            mark = Text("✓", style="green") if check.passed else Text("✗", style="red bold")
            within = "" if check.tolerance is None else f"± {check.tolerance:g} {check.unit or ''}".rstrip()
            grid.add_row(
                mark, output.plain(check.name), output.short(check.expected), output.short(check.measured), within
            )
        screen.print(grid)
    screen.print(Text(headline(score), style=_style(score)))
    for name, value in score.extras.items():
        screen.print(f"{name}: {output.short(value)}")


def headline(score: Score) -> str:
    """The score in one line, such as ``0.5286 = 0.1 ran + 0.4286 checks: 6 of 7 checks passed``."""
    if score.outcome is Outcome.UNMEASURED:
        return output.plain(f"unmeasured, which is our fault: {score.detail}; `climb doctor` says what is missing")
    if score.outcome is Outcome.FAILED:
        return output.plain(f"reward {score.reward:g}: failed, {score.reason}: {score.detail}")
    parts = " + ".join(f"{value:g} {name}" for name, value in score.parts.items() if value)
    passed = sum(check.passed for check in score.checks)
    verdict = "solved" if score.solved else f"{passed} of {len(score.checks)} checks passed"
    if not score.solved and passed == len(score.checks):
        verdict += ", yet not solved: something else stands in the way"
    return f"reward {score.reward:g} = {parts or 0}: {verdict}"


def _style(score: Score) -> str:
    if score.outcome is Outcome.UNMEASURED:
        return "yellow"
    return "green bold" if score.solved else "bold" if score.outcome is Outcome.SCORED else "red bold"
