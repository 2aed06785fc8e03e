"""Spoilt scene files through pick-up and measuring: each gets an outcome, none is overpaid, the sandbox goes on.

    python bench/fuzz.py --files 500              # a minute on two cores

A hostile script hands each file over, as any script can. Files come from four scenes with known rewards and are spoilt
by a seed: bits, lengths in block headers, pointers, numbers, names, cut ends. No spoilt file may earn more than its
scene did, and after each the teacher's answer earns 1.0. Exit status 1 if anything is otherwise.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from climbable.blender import find_interpreter
from climbable.core.types import Outcome, Score
from climbable.skills import load_skill
from climbable.verify import Verifier
from forge import FORGE

SKILL = load_skill("scene")
TASK = SKILL.task("next_to", "test", 0)
GOLD = SKILL.teach(TASK, 0)
SCENES = {
    "right": "",
    "moved": "bpy.context.object.location.x += 1\n",
    "empty": "for thing in list(bpy.data.objects): bpy.data.objects.remove(thing)\n",
    "modified": "bpy.context.object.modifiers.new('a', 'ARRAY').count = 3\n"
    "bpy.context.object.modifiers.new('s', 'SUBSURF').levels = 2\n"
    "bpy.context.object.driver_add('location', 0).driver.expression = '1 + 2'\n",
}
"""What is added to the teacher's script before the scene is saved."""
HOSTILE = (b"\0", b"\xff\xfe", b"\x1b[2J", b"\xe2\x80\xae", b"\xed\xa0\x80", b"A" * 60)
NUMBERS = (float("nan"), float("inf"), -float("inf"), 3.4e38, 1e-45, 0.0)
LENGTHS = (-1, 0, 1, 0x7FFFFFFF, -0x80000000, 1 << 24)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=500, help="default: %(default)s")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument("--blender", help="a Python that has bpy (default: as `climb verify` finds it)")
    parser.add_argument("--json", action="store_true", help="a list with a row a file on stdout")
    options = parser.parse_args()
    began = time.perf_counter()
    rows = run(range(options.first, options.first + options.files), options.blender)
    if options.json:
        print(json.dumps(rows))
    else:
        _show(rows, time.perf_counter() - began)
    sys.exit(1 if any(row["wrong"] for row in rows) else 0)


def run(seeds: range, blender: str | None = None) -> list[dict[str, object]]:
    """A row for each seed: which scene, how it was spoilt, what came of it, and what is wrong with that."""
    scenes = save_scenes(blender)
    with Verifier(SKILL, workers=0, wall_s=20, interpreter=blender) as verifier:
        due = {name: verifier.verify(TASK, _hand_over(data)) for name, data in scenes.items()}
        pairs, made = [], []
        for seed in seeds:
            name = list(scenes)[seed % len(scenes)]
            data, how = spoil(scenes[name], seed)
            made.append((seed, name, how))
            pairs += [(TASK, _hand_over(data)), (TASK, GOLD)]
        scores = list(verifier.stream(pairs))
    return [
        _row(seed, name, how, score, gold, due[name])
        for (seed, name, how), score, gold in zip(made, scores[::2], scores[1::2], strict=True)
    ]


def save_scenes(blender: str | None = None) -> dict[str, bytes]:
    """The bytes of each scene's file, as Blender saves it."""
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, more in SCENES.items():
            path = Path(folder) / f"{name}.blend"
            code = "import bpy, os\nbpy.ops.wm.read_factory_settings(use_empty=True)\n" + GOLD + "\n" + more
            code += f"bpy.ops.wm.save_as_mainfile(filepath={str(path)!r}, compress=False)\nos._exit(0)"
            subprocess.run([find_interpreter(blender), "-c", code], check=True, capture_output=True, timeout=120)
            files[name] = path.read_bytes()
    return files


def spoil(data: bytes, seed: int) -> tuple[bytes, str]:
    """`data` with one kind of damage, chosen and placed by `seed`; and its name."""
    dice = random.Random(f"fuzz {seed}")
    heads = _block_heads(data)
    kinds = ("bits", "cut", "length", "count", "pointer", "number", "name", "chunk")
    how = kinds[seed // len(SCENES) % len(kinds)]
    spoilt = bytearray(data)
    for _ in range(1 if how == "cut" else dice.choice((1, 1, 4, 32))):
        at = _place(dice, heads, len(data))
        if how == "bits":
            spoilt[at] ^= 1 << dice.randrange(8)
        elif how == "cut":
            del spoilt[dice.randrange(1, len(data)) :]
        elif how == "length":
            struct.pack_into("<i", spoilt, dice.choice(heads)[0] + 4, dice.choice((*LENGTHS, dice.randrange(1 << 16))))
        elif how == "count":
            struct.pack_into("<i", spoilt, dice.choice(heads)[0] + dice.choice((16, 20)), dice.choice((*LENGTHS, 7)))
        elif how == "pointer":
            target = spoilt[(other := dice.choice(heads)[0]) + 8 : other + 16]
            spoilt[at & ~7 : (at & ~7) + 8] = dice.choice((bytes(target), dice.randbytes(8), bytes(8)))
        elif how == "number":
            struct.pack_into("<f", spoilt, min(at & ~3, len(data) - 4), dice.choice(NUMBERS))
        elif how == "name":
            word = dice.choice(HOSTILE)
            spoilt[at : at + len(word)] = word
        else:
            size, source = dice.randrange(8, 512), _place(dice, heads, len(data))
            spoilt[at : at + size] = data[source : source + size]
    return bytes(spoilt), how


def _block_heads(data: bytes) -> list[tuple[int, int]]:
    """(offset, length) of the blocks of a file of Blender up to 4.5 (20 or 24 bytes of head after 12 of the file's)."""
    found, at = [], 12
    while at + 24 <= len(data) and data[at : at + 4] != b"ENDB":
        size = struct.unpack_from("<i", data, at + 4)[0]
        if data[at : at + 2] in (b"OB", b"ME", b"DA", b"SC"):
            found.append((at, size))
        at += 24 + size
    return found or [(12, len(data) - 36)]


def _place(dice: random.Random, heads: list[tuple[int, int]], size: int) -> int:
    """Most damage goes into objects, meshes and their data, which a reader understands; the rest anywhere in the file."""
    if dice.random() < 0.9:
        at, length = dice.choice(heads)
        return min(at + 24 + dice.randrange(max(1, length)), size - 8)
    return dice.randrange(12, size - 8)


def _hand_over(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return f"{FORGE}import base64\nopen(path, 'wb').write(base64.b64decode({text!r}))\nleave()\n"


def _row(seed: int, name: str, how: str, score: Score, gold: Score, due: Score) -> dict[str, object]:
    wrong = ""
    if score.outcome is Outcome.UNMEASURED or score.reward is None:
        wrong = f"unmeasured: {score.detail}"
    elif due.reward is None or score.reward > due.reward:
        wrong = f"earned {score.reward}, its scene {due.reward}"
    elif gold.reward != 1.0:
        wrong = f"the teacher earned {gold.reward} afterwards: {gold.detail}"
    return {
        "seed": seed,
        "scene": name,
        "how": how,
        "outcome": str(score.outcome),
        "reason": score.reason and str(score.reason),
        "detail": score.detail,
        "reward": score.reward,
        "wrong": wrong,
    }


def _show(rows: list[dict[str, object]], seconds: float) -> None:
    print("| damage | files | scored as its scene or less | failed | of these: Blender died |\n|---|---|---|---|---|")
    for how in (*dict.fromkeys(str(row["how"]) for row in rows), "all"):
        some = [row for row in rows if how in ("all", row["how"])]
        died = sum("Blender died" in str(row["detail"]) for row in some)
        outcomes = Counter(str(row["outcome"]) for row in some)
        print(f"| {how} | {len(some)} | {outcomes['scored']} | {outcomes['failed']} | {died} |")
    wrong = [row for row in rows if row["wrong"]]
    print(f"\n{len(rows)} files and as many right answers in {seconds:.0f} s; {len(wrong)} are not as they should be")
    for row in wrong:
        print(f"  seed {row['seed']}, {row['scene']}, {row['how']}: {row['wrong']}")


if __name__ == "__main__":
    main()
