"""The terms that warm-up and GRPO share: what is done to the gradient, and what a mixture of experts adds."""

from __future__ import annotations

from typing import Any

from climbable.train.terms.term import Term


def optimiser_terms(settings: Any) -> list[Term]:
    """Weight decay and gradient clipping."""
    decay, norm = settings.weight_decay, settings.max_grad_norm
    return [
        Term(
            name="weight decay",
            active=bool(decay),
            equation="w ← w − η·λ·w",
            value=f"λ {decay:g}",
            why="weights shrink, also where no reward differs"
            if decay
            else "λ is 0: nothing but the loss moves a weight",
        ),
        Term(
            name="gradient clipping",
            active=bool(norm),
            equation="g ← g·min(1, most/‖g‖)",
            value=f"at most {norm:g}" if norm else "off",
            why="acts on updates whose gradient norm is larger" if norm else "gradients are taken as they are",
        ),
    ]


def moe_balance(settings: Any, model: Any) -> Term:
    """The load-balancing loss of a mixture of experts, by the model's own weight unless the settings have one."""
    text = model.get_text_config()
    own = getattr(text, "router_aux_loss_coef", 0.0)
    weight = own if settings.router_aux_loss_coef is None else settings.router_aux_loss_coef
    active = bool(hasattr(text, "output_router_logits") and weight)
    return Term(
        name="expert balance",
        active=active,
        equation="+ c·load-balancing loss",
        value=f"c {weight:g}",
        why="the model is a mixture of experts" if active else "the model is no mixture of experts, or its weight is 0",
    )
