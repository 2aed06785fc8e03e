"""A minute of load on the verifier over HTTP: is each request answered once, and how long does it take?

    python bench/serve.py --connections 2000 --seconds 60

Starts `climb serve scene` as another process. Each connection asks, waits for the answer, checks that it is its own (a
number goes along and comes back) and asks again; on 429 it waits as it is told. The last line sums up; exit status 1 if a
request was lost, answered twice or answered with another's row.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from typing import Any

from climbable.skills import load_skill


def main() -> None:
    """The command line."""
    options = _options()
    command = [sys.executable, "-m", "climbable", "serve", options.skill, "--port", "0", "--json"]
    command += ["--places", str(options.places)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port = int(json.loads(server.stdout.readline())["url"].rpartition(":")[2])
            figures = asyncio.run(_load(port, options))
        finally:
            server.terminate()
    print(json.dumps(figures, indent=2))
    sys.exit(1 if figures["lost"] or figures["wrong"] or figures["errors"] else 0)


async def _load(port: int, options: argparse.Namespace) -> dict[str, Any]:
    bodies = _bodies(options.skill)
    statuses: Counter[int] = Counter()
    faults: Counter[str] = Counter()
    latencies: list[float] = []
    until = time.monotonic() + options.seconds

    async def connection(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        turn = 0
        while time.monotonic() < until:
            note = f"{number}/{turn}"
            body = json.dumps(bodies[(number + turn) % len(bodies)] | {"note": note}).encode()
            sent = time.monotonic()
            writer.write(b"POST /verify HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            status, headers, answer = await asyncio.wait_for(_answer(reader), 600)
            statuses[status] += 1
            if status == 429:
                await asyncio.sleep(float(headers["retry-after"]))
                continue
            latencies.append(time.monotonic() - sent)
            turn += 1
            faults["wrong"] += status != 200 or answer.get("note") != note
            faults["unmeasured"] += status == 200 and answer["reward"] is None
        writer.close()

    async def counted(number: int) -> None:
        try:
            await connection(number)
        except (TimeoutError, asyncio.IncompleteReadError):
            faults["lost"] += 1
        except OSError:
            faults["errors"] += 1

    began = time.monotonic()
    await asyncio.gather(*(counted(number) for number in range(options.connections)))
    spent = time.monotonic() - began
    latencies.sort()
    points = {f"p{p}_s": round(latencies[min(len(latencies) - 1, len(latencies) * p // 100)], 3) for p in (50, 95, 99)}
    return {
        "connections": options.connections,
        "seconds": round(spent, 1),
        "answered": len(latencies),
        "per_s": round(len(latencies) / spent, 1),
        **points,
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        **{name: faults[name] for name in ("lost", "wrong", "errors", "unmeasured")},
    }


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers["content-length"]))
    return int(head[0].split()[1]), headers, json.loads(body)


def _bodies(name: str) -> list[dict[str, Any]]:
    """Right, wrong and failing answers, two to one to one."""
    skill = load_skill(name)
    bodies = []
    for index in range(64):
        task = skill.task(skill.trained_families()[0], "test", index)
        text = (skill.teach(task, index), skill.teach(task, index), "import bpy", skill.crash)[index % 4]
        bodies.append({"task": task.id, "response": {"output_text": text}})
    return bodies


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skill", default="scene", help="default: %(default)s")
    parser.add_argument("--connections", type=int, default=2000, help="at once (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="default: %(default)s")
    parser.add_argument("--places", type=int, default=4096, help="of the server (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
