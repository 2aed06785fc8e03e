"""``climb report``: a run as one page."""

from __future__ import annotations

from pathlib import Path

import click

from climbable.cli import options, output


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Default: report.html in the run's folder."
)
@options.as_json
def command(run: Path, out: Path | None, as_json: bool) -> int:
    """A run, finished or not, as one HTML file that opens offline; says what is solved and what is hopeless.

    \b
    Example:
      climb report runs/quickstart
    """
    from climbable.core.run import RunFolder
    from climbable.report import outlook, write_report

    written = write_report(RunFolder(run), out)
    if as_json:
        output.emit({"report": str(written)})
    else:
        print(written)
        for sentence in outlook(RunFolder(run)):
            output.say(sentence)
    return 0
