"""A Transformers model that samples: any folder or hub name, with or without a PEFT adapter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from climbable.core.errors import UserError
from climbable.core.prompt import chat, ids_digest, render, token_ids
from climbable.core.skill import Skill
from climbable.core.types import Answer, Task
from climbable.policy import loading


class ModelPolicy:
    """Samples whole batches with the prompt string that training uses."""

    def __init__(
        self,
        name: str,
        fingerprint: str,
        skill: Skill,
        model: Any,
        tokenizer: Any,
        *,
        temperature: float,
        top_p: float,
        max_new_tokens: int,
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.prompt_digest = prompt_digest(tokenizer, skill)
        self._system_prompt = skill.system_prompt
        self._model = model
        self._tokenizer = tokenizer
        self._ends = loading.end_tokens(model, tokenizer)
        self._config = sampling_config(
            self._ends, tokenizer, temperature=temperature, top_p=top_p, max_new_tokens=max_new_tokens
        )

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
        adapter: Path | None = None,
    ) -> ModelPolicy:
        """The policy of a model by name; see `climbable.policy.load_policy`."""
        source = loading.locate(name, adapter)
        tokenizer = loading.load_tokenizer(source)
        model = loading.load_base(source, device=loading.pick_device(device), dtype=dtype)
        if source.adapter is not None:
            model = loading.load_adapter(model, source, trainable=False)
            # Merged, an adapter costs nothing while sampling.
            model = model.merge_and_unload()
        return cls(
            name if adapter is None else f"{name} + {adapter.name}",
            loading.fingerprint(source),
            skill,
            model.eval(),
            tokenizer,
            temperature=temperature,
            top_p=top_p,
            max_new_tokens=max_new_tokens,
        )

    def sample(self, tasks: Sequence[Task], *, samples: int, seed: int) -> list[list[Answer]]:
        """`samples` answers for each of `tasks`, in one batch of ``len(tasks) × samples`` completions."""
        import torch

        prompts = [render(self._tokenizer, chat(self._system_prompt, task.prompt)) for task in tasks]
        batch = self._tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=False)
        batch = batch.to(self._model.device)
        torch.manual_seed(seed)
        with torch.inference_mode():
            rows = self._model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                generation_config=self._config,
                num_return_sequences=samples,
            )
        answers = [self._answer(row) for row in rows[:, batch["input_ids"].shape[1] :].tolist()]
        return [answers[start : start + samples] for start in range(0, len(answers), samples)]

    def close(self) -> None:
        """Frees the model's memory."""
        import gc

        import torch

        del self._model
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _answer(self, ids: list[int]) -> Answer:
        """The text up to the first end token, which counts as generated; padding follows it."""
        length = next((place + 1 for place, token in enumerate(ids) if token in self._ends), None)
        kept = ids if length is None else ids[:length]
        text = self._tokenizer.decode(kept, skip_special_tokens=True)
        return Answer(text=text, tokens=len(kept), truncated=length is None)


def sampling_config(
    ends: Sequence[int], tokenizer: Any, *, temperature: float, top_p: float, max_new_tokens: int
) -> Any:
    """Every sampling setting written out, so that none of the model's own defaults leaks in."""
    from transformers import GenerationConfig

    if temperature <= 0:
        raise UserError(f"the temperature is {temperature}; it must be above 0: greedy groups never differ")
    return GenerationConfig(
        do_sample=True,
        temperature=temperature,
        top_p=top_p,
        top_k=0,
        repetition_penalty=1.0,
        max_new_tokens=max_new_tokens,
        eos_token_id=list(ends),
        pad_token_id=tokenizer.pad_token_id,
        use_cache=True,
    )


def prompt_digest(tokenizer: Any, skill: Skill) -> str:
    """The digest of the token ids of one rendered prompt a family: equal in all stages that may be mixed."""
    tasks = [skill.task(family.name, "test", 0) for family in skill.families]
    return ids_digest(token_ids(tokenizer, render(tokenizer, chat(skill.system_prompt, task.prompt))) for task in tasks)
