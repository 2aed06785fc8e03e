"""Model and tokenizer by name, for sampling and for training alike.

A name is ``smollm2``, a folder, or a hub name; a folder may hold a PEFT adapter, which brings its base along.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from climbable.core.errors import Unavailable, UserError
from climbable.policy import smollm2
from climbable.policy.attention import guard
from climbable.policy.quiet import quiet_libraries


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a model's parts come from."""

    base: str
    """What the caller calls the base model; adapters record it."""
    weights: str
    """A folder or a hub name."""
    adapter: Path | None


def locate(name: str, adapter: Path | None = None) -> Source:
    """The parts of the model `name`, with `adapter` on top. What cannot be a model is a `UserError`."""
    quiet_libraries()
    if adapter is not None and not (adapter / "adapter_config.json").exists():
        _require_weights(adapter)  # the whole model, after full fine-tuning
        return Source(base=name, weights=str(adapter), adapter=None)
    folder = Path(name).expanduser()
    if adapter is None and (folder / "adapter_config.json").exists():
        return Source(base=(base := _base_of(folder)), weights=_weights(base), adapter=folder)
    if adapter is not None:
        made_for = _base_of(adapter)
        if made_for != name:
            raise UserError(
                f"the adapter in {str(adapter)!r} was made for {made_for!r}, not for {name!r}: name that model, or another adapter"
            )
    return Source(base=name, weights=_weights(name), adapter=adapter)


def pick_device(device: str) -> str:
    """``cuda`` or ``cpu`` for ``auto``; a GPU that is asked for and missing is a `UserError`."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(
            f"device {device!r} is asked for, but torch {torch.__version__} sees no GPU: use 'auto' or 'cpu'"
        )
    return device


def load_tokenizer(source: Source) -> Any:
    """The tokenizer of the base, padding on the left, with a padding token."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(source.weights, padding_side="left")
    except (OSError, ValueError) as error:
        raise UserError(f"{source.base!r} has no tokenizer that Transformers can read: {error}") from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_config(name: str) -> tuple[Any, Any]:
    """The configuration of the model `name`, and its tokenizer or ``None``. No weights are needed, and no network."""
    from transformers import AutoConfig, AutoTokenizer

    quiet_libraries()
    folder = Path(name).expanduser()
    if (folder / "adapter_config.json").exists():
        return load_config(_base_of(folder))
    place = str(smollm2.folder()) if name == smollm2.NAME else str(folder) if folder.is_dir() else name
    try:
        config = AutoConfig.from_pretrained(place, local_files_only=True)
    except (OSError, ValueError) as error:
        raise UserError(
            f"the configuration of {name!r} is not on this machine: `hf download {name} --include '*.json'` fetches it, or "
            "set 'model.name' to a folder that holds its config.json (weights are not needed to look)"
        ) from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True, padding_side="left")
    except (OSError, ValueError):
        return config, None
    # From a configuration alone Transformers makes a tokenizer that knows no word.
    return config, tokenizer if tokenizer("word")["input_ids"] else None


def load_base(source: Source, *, device: str, dtype: str) -> Any:
    """The base model on `device`; `dtype` ``auto`` is bfloat16 on a GPU and float32 elsewhere."""
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
    try:
        model = AutoModelForCausalLM.from_pretrained(source.weights, dtype=getattr(torch, dtype))
    except (OSError, ValueError, SafetensorError) as error:
        raise UserError(f"{source.base!r} is no model that Transformers can load: {error}") from error
    return guard(model.to(device))


def load_adapter(model: Any, source: Source, *, trainable: bool) -> Any:
    """`model` with the source's adapter on it, in float32. Without `trainable` its gradients would silently be none."""
    from peft import PeftModel
    from safetensors import SafetensorError

    assert source.adapter is not None
    try:
        return PeftModel.from_pretrained(
            model, str(source.adapter), is_trainable=trainable, autocast_adapter_dtype=True
        )
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise UserError(f"the adapter in {str(source.adapter)!r} does not fit {source.base!r}: {error}") from error


def fingerprint(source: Source) -> str:
    """The base's name, and the digest of what is on top of it; ties gate, pilot and training to one policy."""
    top = source.adapter or (Path(source.weights) if source.weights != _weights(source.base) else None)
    if top is None:
        return source.base
    digest = hashlib.sha256()
    for file in sorted(top.glob("*.safetensors")):
        digest.update(file.read_bytes())
    return f"{source.base}+{digest.hexdigest()[:16]}"


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end an answer: the tokenizer's, and those that the model's own configuration names."""
    named = getattr(model.generation_config, "eos_token_id", None)
    named = named if isinstance(named, list) else [named]
    return sorted({token for token in [tokenizer.eos_token_id, *named] if token is not None})


def _weights(name: str) -> str:
    if name == smollm2.NAME:
        return str(smollm2.folder())
    folder = Path(name).expanduser()
    if folder.is_dir():
        _require_weights(folder)
        return str(folder)
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise UserError(
            f"there is no model folder {name!r}; --policy also takes smollm2, a hub name or openai:URL#MODEL"
        )
    return name


def _require_weights(folder: Path) -> None:
    if not (folder / "config.json").exists():
        raise UserError(
            f"the folder {str(folder)!r} holds no model: it has neither config.json nor adapter_config.json"
        )
    try:
        json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"{str(folder / 'config.json')!r} cannot be read: {error}; copy the model anew") from error
    if not [*folder.glob("*.safetensors"), *folder.glob("*.bin")]:
        raise UserError(f"the model folder {str(folder)!r} has no weights (*.safetensors or *.bin): copy them there")


def _base_of(adapter: Path) -> str:
    try:
        config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{str(adapter)!r} is no PEFT adapter: {error}") from error
    if not [*adapter.glob("adapter_model.*")]:
        raise UserError(
            f"the adapter folder {str(adapter)!r} has no weights (adapter_model.safetensors): copy them there"
        )
    base = config.get("base_model_name_or_path")
    if not isinstance(base, str):
        raise Unavailable(f"the adapter in {str(adapter)!r} does not say what model it was made for")
    return base
