"""A Transformers model that samples: any folder or hub name, with or without a PEFT adapter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from climbable.core.prompt import chat, ids_digest, render, token_ids
from climbable.core.skill import Skill
from climbable.core.types import Answer, Task
from climbable.policy import loading
from climbable.policy.sampler import Sampler
from climbable.policy.settings import SamplerSettings


class ModelPolicy:
    """Samples whole batches with the prompt string that training uses."""

    def __init__(
        self, name: str, fingerprint: str, skill: Skill, model: Any, tokenizer: Any, settings: SamplerSettings
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.prompt_digest = prompt_digest(tokenizer, skill)
        self._skill = skill
        self._sampler = Sampler(model, settings)
        self._tokenizer = tokenizer
        self._settings = settings

    @classmethod
    def load(
        cls,
        name: str,
        skill: Skill,
        *,
        temperature: float,
        top_p: float,
        max_new_tokens: int,
        device: str = "auto",
        dtype: str = "auto",
        cache: str = "auto",
        adapter: Path | None = None,
    ) -> ModelPolicy:
        """The policy of a model by name; see `climbable.policy.load_policy`."""
        source = loading.locate(name, adapter)
        tokenizer = loading.load_tokenizer(source)
        model = loading.load_base(source, device=loading.pick_device(device), dtype=dtype)
        if source.adapter is not None:
            # Merged, an adapter costs nothing while sampling.
            model = loading.load_adapter(model, source, trainable=False).merge_and_unload()
        settings = sampler_settings(
            model, tokenizer, temperature=temperature, top_p=top_p, max_new_tokens=max_new_tokens, cache=cache
        )
        shown = name if adapter is None else f"{name} + {adapter.name}"
        return cls(shown, loading.fingerprint(source), skill, model.eval(), tokenizer, settings)

    def sample(self, tasks: Sequence[Task], *, samples: int, seed: int) -> list[list[Answer]]:
        """`samples` answers for each of `tasks`, in one batch of ``len(tasks) × samples`` completions."""
        import torch

        torch.manual_seed(seed)
        prompts = [prompt_ids(self._tokenizer, self._skill, task) for task in tasks for _ in range(samples)]
        answers = [self._answer(ids) for ids in self._sampler.sample(prompts)]
        return [answers[start : start + samples] for start in range(0, len(answers), samples)]

    def close(self) -> None:
        """Frees the model's memory."""
        import gc

        import torch

        del self._sampler
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _answer(self, ids: list[int]) -> Answer:
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        return Answer(text=text, tokens=len(ids), truncated=ids[-1] not in self._settings.ends)


def sampler_settings(
    model: Any, tokenizer: Any, *, temperature: float, top_p: float, max_new_tokens: int, cache: str
) -> SamplerSettings:
    """The sampler's settings for this model and tokenizer."""
    return SamplerSettings(
        temperature=temperature,
        top_p=top_p,
        max_new_tokens=max_new_tokens,
        cache=cache,
        ends=tuple(loading.end_tokens(model, tokenizer)),
        pad=tokenizer.pad_token_id,
    )


def prompt_ids(tokenizer: Any, skill: Skill, task: Task) -> list[int]:
    """The token ids of a task's prompt: the same in every stage."""
    return token_ids(tokenizer, render(tokenizer, chat(skill.system_prompt, task.prompt)))


def prompt_digest(tokenizer: Any, skill: Skill) -> str:
    """The digest of the token ids of one rendered prompt a family: equal in all stages that may be mixed."""
    return ids_digest(prompt_ids(tokenizer, skill, skill.task(family.name, "test", 0)) for family in skill.families)
