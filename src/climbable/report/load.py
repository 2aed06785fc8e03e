"""Reads a run's folder, whatever state a kill or an editor left it in: what cannot be read is missing, and named."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from climbable.core.errors import UserError
from climbable.core.plain import plain
from climbable.core.run import RunFolder

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """All that the report knows of a run. Every text in it is harmless to show, but for HTML's own characters."""

    path: Path
    recipe_text: str
    recipe: Row
    environment: Row
    untrained_gate: Row | None
    gate: Row | None
    pilot: Row | None
    terms: Row
    evaluations: Mapping[str, Row]
    comparison: Row | None
    rollouts: tuple[Row, ...]
    metrics: tuple[Row, ...]
    costs: tuple[Row, ...]
    unreadable: tuple[str, ...]
    """Files, or lines of files, that could not be read."""

    @property
    def name(self) -> str:
        """The recipe's name, or the folder's."""
        return str(self.recipe.get("name") or self.path.absolute().name)

    @property
    def finished(self) -> bool:
        """Whether the last stage of a whole run has ended."""
        return any(row.get("stage") == "eval.trained" and row.get("finished") for row in self.costs)


@dataclass(slots=True)
class _Reader:
    unreadable: list[str] = field(default_factory=list)

    def text(self, path: Path) -> str:
        try:
            return str(_harmless(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError):
            self.unreadable.append(path.name)
            return ""

    def toml(self, path: Path) -> Row:
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            return {}  # `text` has already said so, or shows the text as it is

    def object(self, path: Path) -> Row | None:
        try:
            value = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            self.unreadable.append(path.name)
            return None
        if not isinstance(value, dict):
            self.unreadable.append(path.name)
            return None
        return dict(_harmless(value))

    def rows(self, path: Path) -> tuple[Row, ...]:
        rows, torn = [], 0
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return ()
        except OSError:
            self.unreadable.append(path.name)
            return ()
        for line in lines:
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                rows.append(_harmless(row))
            else:
                torn += 1
        if torn:
            self.unreadable.append(f"{torn} line{'s' if torn > 1 else ''} of {path.name}")
        return tuple(rows)


def load_run(run: RunFolder) -> RunData:
    """What is in the folder of `run`; a `UserError` if it is no folder, or holds nothing of a run."""
    known = (run.recipe, run.environment, run.untrained_gate, run.gate, run.rollouts, run.metrics, run.costs)
    if not any(path.exists() for path in known):
        raise UserError(
            f"{str(run.path)!r} holds no run: neither {run.recipe.name} nor {run.rollouts.name} is there; "
            "`climb run RECIPE --run DIR` makes one"
        )
    reader = _Reader()
    files = sorted(run.evals.glob("*.json")) if run.evals.is_dir() else []
    evaluations = {path.stem: value for path in files if (value := reader.object(path)) is not None}
    return RunData(
        path=run.path,
        recipe_text=reader.text(run.recipe),
        recipe=reader.toml(run.recipe),
        environment=reader.object(run.environment) or {},
        untrained_gate=reader.object(run.untrained_gate),
        gate=reader.object(run.gate),
        pilot=reader.object(run.pilot),
        terms=reader.object(run.terms) or {},
        comparison=evaluations.pop("comparison", None),
        evaluations=evaluations,
        rollouts=reader.rows(run.rollouts),
        metrics=reader.rows(run.metrics),
        costs=reader.rows(run.costs),
        unreadable=tuple(reader.unreadable),
    )


def _harmless(value: Any) -> Any:
    """`value` with every string made harmless, keys too."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(key): _harmless(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_harmless(item) for item in value]
    return value
