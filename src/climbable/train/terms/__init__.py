"""Which terms of the objective act in a run, with equation, value and reason, from the resolved configuration of the trainer."""

from climbable.train.terms.grpo import grpo_terms
from climbable.train.terms.sft import sft_terms
from climbable.train.terms.term import Term, announce, lines

__all__ = ["Term", "announce", "grpo_terms", "lines", "sft_terms"]
