"""What the sandbox is given and gives back: limits, and what became of one script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from climbable.core.types import Outcome, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one sample may use. Times are wall time in seconds."""

    wall_s: float = 40.0
    memory_mib: int = 4096
    """Of address space, on top of what Blender itself has mapped."""
    scratch_mib: int = 256
    artefact_mib: int = 64
    measure_s: float = 20.0
    measure_memory_mib: int = 4096
    vertices: int = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What became of one script: `SCORED` means that it ran to its end and a clean process measured the result."""

    outcome: Outcome
    reason: Reason | None = None
    detail: str | None = None
    artefact: Mapping[str, Any] | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
