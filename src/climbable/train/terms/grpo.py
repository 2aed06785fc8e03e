"""The terms of GRPO, read from TRL's configuration as `GRPOTrainer._compute_loss` of TRL 1.16 would use it."""

from __future__ import annotations

from typing import Any

from climbable.train.terms.optimiser import moe_balance, optimiser_terms
from climbable.train.terms.term import Term

POLICY = {
    "cispo": "−min(ρ, ε_high)·A·log π, the weight without gradient",
    "sapo": "−(4/τ)·σ(τ(ρ − 1))·A",
    "vespo": "−φ(w)·A·log π, φ without gradient, w the whole completion's ratio",
}
"""The policy term of a token by loss; elsewhere it is the clipped one of PPO."""

LENGTH = {
    "grpo": ("Σ over completions of (1/|o|)·Σ over tokens, over their number", "long answers count less a token"),
    "sapo": ("Σ over completions of (1/|o|)·Σ over tokens, over their number", "long answers count less a token"),
    "bnpo": ("Σ over tokens / tokens of the micro-batch", "every token of a micro-batch counts alike"),
    "dr_grpo": ("Σ over tokens / (completions × longest allowed)", "every token counts alike, by a constant"),
    "luspo": ("Σ over completions of Σ over tokens, over their number", "long answers count more"),
}
"""How a loss sums tokens, and what that does; those that are not here sum over all tokens of the update."""

HARD_CLIP = ("grpo", "bnpo", "dr_grpo", "dapo", "luspo")


def grpo_terms(settings: Any, model: Any) -> list[Term]:
    """The terms of a run with the ``GRPOConfig`` `settings` on a model whose configuration is `model`."""
    return [
        *_policy_terms(settings),
        *_weights_of_tokens(settings),
        *_regularisers(settings),
        moe_balance(settings, model),
        *optimiser_terms(settings),
    ]


def on_policy(settings: Any) -> bool:
    """Whether every update comes right after the samples it learns from: TRL then compares the policy with itself."""
    return bool(settings.gradient_accumulation_steps % (settings.steps_per_generation * settings.num_iterations) == 0)


def _policy_terms(settings: Any) -> list[Term]:
    same, loss = on_policy(settings), settings.loss_type
    high = settings.epsilon if settings.epsilon_high is None else settings.epsilon_high
    updates = f"{settings.num_iterations} iteration{'s' if settings.num_iterations > 1 else ''} a sample"
    self_ratio = "1 at every update, since each generation makes one update: the plain policy gradient"
    exponent = "1/|o|·Σ over tokens" if settings.importance_sampling_level == "sequence" else "a token"
    clip, value, always = f"clip(ρ, 1 − {settings.epsilon:g}, 1 + {high:g})", f"ε {settings.epsilon:g}, {high:g}", False
    if loss == "cispo":
        clip, value, always = f"min(ρ, {high:g})", f"ε_high {high:g}", high < 1
    soft = loss not in (*HARD_CLIP, "cispo")
    return [
        Term(
            name="policy gradient",
            active=True,
            equation=POLICY.get(loss, "−min(ρ·A, clip(ρ)·A)"),
            value=loss,
            why="a completion better than its group becomes likelier, token by token",
        ),
        Term(
            name="ratio",
            active=not same,
            equation=f"ρ = exp(log π − log π_old), {exponent}",
            value=updates,
            why=f"{self_ratio}; its gradient is that of log π"
            if same
            else "updates after a generation's first are off-policy: π has moved away from π_old",
        ),
        Term(
            name="clip",
            active=not soft and (not same or always),
            equation="none" if soft else clip,
            value=value,
            why=f"the loss {loss!r} has a soft gate instead"
            if soft
            else "the largest ratio is below 1, so even a ratio of 1 is cut: every gradient shrinks"
            if always
            else "the ratio is 1 at every update, inside the clip range"
            if same
            else "ends the gradient of tokens whose ratio has left the range in their advantage's direction",
        ),
        Term(
            name="two-sided clip",
            active=settings.delta is not None and loss in HARD_CLIP and (not same or settings.delta < 1),
            equation="ρ ← min(ρ, δ)",
            value="off" if settings.delta is None else f"δ {settings.delta:g}",
            why="not set" if settings.delta is None else "acts on ratios above δ",
        ),
        Term(
            name="off-policy mask",
            active=settings.off_policy_mask_threshold is not None and not same,
            equation="0 for a completion with A < 0 and mean(log π_old − log π) > δ",
            value="off" if settings.off_policy_mask_threshold is None else f"δ {settings.off_policy_mask_threshold:g}",
            why="not set" if settings.off_policy_mask_threshold is None else "drops bad completions that π has left",
        ),
        Term(
            name="importance correction",
            active=bool(settings.use_vllm and settings.vllm_importance_sampling_correction),
            equation="× π_old / π_sampler",
            value=settings.vllm_importance_sampling_mode if settings.use_vllm else "no vLLM",
            why="corrects for vLLM's own arithmetic"
            if settings.use_vllm
            else "TRL has it for vLLM alone; here the sampler's weights are the learner's, and the pilot measures their gap",
        ),
    ]


def _weights_of_tokens(settings: Any) -> list[Term]:
    scale, temperature = settings.scale_rewards, settings.temperature
    summed, effect = LENGTH.get(
        settings.loss_type,
        ("Σ over tokens / tokens of the update", "every token counts alike, whatever its answer's length"),
    )
    spread = {"group": "the group", "batch": "the step"}.get(scale)
    quantile = settings.top_entropy_quantile
    return [
        Term(
            name="advantage scale",
            active=spread is not None,
            equation="A = (r − mean of the group)" + (f" / (std of {spread} + 10⁻⁴)" if spread else ""),
            value=scale,
            why="a group whose rewards differ little pulls as hard as one whose rewards differ much"
            if scale == "group"
            else "groups keep their weights towards each other, and the step's size is evened out"
            if spread
            else "an advantage is in units of the reward",
        ),
        Term(name="length normalisation", active=True, equation=summed, value=settings.loss_type, why=effect),
        Term(
            name="completion mask",
            active=True,
            equation="1 on a completion's tokens and its end, 0 on prompt and padding",
            value="completion tokens",
            why="what the policy did not choose is not judged",
        ),
        Term(
            name="truncation mask",
            active=bool(settings.mask_truncated_completions),
            equation="0 on completions without an end",
            value="on" if settings.mask_truncated_completions else "off",
            why="truncated answers teach nothing"
            if settings.mask_truncated_completions
            else "truncated answers count with the reward that they got",
        ),
        Term(
            name="high-entropy tokens",
            active=quantile < 1,
            equation="0 on tokens whose entropy is below the quantile",
            value=f"the top {quantile:.0%}",
            why="only tokens where the policy hesitates learn, a micro-batch at a time"
            if quantile < 1
            else "all tokens learn",
        ),
        Term(
            name="temperature",
            active=temperature != 1,
            equation="log π = log softmax(logits / T)",
            value=f"T {temperature:g}",
            why="ratio, KL and entropy are of the distribution that was sampled from; gradients on logits grow by 1/T"
            if temperature != 1
            else "logits are taken as they are",
        ),
    ]


def _regularisers(settings: Any) -> list[Term]:
    beta, bonus, adaptive = settings.beta, settings.entropy_coef, settings.use_adaptive_entropy
    return [
        Term(
            name="KL",
            active=beta != 0,
            equation="+ β·(π_ref/π − log(π_ref/π) − 1)",
            value=f"β {beta:g}",
            why="holds π to the policy that this stage starts from; no gradient before the first update"
            if beta
            else "β is 0, so no reference is made",
        ),
        Term(
            name="KL's ratio",
            active=bool(beta != 0 and settings.use_bias_correction_kl),
            equation="KL × ρ",
            value="on" if settings.use_bias_correction_kl else "off",
            why="there is no KL term"
            if not beta
            else "makes its gradient that of the reverse KL, also where ρ is 1"
            if settings.use_bias_correction_kl
            else "the estimate is differentiated as it is",
        ),
        Term(
            name="entropy bonus",
            active=bool(bonus != 0 or adaptive),
            equation="− c·mean over tokens of H(π)",
            value=f"c {bonus:g}" + (", adaptive" if adaptive else ""),
            why="keeps the policy from settling; over completion tokens, a mean a micro-batch whatever the loss"
            if bonus or adaptive
            else "its weight is 0",
        ),
    ]
