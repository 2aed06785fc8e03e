"""Which knobs keep GRPO from freezing? Variants of a recipe over seeds, all of a seed from the same warm-up.

    python bench/freezing.py recipes/scene-135m.toml --seeds 1,2,3 --jobs 4 --out runs/freezing      # one GPU
    python bench/freezing.py recipes/quickstart.toml --seeds 1 --steps 1 --jobs 1 --only plain       # a CPU, minutes
    python bench/freezing.py RECIPE --variant "hot:sampling.temperature=1.0" --variant "both:train.beta=0.01,train.epsilon=0.1"

A seed's warm-up is trained and evaluated once; each variant then starts from a copy of it, runs `--steps` of GRPO without
gate and pilot (its records say that it was forced) and is evaluated, sampled as the recipe says whatever the variant. Each
run has a folder, `climb report` reads it, and one that is finished is read back, so the same command goes on after a kill.
`results.jsonl` has a line a run; the table is Markdown.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from climbable.core import records
from climbable.core.errors import ClimbableError, UserError, nearest
from climbable.core.progress import Silent
from climbable.core.run import RunFolder
from climbable.pipeline import Work, open_run, stages
from climbable.pipeline.costs import finished
from climbable.recipe import Recipe, dump_recipe, load_recipe
from climbable.skills import load_skill

START = "start"
"""The name of a seed's warm-up among its runs."""

VARIANTS = {
    "plain": "",
    "entropy 0.003": "train.entropy_bonus=0.003",
    "entropy 0.01": "train.entropy_bonus=0.01",
    "entropy 0.03": "train.entropy_bonus=0.03",
    "KL 0.01": "train.beta=0.01",
    "KL 0.05": "train.beta=0.05",
    "temperature 1.0": "sampling.temperature=1.0",
    "group 16": "train.group=16,train.prompts=16",
    "unscaled": "train.scale_rewards='none'",
    "2 iterations": "train.num_iterations=2",
    "2 iterations + high clip": "train.num_iterations=2,train.epsilon_high=0.28",
}
"""Name → overrides of recipe keys; a step of each samples as many completions as the recipe's, if that is 32 × 8."""

LAST = 5
"""So many of the last steps are averaged for the final signal share and entropy."""

COLUMNS = {
    "trained": "pass@1 trained",
    "worst_kind": "worst sub-kind",
    "held_out": "pass@1 held out",
    "crashed": "crashed",
    "seconds_a_step": "s a step",
    "signal": "signal at the end",
    "entropy": "entropy at the end",
}


def main() -> None:
    """The command line."""
    options = _options()
    try:
        if options.worker:
            _work(options, *options.worker)
        else:
            _drive(options)
    except ClimbableError as error:
        sys.exit(f"freezing: {error}")


def _drive(options: argparse.Namespace) -> None:
    """Starts what is not finished, up to `--jobs` at once: the warm-ups first, then each variant of a seed that has one."""
    names = options.only.split(",") if options.only else list(_variants(options))
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for name in names:
        _recipe(options, name, seeds[0])  # a mistake is named before anything runs
    waiting = [(name, seed) for name in (START, *names) for seed in seeds]
    running: dict[tuple[str, int], subprocess.Popen[bytes]] = {}
    began = time.monotonic()
    while waiting or running:
        for key, process in list(running.items()):
            if process.poll() is not None:
                del running[key]
                print(f"{'done' if _done(options, *key) else 'FAILED'}: {key[0]}, seed {key[1]}", flush=True)
        waiting = [key for key in waiting if not _done(options, *key)]
        if waiting and time.monotonic() - began > options.budget_seconds:
            print(f"the budget is spent: {len(waiting)} runs not started", flush=True)
            waiting = []
        ready = [key for key in waiting if key[0] == START or _done(options, START, key[1])]
        if waiting and not ready and not running:
            print(f"{len(waiting)} runs have no warm-up to start from: see {options.out}/logs", flush=True)
            break
        for key in ready[: options.jobs - len(running)]:
            waiting.remove(key)
            running[key] = _start(options, *key)
        time.sleep(0.5)
    _report(options, names, seeds)


def _start(options: argparse.Namespace, name: str, seed: int) -> subprocess.Popen[bytes]:
    logs = options.out / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    print(f"start: {name}, seed {seed}", flush=True)
    with (logs / f"{_slug(name)}-{seed}.txt").open("wb") as log:
        command = [sys.executable, __file__, *sys.argv[1:], "--worker", name, str(seed)]
        return subprocess.Popen(command, stdout=log, stderr=log)


def _work(options: argparse.Namespace, name: str, seed: str) -> None:
    """One run, in a process of its own."""
    recipe = _recipe(options, name, int(seed))
    workers = recipe.verify.workers or max(1, (os.cpu_count() or 1) // options.jobs)
    shared = dataclasses.replace(recipe, verify=dataclasses.replace(recipe.verify, workers=workers))
    plain = dataclasses.replace(shared, sampling=_recipe(options, START, int(seed)).sampling)
    skill = load_skill(recipe.skill)
    with open_run(recipe, _folder(options, name, int(seed)).path) as run:
        with Work(recipe=shared, skill=skill, run=run, progress=Printed()) as work:
            if name == START:
                stages.warmup(work)
            else:
                _copy_warmup(_folder(options, START, int(seed)), run)
                stages.grpo(work, force=True)
        with Work(recipe=plain, skill=skill, run=run, progress=Printed()) as work:
            if name == START:
                stages.evaluation(work, run.warmup, "warmup")
            else:
                stages.evaluation(work, run.adapter, "trained")


def _copy_warmup(start: RunFolder, run: RunFolder) -> None:
    """Whole or not at all."""
    if not run.warmup.exists():
        beside = run.path / ".warmup.new"
        shutil.rmtree(beside, ignore_errors=True)
        shutil.copytree(start.warmup, beside)
        beside.replace(run.warmup)


class Printed(Silent):
    """Says what a stage says, without a bar."""

    def say(self, line: str) -> None:
        """Prints a line."""
        print(line, flush=True)


def _recipe(options: argparse.Namespace, name: str, seed: int) -> Recipe:
    """The recipe of a run: the file's, with `--steps` and `--set`, then the variant's overrides, checked as a file is."""
    loaded = load_recipe(options.recipe)
    changes = {"seed": str(seed)}
    changes |= {"train.steps": str(options.steps)} if options.steps else {}
    for override in (*options.set, *_split(_variants(options).get(name, ""))):
        key, equals, value = override.partition("=")
        if not equals:
            raise UserError(f"{override!r} is no override: write it as train.beta=0.01")
        changes[key.strip()] = value.strip()
    for key, value in changes.items():
        loaded = _changed(loaded, key, value)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.toml"
        path.write_text(dump_recipe(loaded), encoding="utf-8")
        return load_recipe(path)


def _changed(recipe: Any, key: str, text: str) -> Any:
    first, _, rest = key.partition(".")
    known = [field.name for field in dataclasses.fields(recipe)]
    if first not in known:
        raise UserError(f"there is no recipe key {key!r}: {nearest(first, known)}")
    try:
        value = _changed(getattr(recipe, first), rest, text) if rest else tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        raise UserError(f"{text!r} is no TOML value for {key!r}; a text stands in quotes, as 'none'") from None
    return dataclasses.replace(recipe, **{first: tuple(value) if isinstance(value, list) else value})


def _variants(options: argparse.Namespace) -> dict[str, str]:
    """The variants given, or else the usual ones."""
    given = [entry.partition(":") for entry in options.variant]
    found = {name.strip(): overrides for name, _, overrides in given} or VARIANTS
    unknown = [name for name in (options.only.split(",") if options.only else ()) if name not in found]
    if unknown:
        raise UserError(f"there is no variant {unknown[0]!r}: {nearest(unknown[0], found)}")
    return found


def _split(overrides: str) -> list[str]:
    return [each for each in overrides.split(",") if each.strip()]


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in name)


def _folder(options: argparse.Namespace, name: str, seed: int) -> RunFolder:
    return RunFolder(options.out / f"seed-{seed}" / _slug(name))


def _done(options: argparse.Namespace, name: str, seed: int) -> bool:
    return finished(_folder(options, name, seed), "eval.warmup" if name == START else "eval.trained")


def _row(options: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    """The figures of a finished run; seconds, signal and entropy are of GRPO alone."""
    run = _folder(options, name, seed)
    figures = records.read_json(run.evals / ("warmup.json" if name == START else "trained.json"))
    held_out = load_skill(load_recipe(options.recipe).skill).held_out_families()
    kinds = {
        kind: part["pass_at_1"]["estimate"]
        for kind, part in figures["subkinds"].items()
        if kind.split("/")[0] not in held_out
    }
    steps = [row for row in records.read(run.metrics) if row["stage"] == "train"]
    last = steps[-LAST:]
    return {
        "variant": name,
        "seed": seed,
        "steps": len(steps),
        "trained": figures["trained"]["pass_at_1"]["estimate"],
        "worst_kind": min(kinds.values(), default=None),
        "worst_kind_name": min(kinds, key=lambda kind: kinds[kind], default=None),
        "held_out": figures["held_out"]["pass_at_1"]["estimate"] if figures["held_out"]["tasks"] else None,
        "crashed": figures["trained"]["crashed"]["estimate"],
        "seconds_a_step": statistics.median(row["seconds"]["total"] for row in steps) if steps else None,
        "signal": statistics.mean(row["signal"]["share"] for row in last) if last else None,
        "entropy": statistics.mean(row["entropy"] for row in last) if last else None,
        "run": str(run.path),
    }


def _report(options: argparse.Namespace, names: Sequence[str], seeds: Sequence[int]) -> None:
    done = {
        name: [_row(options, name, seed) for seed in seeds if _done(options, name, seed)] for name in (START, *names)
    }
    lines = [records.dumps(row) for rows in done.values() for row in rows]
    options.out.mkdir(parents=True, exist_ok=True)
    records.write_whole(options.out / "results.jsonl", "".join(f"{line}\n" for line in lines))
    print(f"\n| variant | seeds | {' | '.join(COLUMNS.values())} |\n|---|---|{'---|' * len(COLUMNS)}")
    for name, rows in done.items():
        if rows:
            cells = " | ".join(_cell(key, rows) for key in COLUMNS)
            print(f"| {'warm-up alone' if name == START else name} | {len(rows)} | {cells} |")


def _cell(key: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The mean over seeds, and their range."""
    values = [row[key] for row in rows if row[key] is not None]
    if not values:
        return "–"
    form = {"seconds_a_step": "{:.1f}", "entropy": "{:.4f}"}.get(key, "{:.1%}")
    mean, low, high = (form.format(value) for value in (statistics.mean(values), min(values), max(values)))
    return mean if len(values) == 1 else f"{mean} [{low}, {high}]"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/freezing"), help="default: %(default)s")
    parser.add_argument("--seeds", default="1,2,3", help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=0, help="GRPO steps; default: the recipe's")
    parser.add_argument("--jobs", type=int, default=4, help="runs at once (default: %(default)s)")
    parser.add_argument("--budget-seconds", type=float, default=float("inf"), help="no run starts after so many")
    parser.add_argument("--only", default="", help="names of variants, with commas between; default: all")
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME:KEY=VALUE,…", help="instead of the usual ones"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="in the warm-up and all variants"
    )
    parser.add_argument("--worker", nargs=2, metavar=("NAME", "SEED"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
