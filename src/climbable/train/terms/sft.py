"""The terms of the warm-up, read from TRL's configuration as `SFTTrainer.compute_loss` of TRL 1.16 would use it."""

from __future__ import annotations

from typing import Any

from climbable.train.terms.optimiser import moe_balance, optimiser_terms
from climbable.train.terms.term import Term


def sft_terms(settings: Any, model: Any) -> list[Term]:
    """The terms of a warm-up with the ``SFTConfig`` `settings` on a model whose configuration is `model`."""
    dft, smooth = settings.loss_type == "dft", settings.label_smoothing_factor
    noise, only = settings.neftune_noise_alpha, settings.completion_only_loss
    return [
        Term(
            name="likelihood",
            active=True,
            equation="−π·log π of the row's token, π without gradient" if dft else "−log π of the row's token",
            value=settings.loss_type,
            why="each of the teacher's tokens becomes likelier after those before it",
        ),
        Term(
            name="length normalisation",
            active=True,
            equation="Σ over tokens / tokens of the update",
            value="tokens",
            why="every token counts alike, whatever its row's length",
        ),
        Term(
            name="completion mask",
            active=only is not False,
            equation="1 on the answer and its end, 0 on the prompt",
            value="the answer" if only is not False else "off",
            why="the prompt is given, not taught" if only is not False else "the prompt is taught too",
        ),
        Term(
            name="label smoothing",
            active=bool(smooth) and not dft,
            equation="(1 − s)·loss + s·mean loss over the vocabulary",
            value=f"s {smooth:g}",
            why="every token keeps some probability" if smooth and not dft else "s is 0",
        ),
        Term(
            name="embedding noise",
            active=bool(noise),
            equation="embeddings + uniform noise (NEFTune)",
            value="off" if noise is None else f"α {noise:g}",
            why="rows are blurred" if noise else "not set",
        ),
        moe_balance(settings, model),
        *optimiser_terms(settings),
    ]
