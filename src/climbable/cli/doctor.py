"""``climb doctor``: what this machine has, what each lack costs, and what to type."""

from __future__ import annotations

import click

from climbable.cli import options, output


@click.command()
@click.option("--fix", is_flag=True, help="Install Blender into the user's cache, and its system libraries when root.")
@options.blender
@options.as_json
def command(fix: bool, blender: str | None, as_json: bool) -> int:
    """What this machine has, what each lack costs, and what to type.

    Every line was tried, not asked: Blender starts, each layer of the sandbox is put on, and a script goes the whole way.
    Exit status 1: the main path, from a task to a trained adapter, does not work here.

    \b
    Examples:
      climb doctor
      climb doctor --fix
      climb doctor --blender /usr/bin/blender --json
    """
    from climbable.cli import machine

    if fix:
        machine.install_blender()
    findings = machine.examine(blender)
    works = all(finding.works or not finding.needed for finding in findings)
    if as_json:
        output.emit({"works": works, "findings": [finding.to_json() for finding in findings]})
        return 0 if works else 1
    from rich.text import Text

    grid = output.table("", "part", "here")
    for finding in findings:
        mark = Text("✓", style="green") if finding.works else Text("✗" if finding.needed else "–", style="yellow")
        here = Text(output.plain(finding.here))
        if not finding.works and finding.cost:
            here.append(f"\n{finding.cost}", style="dim")
        if not finding.works and finding.fix:
            here.append(f"\n{output.plain(finding.fix)}", style="bold")
        grid.add_row(mark, finding.part, here)
    screen = output.console()
    screen.print(grid)
    screen.print(
        "The main path works: `climb run recipes/quickstart.toml`"
        if works
        else "The main path does not work yet: type what stands in bold beside ✗, then `climb doctor` again"
    )
    return 0 if works else 1
