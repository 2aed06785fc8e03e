"""Warm-up, pilot and GRPO: TRL trains and PEFT adapts; what they silently leave undone is caught here."""

from climbable.train.grpo import TrainResult, train
from climbable.train.pilot import PilotVerdict, run_pilot
from climbable.train.warmup import WarmupResult, warm_up

__all__ = ["PilotVerdict", "TrainResult", "WarmupResult", "run_pilot", "train", "warm_up"]
