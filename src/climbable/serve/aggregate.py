"""The figures of many verified rows, as NeMo Gym asks for them after a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from climbable.core.group import has_signal, spread
from climbable.core.stats import pass_at_k

Row = Mapping[str, Any]


def aggregate(rows: Sequence[Row]) -> dict[str, Any]:
    """Figures by task and over all; a row without a number as its reward was not measured, and is only counted."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(_key(row), []).append(row)
    tasks = [_group(key, members) for key, members in groups.items()]
    measured = [task for task in tasks if task["measured"]]
    rewards = [reward for row in rows if (reward := _reward(row)) is not None]
    most = min((task["measured"] for task in measured), default=0)
    passes = {
        f"pass@{k}": sum(pass_at_k(task["measured"], task["solved"], k) for task in measured) / len(measured)
        for k in (1, 2, 4, 8, 16, 32)
        if k <= most
    }
    figures = {
        "mean/reward": sum(rewards) / len(rewards) if rewards else None,
        **passes,
        "signal_share": sum(task["signal"] for task in measured) / len(measured) if measured else None,
        "rows": len(rows),
        "unmeasured": len(rows) - len(rewards),
        "tasks": len(tasks),
    }
    headline = {name: figures[name] for name in ("mean/reward", "pass@1", "unmeasured") if name in figures}
    return {"group_level_metrics": tasks, "agent_metrics": figures, "key_metrics": headline}


def _key(row: Row) -> Any:
    if isinstance(row.get("_ng_task_index"), int):
        return row["_ng_task_index"]
    task = row.get("task")
    return str(task.get("id")) if isinstance(task, Mapping) else str(task)


def _group(key: Any, rows: Sequence[Row]) -> dict[str, Any]:
    rewards = [reward for row in rows if (reward := _reward(row)) is not None]
    return {
        "_ng_task_index" if isinstance(key, int) else "task": key,
        "rows": len(rows),
        "measured": len(rewards),
        "mean/reward": sum(rewards) / len(rewards) if rewards else None,
        "std/reward": spread(rewards),
        "signal": has_signal(rewards),
        "solved": sum(_solved(row) for row in rows if _reward(row) is not None),
    }


def _reward(row: Row) -> float | None:
    reward = row.get("reward")
    number = isinstance(reward, int | float) and not isinstance(reward, bool) and not row.get("mask_sample")
    return float(reward) if number and reward is not None else None


def _solved(row: Row) -> bool:
    score = row.get("score")
    return isinstance(score, Mapping) and score.get("solved") is True
