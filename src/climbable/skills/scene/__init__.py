"""Skill `scene`: a sentence about cubes and spheres in, a Blender script out, measured to 3 cm.

`stack` and `next_to` are trained, `between` is held out; the others are for a recipe's `families` or its ladder.
"""

from __future__ import annotations

from climbable.core.prompt import extract_script
from climbable.core.skill import CompletionFault, Family, Skill
from climbable.core.types import Reason
from climbable.skills.scene.cheats import attacks, honest
from climbable.skills.scene.checks import judge
from climbable.skills.scene.scripted import SCRIPTED
from climbable.skills.scene.tasks import make_task, subkind
from climbable.skills.scene.teacher import teach
from climbable.skills.scene.wording import SYSTEM


def read(completion: str) -> str:
    """The script in a completion."""
    script = extract_script(completion)
    if script is None:
        raise CompletionFault(Reason.NO_CODE, "the answer holds no script")
    return script


SKILL = Skill(
    name="scene",
    summary="builds Blender scenes of cubes and spheres from a sentence",
    runtime="blender",
    families=(
        Family(name="stack", summary="two or three cubes, each centred on the one below"),
        Family(name="next_to", summary="a cube or a sphere that touches a named face of a cube"),
        Family(name="between", summary="an object exactly halfway between two cubes", held_out=True),
        Family(name="place", summary="cubes and spheres, each at a position of its own", ladder=True, levels=2),
        Family(name="rotated", summary="a cube turned about its vertical axis", ladder=True, levels=2),
        Family(name="chain", summary="objects beside or on top of the one before", ladder=True, levels=2),
        Family(name="many", summary="four to eight cubes in towers and alone", ladder=True, levels=2),
    ),
    system_prompt=SYSTEM,
    floor=0.0,
    ceiling=1.0,
    make_task=make_task,
    teach=teach,
    read=read,
    judge=judge,
    subkind=subkind,
    scripted=SCRIPTED,
    crash="import bpy\nbpy.data.cube",
    attacks=attacks,
    honest=honest,
)
