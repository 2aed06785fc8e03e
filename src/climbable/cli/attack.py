"""``climb attack``: does cheating pay, and does honest work?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from climbable.cli import options, output
from climbable.core.errors import UserError
from climbable.core.skill import Attack, Skill
from climbable.core.types import Outcome, Score


@click.command()
@options.skill
@options.sandbox
@options.as_json
def command(
    skill: str, blender: str | None, container: str | None, workers: int, memory: int, timeout: float, as_json: bool
) -> int:
    """Try a skill's cheats and its honest controls on the verifier.

    A skill of your own is named by package.module:ATTRIBUTE; the module may lie in the working folder.
    Exit status 1: a cheat earned more than it may, or an honest oddity less than all; 3: one was not measured.

    \b
    Examples:
      climb attack scene
      climb attack dates_skill:SKILL
    """
    from climbable.skills import load_skill
    from climbable.verify import Verifier

    known = load_skill(skill)
    attacks = listed(known)
    with Verifier(
        known, workers=workers, wall_s=timeout, memory_mib=memory, interpreter=blender, runner=container or "local"
    ) as verifier:
        scores = verifier.verify_many([(attack.task, attack.completion) for attack, _ in attacks])
    rows = [
        {
            "name": attack.name,
            "kind": "honest" if honest else "cheat",
            "why": attack.why,
            "outcome": score.outcome.value,
            "reason": score.reason.value if score.reason else None,
            "detail": score.detail,
            "reward": score.reward,
            "due": attack.most,
            "right": right(attack, score, honest=honest),
        }
        for (attack, honest), score in zip(attacks, scores, strict=True)
    ]
    unmeasured = sum(score.outcome is Outcome.UNMEASURED for score in scores)
    wrong = sum(row["right"] is False for row in rows)
    if as_json:
        output.emit({"skill": known.name, "wrong": wrong, "unmeasured": unmeasured, "attacks": rows})
    else:
        _show(rows, wrong, unmeasured)
    return 1 if wrong else 3 if unmeasured else 0


def listed(skill: Skill) -> list[tuple[Attack, bool]]:
    """The skill's cheats and honest controls (marked ``True``); a `UserError` where a skill has none or makes them wrongly."""
    found: list[tuple[Attack, bool]] = []
    for make, name, honest in ((skill.attacks, "attacks", False), (skill.honest, "honest", True)):
        try:
            made = tuple(make())
        except Exception as error:
            raise UserError(
                f"skill {skill.name!r}: its {name!r} raised {type(error).__name__}: {error}; "
                f"`python -c 'from MODULE import SKILL; SKILL.{name}()'` shows where"
            ) from error
        for attack in made:
            if not isinstance(attack, Attack):
                raise UserError(
                    f"skill {skill.name!r}: its {name!r} gave {type(attack).__name__}, not climbable.core.skill.Attack"
                )
        if not made:
            raise UserError(
                f"skill {skill.name!r}: its {name!r} gave nothing, and what was not tried says nothing about the verifier; "
                "docs/adding-a-skill.md shows how to write some"
            )
        found += [(attack, honest) for attack in made]
    return found


def right(attack: Attack, score: Score, *, honest: bool) -> bool | None:
    """Whether the verifier paid what it should; ``None`` where it could not measure."""
    if score.reward is None:
        return None
    return score.reward >= attack.most - 1e-6 if honest else score.reward <= attack.most + 1e-6


def _show(rows: Sequence[Mapping[str, object]], wrong: int, unmeasured: int) -> None:
    grid = output.table("", "kind", "name", ">reward", ">due", "outcome", "what it tries")
    for row in rows:
        mark = "?" if row["right"] is None else "✓" if row["right"] else "✗"
        due = output.short(row["due"]) if row["kind"] == "honest" else f"≤ {output.short(row['due'])}"
        outcome = output.plain(row["reason"] or row["outcome"])
        grid.add_row(
            mark, str(row["kind"]), str(row["name"]), output.short(row["reward"]), due, outcome, str(row["why"])
        )
    screen = output.console()
    screen.print(grid)
    cheats = sum(row["kind"] == "cheat" for row in rows)
    text = f"{cheats} cheats and {len(rows) - cheats} honest controls: "
    text += "none pays, and honest work is paid in full" if not wrong else f"{wrong} paid wrongly (✗)"
    screen.print(text + (f"; {unmeasured} not measured (?), see `climb doctor`" if unmeasured else ""))
