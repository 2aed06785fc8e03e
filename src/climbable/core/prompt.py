"""The one source of the prompt, and of how a script is read out of an answer.

Warm-up, gate, pilot, training, evaluation and agent all render through here, and record the digest of the token ids
that they got, so that two stages that differ by one token refuse to mix.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

Messages = list[dict[str, str]]

_THOUGHTS = re.compile(r"<think>(.*?)(</think>|\Z)", re.DOTALL)
_OPENING = re.compile(r"^(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)$")


def chat(system_prompt: str, user_prompt: str) -> Messages:
    """The messages that every policy is given for a task."""
    return [{"role": "system", "content": system_prompt}, {"role": "user", "content": user_prompt}]


def render(tokenizer: Any, messages: Messages) -> str:
    """The prompt string: the tokenizer's chat template with the answer's opening, and no tools.

    A tokenizer without a template gets the contents separated by blank lines, then ``Answer:`` on a line of its own.
    """
    if getattr(tokenizer, "chat_template", None):
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    return "\n\n".join(message["content"] for message in messages) + "\n\nAnswer:\n"


def token_ids(tokenizer: Any, text: str) -> list[int]:
    """The token ids of a rendered prompt; the template has already written its special tokens."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def ids_digest(prompts: Iterable[Sequence[int]]) -> str:
    """``sha256:…`` of the token ids of some prompts: equal only if every id is."""
    body = json.dumps([list(ids) for ids in prompts], separators=(",", ":"))
    return "sha256:" + hashlib.sha256(body.encode()).hexdigest()


def drop_thoughts(completion: str) -> str:
    """The completion without white space and one ``<think>…</think>`` before it; thoughts that never close leave nothing."""
    text = completion.lstrip()
    match = _THOUGHTS.match(text)
    return text[match.end() :].lstrip() if match else text


def extract_script(completion: str) -> str | None:
    """The script in an answer: its first fenced block, or without a fence all of it; ``None`` if only white space is left.

    A fence is three or more backticks or tildes with any language word (CommonMark 0.31, section 4.5: up to three
    spaces of indent, which its lines lose too, and a backtick fence has no backtick in its info string). One that never
    closes runs to the end.
    """
    text = drop_thoughts(completion)
    script = _first_block(text)
    if script is None:
        script = text
    return script if script.strip() else None


def _first_block(text: str) -> str | None:
    lines = text.replace("\r\n", "\n").split("\n")
    for start, line in enumerate(lines):
        opening = _OPENING.match(line)
        if not opening or (opening["fence"][0] == "`" and "`" in opening["info"]):
            continue
        fence = opening["fence"]
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
        block: list[str] = []
        for inner in lines[start + 1 :]:
            if closing.match(inner):
                break
            indent = min(len(opening["indent"]), len(inner) - len(inner.lstrip(" ")))
            block.append(inner[indent:])
        return "\n".join(block) + "\n"
    return None
