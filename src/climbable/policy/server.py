"""``openai:BASE_URL#MODEL``: any server that speaks OpenAI's chat completions (vLLM, SGLang, llama.cpp, Ollama)."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from climbable.core.errors import Unavailable, UserError
from climbable.core.prompt import chat
from climbable.core.skill import Skill
from climbable.core.types import Answer, Task

AT_ONCE = 32
TRIES = 5
TIMEOUT_S = 300.0


class ServerPolicy:
    """Samples from a server. A server that stays silent is our fault: `Unavailable`, never an empty answer."""

    prompt_digest: str | None = None

    def __init__(self, name: str, skill: Skill, *, temperature: float, top_p: float, max_new_tokens: int) -> None:
        base, _, model = name.removeprefix("openai:").partition("#")
        if not base.startswith(("http://", "https://")) or not model:
            raise UserError(f"{name!r} names no server; write openai:http://127.0.0.1:8000/v1#MODEL")
        self.name = name
        self.fingerprint = name
        self._url = base.rstrip("/") + "/chat/completions"
        self._system_prompt = skill.system_prompt
        self._settings = {"model": model, "temperature": temperature, "top_p": top_p, "max_tokens": max_new_tokens}

    def sample(self, tasks: Sequence[Task], *, samples: int, seed: int) -> list[list[Answer]]:
        """`samples` answers for each of `tasks`, `AT_ONCE` requests at a time; `seed` is passed on."""
        wanted = [(task, number) for task in tasks for number in range(samples)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(lambda item: self._ask(item[0], seed + item[1]), wanted))
        return [answers[start : start + samples] for start in range(0, len(answers), samples)]

    def close(self) -> None:
        """Nothing to release: every request had a connection of its own."""

    def _ask(self, task: Task, seed: int) -> Answer:
        body = {**self._settings, "messages": chat(self._system_prompt, task.prompt), "seed": seed % (1 << 31)}
        reply = self._post(body)
        try:
            choice = reply["choices"][0]
            text = choice["message"]["content"] or ""
            tokens = int(reply.get("usage", {}).get("completion_tokens", 0))
            return Answer(text=text, tokens=tokens, truncated=choice.get("finish_reason") == "length")
        except (KeyError, IndexError, TypeError) as error:
            raise Unavailable(f"{self._url} answered in another form than chat completions: {error!r}") from error

    def _post(self, body: dict[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)
        for turn in range(TRIES):
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                told = error.read(300).decode("utf-8", "replace")
                if error.code not in (408, 429) and error.code < 500:
                    raise UserError(f"{self._url} refused the request with status {error.code}: {told}") from error
                last: Exception = error
            except (OSError, ValueError) as error:
                last = error
            time.sleep(0.5 * 2**turn)
        raise Unavailable(f"{self._url} did not answer in {TRIES} tries: {last}; is the server up?") from last
