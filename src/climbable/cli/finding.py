"""What `climb doctor` says of one part of this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One part of this machine."""

    part: str
    works: bool
    here: str
    """What was found, or why it does not work."""
    cost: str = ""
    """What its lack costs."""
    fix: str = ""
    """What to type."""
    needed: bool = False
    """The main path does not work without it."""

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)
