"""The same zygote in one long-lived container a worker, for systems without a jail of their own and for strangers' code."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from climbable.core.errors import Unavailable

ENGINES = ("docker", "podman")
IMAGE = "climbable-blender"
"""Made by the line in `Container.command`'s error, from ``docker/Dockerfile``: Python and Blender, nothing of Climbable's."""
_JAIL, _PROGRAM = "/climbable/jail", "/climbable/program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """How a container is started. In it there is no right to make namespaces: the jail is Landlock, seccomp and limits."""

    engine: str
    image: str = IMAGE
    memory_mib: int = 8192
    """Of all processes in it together, scratch included."""
    pids: int = 256
    scratch_mib: int = 1024

    def command(self, jail: Path, program: Path) -> list[str]:
        """The engine's command line; `Unavailable` where the engine is not installed.

        `jail` and `program` are shown read-only, so the code in the container is that of the driver.
        """
        if shutil.which(self.engine) is None:
            raise Unavailable(
                f"there is no {self.engine!r} on the path: install it, then type "
                f"`{self.engine} build -t {self.image} docker`"
            )
        return [
            *(self.engine, "run", "--rm", "--interactive", "--network", "none", "--read-only"),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "65534:65534"),
            *(
                "--pids-limit",
                str(self.pids),
                "--memory",
                f"{self.memory_mib}m",
                "--memory-swap",
                f"{self.memory_mib}m",
            ),
            *("--tmpfs", f"/tmp:rw,nosuid,nodev,noexec,size={self.scratch_mib}m,mode=1777"),
            *("--volume", f"{jail}:{_JAIL}:ro", "--volume", f"{program}:{_PROGRAM}:ro", self.image),
            *("python", "-I", f"{_JAIL}/in_container.py", _PROGRAM),
        ]
