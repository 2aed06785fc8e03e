"""A recipe: one TOML file that describes a run, read into frozen values. An unknown key is an error.

A recipe's folder decides nothing; a relative path in `model.name` is taken as the shell would take it.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from climbable.core.errors import UserError, nearest
from climbable.core.gate import Bar
from climbable.core.skill import Skill

Schedule = Literal["constant", "linear", "cosine", "constant_with_warmup"]
"""Of the learning rate, as Transformers names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Which model learns, and how its weights are trained."""

    name: str = "smollm2"
    """``smollm2``, a Transformers folder or a hub name, with or without a PEFT adapter."""
    device: str = "auto"
    """``auto`` takes the GPU where there is one."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the frozen weights: ``auto`` is bfloat16 on a GPU and float32 elsewhere. A LoRA adapter is always float32."""
    method: Literal["lora", "full"] = "lora"
    lora_rank: int = 16
    lora_alpha: int = 32
    lora_targets: tuple[str, ...] = ()
    """Names of the modules that get an adapter; empty: chosen by the model's architecture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How completions are drawn: the same in gate, pilot, training and evaluation."""

    temperature: float = 0.7
    top_p: float = 1.0
    max_new_tokens: int = 192
    batch_size: int = 64
    """Completions sampled at once, outside the trainer."""
    cache: Literal["auto", "dynamic", "static", "graph"] = "auto"
    """Of keys and values: ``static`` is compiled; ``graph`` replays one captured step a token, which is fastest on a GPU.
    ``auto`` takes the graph on a GPU where the model allows it, and ``dynamic`` elsewhere."""
    merge: bool = True
    """Whether training samples from a copy with the adapter merged in: faster, for the base's memory once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings(Bar):
    """When a reward counts as climbable, and by how many samples that is judged."""

    tasks: int = 32
    samples: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """Supervised rows by the skill's teacher, balanced over sub-kinds. ``rows = 0`` leaves the stage out."""

    rows: int = 96
    styles: int = 1
    """How many of the teacher's code styles the rows are written in."""
    families: tuple[str, ...] = ()
    """Families of the rows; empty: those to train and the ladder's rungs, since GRPO can't reward what is never sampled."""
    epochs: int = 3
    batch_size: int = 16
    learning_rate: float = 1e-3
    schedule: Schedule = "cosine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """A few GRPO steps that must move the weights; they are thrown away."""

    steps: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Train:
    """GRPO. A step samples ``prompts × group`` completions and makes `num_iterations` updates from them."""

    steps: int = 60
    prompts: int = 8
    group: int = 8
    micro_batch: int = 0
    """Completions in one forward and backward pass; 0: all of a step. Smaller fits less memory, same gradient."""
    learning_rate: float = 1e-4
    schedule: Schedule = "constant"
    warmup_steps: int = 0
    num_iterations: int = 1
    """Updates from one step's samples; from the second on they are off-policy, and the clip can act."""
    loss: Literal["dapo", "grpo", "bnpo", "dr_grpo", "cispo", "sapo", "luspo", "vespo"] = "dapo"
    """How TRL sums the tokens' losses; it explains each under ``loss_type``."""
    importance_sampling_level: Literal["token", "sequence"] = "token"
    """Whether each token has its own probability ratio, or a completion one for all its tokens (GSPO)."""
    epsilon: float = 0.2
    """How far below 1 the ratio may fall before the clip ends its gradient."""
    epsilon_high: float = 0.0
    """How far above 1 it may rise; 0: as far as `epsilon`. For ``cispo`` the largest ratio itself, such as 5."""
    beta: float = 0.0
    """Weight of the KL divergence from the policy that GRPO starts from; 0 leaves it out."""
    entropy_bonus: float = 0.0
    """Weight of the mean entropy of the sampled completions' tokens, in nats, which the objective then raises."""
    top_entropy_quantile: float = 1.0
    """Share of the tokens, those of highest entropy, that the reward teaches; 1: all."""
    scale_rewards: Literal["group", "batch", "none"] = "group"
    """What an advantage is divided by: the standard deviation within the group, within the step, or nothing."""
    max_grad_norm: float = 1.0
    gradient_checkpointing: bool = False
    checkpoint_every: int = 1
    """Steps between checkpoints: a kill loses at most the steps since the last one."""
    dynamic_sampling: bool = False
    """Whether groups without signal are replaced by fresh tasks before the update; costs samples, which are counted."""
    max_resamples: int = 3
    """So many rounds of replacement a step at most; what still has no signal then stays in the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderSettings:
    """Families that follow one by one, as ``many`` or ``many@2``, each once the level below is solved. No rungs, no ladder."""

    rungs: tuple[str, ...] = ()
    solved_at: float = 0.95
    """pass@1 over the latest `window` groups of the newest level from which on it counts as solved."""
    window: int = 64
    """Groups; with fewer of a level sampled so far, it is not judged."""
    keep: float = 0.25
    """Share of a step's prompts that still goes to the levels below, so that they are not forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A frozen policy on test tasks of trained and held-out families."""

    tasks: int = 32
    """For each family."""
    samples: int = 4
    """For each task; pass@k is estimated for k up to this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """The sandbox's limits, and how many samples are verified at once."""

    workers: int = 0
    """0: one a core."""
    wall_s: float = 40.0
    memory_mib: int = 4096
    runner: Literal["local", "docker", "podman"] = "local"
    """Where scripts run: in this machine's own jail, or in a container of that engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What turns seconds into money."""

    price_per_hour: float = 0.0
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A whole run."""

    name: str
    skill: str
    seed: int = 0
    families: tuple[str, ...] = ()
    """Families to train; empty: all that the skill trains."""
    model: Model = field(default_factory=Model)
    sampling: Sampling = field(default_factory=Sampling)
    gate: GateSettings = field(default_factory=GateSettings)
    warmup: Warmup = field(default_factory=Warmup)
    pilot: Pilot = field(default_factory=Pilot)
    train: Train = field(default_factory=Train)
    ladder: LadderSettings = field(default_factory=LadderSettings)
    evaluation: Evaluation = field(default_factory=Evaluation)
    verify: Verify = field(default_factory=Verify)
    costs: Costs = field(default_factory=Costs)

    def trained_families(self, skill: Skill) -> tuple[str, ...]:
        """The families that training begins with."""
        return self.families or skill.trained_families()

    def all_trained_families(self, skill: Skill) -> tuple[str, ...]:
        """The families that training begins with, and those that the ladder may reach."""
        return tuple(dict.fromkeys((*self.trained_families(skill), *self.ladder.rungs)))

    def warmup_families(self, skill: Skill) -> tuple[str, ...]:
        """The families that the warm-up shows."""
        return self.warmup.families or self.all_trained_families(skill)

    def require_trainable(self, skill: Skill) -> None:
        """A `UserError` for a family that `skill` does not have or holds out, and for one that is two levels of the ladder."""
        levels = (*self.trained_families(skill), *self.ladder.rungs)
        for family in (*levels, *self.warmup.families):
            skill.task(family, "train", 0)
            if levels.count(family) > 1:
                raise UserError(
                    f"family {family!r} is two levels of the ladder: name it once, in 'families' or in 'ladder.rungs'"
                )


def load_recipe(path: Path) -> Recipe:
    """Reads a recipe; anything wrong with the file is a `UserError` that names the key and what is allowed."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"cannot read recipe {str(path)!r}: {error.strerror}; the ones that come along are in recipes/"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"recipe {str(path)!r} is not TOML: {error}") from None
    table.setdefault("name", path.stem)
    recipe: Recipe = _build(Recipe, table, str(path), "")
    _check(recipe, str(path))
    return recipe


def dump_recipe(recipe: Recipe) -> str:
    """The recipe as TOML with every default written out; `load_recipe` reads it back to an equal value."""
    scalars, tables = [], []
    for spec in dataclasses.fields(recipe):
        value = getattr(recipe, spec.name)
        if dataclasses.is_dataclass(value):
            lines = [f"{inner.name} = {_toml(getattr(value, inner.name))}" for inner in dataclasses.fields(value)]
            tables.append(f"\n[{spec.name}]\n" + "\n".join(lines) + "\n")
        else:
            scalars.append(f"{spec.name} = {_toml(value)}\n")
    return "".join(scalars + tables)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        escaped = "".join(f"\\u{ord(c):04X}" if ord(c) < 32 or c in '"\\\x7f' else c for c in value)
        return f'"{escaped}"'
    return repr(value)


def _build(kind: Any, table: dict[str, Any], path: str, prefix: str) -> Any:
    """A `kind` from a TOML table, with every key and type checked."""
    hints = typing.get_type_hints(kind)
    specs = {spec.name: spec for spec in dataclasses.fields(kind)}
    values = {}
    for key, value in table.items():
        if key not in specs:
            raise UserError(f"recipe {path!r} has an unknown key {prefix + key!r}: {nearest(key, specs)}")
        values[key] = _convert(hints[key], value, path, prefix + key)
    for name, spec in specs.items():
        if name not in values and spec.default is spec.default_factory is dataclasses.MISSING:
            raise UserError(
                f"recipe {path!r} lacks the key {prefix + name!r}; recipes/quickstart.toml shows a whole one"
            )
    return kind(**values)


def _convert(hint: Any, value: Any, path: str, key: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise UserError(f"recipe {path!r}: {key!r} is a table, written as [{key}], not {value!r:.60}")
        return _build(hint, value, path, key + ".")
    if typing.get_origin(hint) is Literal:
        allowed = typing.get_args(hint)
        if value not in allowed:
            raise UserError(f"recipe {path!r}: {key!r} is {value!r:.60}; {nearest(str(value), allowed)}")
        return value
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UserError(f"recipe {path!r}: {key!r} is {value!r:.60}; it must be a list of strings")
        return tuple(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        assert not isinstance(hint, types.UnionType)
        raise UserError(f"recipe {path!r}: {key!r} is {value!r:.60}; it must be of type {hint.__name__}")
    return value


def _check(recipe: Recipe, path: str) -> None:
    """Values that no run can use are refused before anything is loaded."""
    rules = [
        (
            "sampling.temperature",
            recipe.sampling.temperature,
            recipe.sampling.temperature > 0,
            "above 0: greedy groups never differ",
        ),
        ("sampling.top_p", recipe.sampling.top_p, 0 < recipe.sampling.top_p <= 1, "above 0 and at most 1"),
        ("sampling.max_new_tokens", recipe.sampling.max_new_tokens, recipe.sampling.max_new_tokens >= 1, "1 or more"),
        ("sampling.batch_size", recipe.sampling.batch_size, recipe.sampling.batch_size >= 1, "1 or more"),
        ("model.lora_rank", recipe.model.lora_rank, recipe.model.lora_rank >= 1, "1 or more"),
        ("gate.tasks", recipe.gate.tasks, recipe.gate.tasks >= 1, "1 or more"),
        (
            "gate.samples",
            recipe.gate.samples,
            recipe.gate.samples >= 2,
            "2 or more: one sample has nothing to differ from",
        ),
        ("warmup.rows", recipe.warmup.rows, recipe.warmup.rows >= 0, "0 (no warm-up) or more"),
        ("warmup.styles", recipe.warmup.styles, recipe.warmup.styles >= 1, "1 or more"),
        (
            "warmup.epochs",
            recipe.warmup.epochs,
            recipe.warmup.epochs >= 1,
            "1 or more; rows = 0 leaves the warm-up out",
        ),
        ("warmup.learning_rate", recipe.warmup.learning_rate, recipe.warmup.learning_rate > 0, "above 0"),
        ("warmup.batch_size", recipe.warmup.batch_size, recipe.warmup.batch_size >= 1, "1 or more"),
        ("pilot.steps", recipe.pilot.steps, recipe.pilot.steps >= 1, "1 or more"),
        ("train.steps", recipe.train.steps, recipe.train.steps >= 1, "1 or more"),
        ("train.prompts", recipe.train.prompts, recipe.train.prompts >= 1, "1 or more"),
        (
            "train.group",
            recipe.train.group,
            recipe.train.group >= 2,
            "2 or more: an advantage compares samples of one task",
        ),
        ("train.learning_rate", recipe.train.learning_rate, recipe.train.learning_rate > 0, "above 0"),
        ("train.num_iterations", recipe.train.num_iterations, recipe.train.num_iterations >= 1, "1 or more"),
        ("train.epsilon", recipe.train.epsilon, 0 < recipe.train.epsilon < 1, "above 0 and below 1"),
        (
            "train.epsilon_high",
            recipe.train.epsilon_high,
            0 <= recipe.train.epsilon_high < math.inf,
            "0 (as epsilon) or more",
        ),
        ("train.beta", recipe.train.beta, 0 <= recipe.train.beta < math.inf, "0 (no KL term) or more"),
        (
            "train.entropy_bonus",
            recipe.train.entropy_bonus,
            0 <= recipe.train.entropy_bonus < math.inf,
            "0 (no bonus) or more",
        ),
        (
            "train.top_entropy_quantile",
            recipe.train.top_entropy_quantile,
            0 < recipe.train.top_entropy_quantile <= 1,
            "above 0 and at most 1",
        ),
        ("train.max_grad_norm", recipe.train.max_grad_norm, recipe.train.max_grad_norm >= 0, "0 (no clipping) or more"),
        ("train.checkpoint_every", recipe.train.checkpoint_every, recipe.train.checkpoint_every >= 1, "1 or more"),
        ("train.max_resamples", recipe.train.max_resamples, recipe.train.max_resamples >= 1, "1 or more"),
        ("ladder.solved_at", recipe.ladder.solved_at, 0 < recipe.ladder.solved_at <= 1, "above 0 and at most 1"),
        ("ladder.window", recipe.ladder.window, recipe.ladder.window >= 1, "1 or more"),
        ("ladder.keep", recipe.ladder.keep, 0 <= recipe.ladder.keep < 1, "0 or more and below 1"),
        ("evaluation.tasks", recipe.evaluation.tasks, recipe.evaluation.tasks >= 1, "1 or more"),
        ("evaluation.samples", recipe.evaluation.samples, recipe.evaluation.samples >= 1, "1 or more"),
        ("verify.workers", recipe.verify.workers, recipe.verify.workers >= 0, "0 (one a core) or more"),
        ("costs.price_per_hour", recipe.costs.price_per_hour, recipe.costs.price_per_hour >= 0, "0 or more"),
        ("verify.wall_s", recipe.verify.wall_s, recipe.verify.wall_s > 0, "above 0"),
        ("verify.memory_mib", recipe.verify.memory_mib, recipe.verify.memory_mib >= 256, "256 or more"),
    ]
    for key, value, fine, allowed in rules:
        if not fine:
            raise UserError(f"recipe {path!r}: {key!r} is {value!r}; it must be {allowed}")
    _check_loss(recipe.train, path)
    step = recipe.train.prompts * recipe.train.group
    if recipe.train.micro_batch < 0 or (recipe.train.micro_batch and step % recipe.train.micro_batch):
        raise UserError(
            f"recipe {path!r}: 'train.micro_batch' is {recipe.train.micro_batch}; it must divide prompts × group = {step}, or be 0"
        )


def _check_loss(train: Train, path: str) -> None:
    """Settings that a loss gives another meaning, or none."""
    level = {"luspo": "sequence", "vespo": "token"}.get(train.loss, train.importance_sampling_level)
    if train.importance_sampling_level != level:
        raise UserError(
            f"recipe {path!r}: the loss {train.loss!r} is one for 'train.importance_sampling_level' {level!r}, "
            f"not {train.importance_sampling_level!r}"
        )
    if train.loss == "cispo" and train.epsilon_high < 1:
        raise UserError(
            f"recipe {path!r}: 'train.epsilon_high' is {train.epsilon_high}; for the loss 'cispo' it is the largest ratio "
            "itself, so 1 or more, such as 5: below 1 it would only shrink every gradient"
        )
