"""``climb gate``: is the reward climbable for this policy at all?"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

from climbable.cli import options, output


@click.command()
@options.skill
@click.option("--policy", required=True, help="smollm2, a model folder, a hub name, openai:URL#MODEL or scripted:NAME.")
@click.option("--family", "families", multiple=True, help="Only this one, more than once; default: all trained ones.")
@click.option("--tasks", type=click.IntRange(min=1), default=32, show_default=True)
@click.option("--samples", type=click.IntRange(min=2), default=8, show_default=True, help="For each task.")
@click.option(
    "--temperature", type=click.FloatRange(min=0, min_open=True), default=0.7, show_default=True, help="As in training."
)
@click.option("--max-new-tokens", type=click.IntRange(min=1), default=192, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for gate.json and rollouts.jsonl."
)
@options.sandbox
@options.as_json
def command(
    skill: str,
    policy: str,
    families: tuple[str, ...],
    tasks: int,
    samples: int,
    temperature: float,
    max_new_tokens: int,
    seed: int,
    out: Path | None,
    blender: str | None,
    container: str | None,
    workers: int,
    memory: int,
    timeout: float,
    as_json: bool,
) -> int:
    """Is the reward climbable for this policy? Go or no-go, with figures, reasons and advice.

    Exit status 0: go; 1: no-go; 3: too much could not be measured to say.

    \b
    Examples:
      climb gate scene --policy smollm2
      climb gate scene --policy openai:http://localhost:8000/v1#qwen --temperature 1.0
    """
    from climbable.cli.progress import make_progress
    from climbable.core import records
    from climbable.core.run import RunFolder
    from climbable.pipeline import measure_gate
    from climbable.pipeline.stages import open_policy
    from climbable.recipe import GateSettings, Model, Recipe, Sampling
    from climbable.skills import load_skill
    from climbable.verify import Verifier

    known = load_skill(skill)
    recipe = Recipe(
        name="gate",
        skill=skill,
        seed=seed,
        families=tuple(known.family(name).name for name in families),
        model=Model(name=policy),
        sampling=dataclasses.replace(Sampling(), temperature=temperature, max_new_tokens=max_new_tokens),
        gate=GateSettings(tasks=tasks, samples=samples),
    )
    progress = make_progress()
    run = RunFolder(out) if out else None
    with Verifier(
        known, workers=workers, wall_s=timeout, memory_mib=memory, interpreter=blender, runner=container or "local"
    ) as verifier:
        answers = open_policy(recipe, known)
        try:
            _, record = measure_gate(
                recipe,
                known,
                answers,
                verifier,
                stage="gate",
                rollouts=run.rollouts if run else None,
                progress=progress,
            )
        finally:
            answers.close()
    if run:
        records.write_json(run.gate, record)
    if as_json:
        output.emit(record)
    else:
        show(record)
    return {"go": 0, "no-go": 1}.get(record["answer"], 3)


def show(record: dict[str, Any]) -> None:
    """Prints a gate's record for a person."""
    from rich.text import Text

    from climbable.core.gate import MOST_CRASH_ONLY

    screen = output.console()
    grid = output.table("figure", ">here", ">95 % interval", ">asked for")
    bar = record["bar"]
    asked = {"reward": f"{bar['least_mean']} to {bar['most_mean']}", "signal_share": f"≥ {bar['least_signal']:.0%}"}
    asked["graded"] = f"> {1 - MOST_CRASH_ONLY:.0%}"
    names = {
        "reward": "mean reward",
        "signal_share": "groups whose rewards differ",
        "graded": "  between graded answers",
        "solved": "samples solved",
        "failed": "samples failed",
    }
    for key, name in names.items():
        form = "{:.3f}" if key == "reward" else "{:.1%}"
        figure = record[key]
        if not figure["n"]:
            continue
        interval = f"{form.format(figure['low'])} to {form.format(figure['high'])}"
        grid.add_row(name, form.format(figure["estimate"]), interval, asked.get(key, ""))
    screen.print(grid)
    for failure, count in record["failures"][:5]:
        screen.print(f"{count} × {output.plain(failure)}", style="dim")
    colour = {"go": "green bold", "no-go": "red bold"}.get(record["answer"], "yellow bold")
    screen.print(Text(f"{record['answer']}: ", style=colour), "; ".join(record["reasons"]), sep="")
    for advice in record["advice"]:
        screen.print(f"→ {advice}")
