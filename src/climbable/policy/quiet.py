"""Keeps libraries from writing over the progress display: their bars and notes off, their errors on."""

from __future__ import annotations

import os
import warnings


def quiet_libraries() -> None:
    """Before Transformers, Datasets or TRL do anything at length. What they silently don't do is checked elsewhere."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # we fork
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TQDM_DISABLE", "1")  # some loaders ask no one before they draw a bar
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.filterwarnings("ignore", module=r"(trl|transformers|peft|accelerate|torch)\b")
