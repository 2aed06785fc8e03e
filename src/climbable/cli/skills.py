"""``climb skills``: what can be taught."""

from __future__ import annotations

import click

from climbable.cli import options, output


@click.command()
@options.as_json
def command(as_json: bool) -> int:
    """The skills and their families.

    \b
    Example:
      climb skills
    """
    from climbable.skills import load_skill, skill_names

    skills = [load_skill(name) for name in skill_names()]
    if as_json:
        output.emit([skill.to_json() for skill in skills])
        return 0
    screen = output.console()
    for skill in skills:
        screen.print(f"{skill.name}  {skill.summary}", style="bold")
        grid = output.table("family", "", "what is asked")
        for family in skill.families:
            grid.add_row(family.name, "held out" if family.held_out else "trained", family.summary)
        screen.print(grid)
    return 0
