"""The handed cases: answers with the score that they are due; `cases/README.md` explains the form."""

import json
from pathlib import Path


def rows(skill):
    """Every line of the skill's file."""
    path = Path(__file__).parent / f"cases/{skill}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def misses(score, expect):
    """In what a score differs from the nearest of the row's expectations; nothing if it meets one of them whole."""
    return min((_misses(score, expected) for expected in (expect, *expect.get("or", ()))), key=len)


def _misses(score, expected):
    passed = {check["name"]: check["passed"] for check in score["checks"]}
    missed = []
    for key in ("outcome", "reason"):
        allowed = expected.get(key, score[key])
        if score[key] not in (allowed if isinstance(allowed, list) else [allowed]):
            missed.append(key)
    if "reward" in expected:
        reward = expected["reward"]
        low, high = reward if isinstance(reward, list) else (reward, reward)
        if score["reward"] is None or not low <= round(score["reward"], 4) <= high:
            missed.append("reward")
    if expected.get("solved", score["solved"]) != score["solved"]:
        missed.append("solved")
    missed += [name for name in expected.get("passed", ()) if passed.get(name) is not True]
    missed += [name for name in expected.get("failed", ()) if passed.get(name) is not False]
    missed += [text for text in expected.get("detail_has", ()) if text not in (score["detail"] or "")]
    return missed
