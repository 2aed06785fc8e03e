"""What answers: a script, a model, a server. `load_policy` turns what `--policy` names into one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from climbable.core.errors import UserError
from climbable.policy.scripted import ScriptedPolicy
from climbable.policy.server import ServerPolicy

if TYPE_CHECKING:
    from climbable.core.skill import Skill
    from climbable.policy.model import ModelPolicy


def load_policy(
    name: str,
    skill: Skill,
    *,
    temperature: float = 0.7,
    top_p: float = 1.0,
    max_new_tokens: int = 192,
    device: str = "auto",
    dtype: str = "auto",
    cache: str = "auto",
    adapter: Path | None = None,
) -> ScriptedPolicy | ServerPolicy | ModelPolicy:
    """The policy called `name`: ``scripted:NAME``, ``openai:BASE_URL#MODEL``, ``smollm2``, a folder or a hub name.

    `adapter` is a PEFT adapter, or a whole model after full fine-tuning, that takes the place of the bare one.
    """
    if not name:
        raise UserError("a policy has a name: smollm2, a model's folder, openai:URL#MODEL or scripted:gold")
    if name.startswith("scripted:"):
        return ScriptedPolicy(name, skill)
    if name.startswith("openai:"):
        return ServerPolicy(name, skill, temperature=temperature, top_p=top_p, max_new_tokens=max_new_tokens)
    from climbable.policy.model import ModelPolicy

    return ModelPolicy.load(
        name,
        skill,
        temperature=temperature,
        top_p=top_p,
        max_new_tokens=max_new_tokens,
        device=device,
        dtype=dtype,
        cache=cache,
        adapter=adapter,
    )
