"""What `climb terms` says against TRL's own trainers: a term acts exactly if leaving it out changes loss, gradient or weights."""

import dataclasses
import json

import pytest
import torch

import toy
from climbable.cli import main
from climbable.recipe import dump_recipe
from climbable.train.grpo import trainer_settings
from climbable.train.learner import load_learner
from climbable.train.terms import grpo_terms, sft_terms
from climbable.train.warmup import encode, teacher_rows, warmup_settings

GROUP = 4
WORDS = ["ash oak", "sure oak", "pine", "elm fir oak", "oak", "sure ash elm", "fir fir", "rowan"]


@pytest.fixture(scope="module")
def small(recipe):
    return dataclasses.replace(
        recipe, train=dataclasses.replace(recipe.train, steps=2, prompts=2, group=GROUP, learning_rate=5e-3)
    )


def configured(settings, values):
    for name, value in values.items():
        assert hasattr(settings, name), name
        setattr(settings, name, value)
    return settings


def followed(make, learner, settings, **kinds):
    """All that a trainer does in a run: losses, gradients as the optimiser gets them, and the weights at the end."""
    from transformers import PrinterCallback, TrainerCallback

    seen = []

    class Watch(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **_):
            seen.extend(weights.grad.clone() for weights in model.parameters())

        def on_log(self, args, state, control, logs=None, **_):
            seen.append(torch.tensor(logs.get("loss", 0.0)))

    trainer = make(model=learner.model, processing_class=learner.tokenizer, args=settings, callbacks=[Watch()], **kinds)
    trainer.remove_callback(PrinterCallback)
    torch.manual_seed(0)
    trainer.train()
    return seen + [weights.detach().clone() for weights in learner.model.parameters()]


def grpo(recipe, folder, values, *, own_ratio=True):
    """A run of two steps on completions of fixed tokens and rewards; with `own_ratio` false every ratio is 1."""
    from datasets import Dataset
    from trl import GRPOTrainer

    learner = load_learner(recipe, toy.CHATTY, None)
    settings = configured(trainer_settings(recipe, "cpu", folder, 2), values)
    settings.max_steps = 2 * settings.num_iterations
    ends = [[], *[[learner.tokenizer.eos_token_id]] * (len(WORDS) - 1)]
    answers = [learner.tokenizer(words)["input_ids"] + end for words, end in zip(WORDS, ends, strict=True)]

    class Trainer(GRPOTrainer):
        def _compute_loss(self, model, inputs):
            if not own_ratio:
                inputs.pop("old_per_token_logps", None)
            return super()._compute_loss(model, inputs)

    def sample(prompts, trainer):
        ids = [learner.tokenizer(prompt)["input_ids"] for prompt in prompts]
        return {"prompt_ids": ids, "completion_ids": answers, "logprobs": None}

    def reward(completion_ids, **_):
        return [[1.0, 0.1, 0.5, 0.0, 0.3, 0.9, 0.2, 0.4][place] for place in range(len(completion_ids))]

    rows = Dataset.from_list([{"prompt": f"say {word}"} for word in ("oak", "ash pine", "elm", "fir")])
    return followed(
        Trainer, learner, settings, train_dataset=rows, reward_funcs=[reward], rollout_func=sample
    ), grpo_terms(settings, learner.model.config)


def acts(terms, name):
    return next(term for term in terms if term.name == name).active


def same(first, second):
    assert len(first) == len(second)
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


TWICE = {"num_iterations": 2}
GRPO_CASES = [
    ("clip", {}, {"epsilon": 0.9}, False),
    ("clip", TWICE | {"epsilon": 0.01}, {"epsilon": 0.99, "epsilon_high": 99.0}, True),
    ("clip", TWICE | {"loss_type": "sapo"}, {"epsilon": 0.99}, False),
    ("clip", {"loss_type": "cispo", "epsilon_high": 5.0}, {"epsilon_high": 50.0}, False),
    ("clip", {"loss_type": "cispo", "epsilon_high": 0.5}, {"epsilon_high": 50.0}, True),
    ("two-sided clip", {"delta": 1.001}, {"delta": None}, False),
    ("two-sided clip", TWICE | {"delta": 1.001, "epsilon": 0.9}, {"delta": None}, True),
    ("off-policy mask", {"off_policy_mask_threshold": 1e-6}, {"off_policy_mask_threshold": None}, False),
    ("off-policy mask", TWICE | {"off_policy_mask_threshold": 1e-6}, {"off_policy_mask_threshold": None}, True),
    ("importance correction", {}, {"vllm_importance_sampling_correction": False}, False),
    ("advantage scale", {}, {"scale_rewards": "none"}, True),
    ("advantage scale", {"scale_rewards": "batch"}, {"scale_rewards": "none"}, True),
    ("length normalisation", {}, {"loss_type": "dr_grpo"}, True),
    ("truncation mask", {"mask_truncated_completions": True}, {"mask_truncated_completions": False}, True),
    ("high-entropy tokens", {"top_entropy_quantile": 0.5}, {"top_entropy_quantile": 1.0}, True),
    ("temperature", {"temperature": 0.7}, {"temperature": 1.0}, True),
    ("KL", {"beta": 0.5}, {"beta": 0.0}, True),
    ("KL's ratio", {"beta": 0.5}, {"use_bias_correction_kl": False}, True),
    ("KL's ratio", {}, {"use_bias_correction_kl": False}, False),
    ("entropy bonus", {"entropy_coef": 0.1}, {"entropy_coef": 0.0}, True),
    ("entropy bonus", {}, {"entropy_target": 9.0}, False),
    ("expert balance", {}, {"router_aux_loss_coef": 0.0}, False),
    ("weight decay", {"weight_decay": 0.1}, {"weight_decay": 0.0}, True),
    ("gradient clipping", {"max_grad_norm": 1e-3}, {"max_grad_norm": 0.0}, True),
]


@pytest.mark.parametrize(("name", "values", "without", "active"), GRPO_CASES)
def test_a_term_of_grpo_acts_exactly_if_it_is_said_to(small, tmp_path, name, values, without, active):
    whole, terms = grpo(small, tmp_path, values)
    assert acts(terms, name) is active
    assert same(whole, grpo(small, tmp_path, values | without)[0]) is not active


@pytest.mark.parametrize(("values", "active"), [({}, False), (TWICE, True)])
def test_the_ratio_is_one_exactly_if_it_is_said_to_be(small, tmp_path, values, active):
    whole, terms = grpo(small, tmp_path, values)
    assert acts(terms, "ratio") is active
    assert same(whole, grpo(small, tmp_path, values, own_ratio=False)[0]) is not active


def sft(recipe, folder, values):
    from datasets import Dataset
    from trl import SFTTrainer

    learner = load_learner(recipe, toy.CHATTY, None)
    rows = [encode(learner, toy.CHATTY, task, style) for task, style in teacher_rows(recipe, toy.CHATTY)[:8]]
    settings = configured(warmup_settings(recipe, "cpu", folder, 1), {"num_train_epochs": 2} | values)
    return followed(SFTTrainer, learner, settings, train_dataset=Dataset.from_list(rows)), sft_terms(
        settings, learner.model.config
    )


@pytest.mark.parametrize(
    ("name", "values", "without", "active"),
    [
        ("completion mask", {}, {"completion_only_loss": False}, True),
        ("embedding noise", {"neftune_noise_alpha": 5.0}, {"neftune_noise_alpha": None}, True),
        ("expert balance", {}, {"router_aux_loss_coef": 0.0}, False),
        ("weight decay", {"weight_decay": 0.1}, {"weight_decay": 0.0}, True),
        ("gradient clipping", {"max_grad_norm": 1e-3}, {"max_grad_norm": 0.0}, True),
    ],
)
def test_a_term_of_the_warm_up_acts_exactly_if_it_is_said_to(small, tmp_path, name, values, without, active):
    whole, terms = sft(small, tmp_path, values)
    assert acts(terms, name) is active
    assert same(whole, sft(small, tmp_path, values | without)[0]) is not active


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_the_trainer_gives_a_sampled_token_the_probability_that_it_was_sampled_with(small, tmp_path, temperature):
    from datasets import Dataset
    from transformers import GenerationConfig
    from trl import GRPOTrainer

    learner = load_learner(small, toy.CHATTY, None)
    settings = configured(trainer_settings(small, "cpu", tmp_path, 1), {"temperature": temperature})
    prompt = torch.tensor([learner.tokenizer("say oak")["input_ids"]])
    config = GenerationConfig(
        do_sample=True, temperature=temperature, top_k=0, max_new_tokens=8, pad_token_id=0, eos_token_id=None
    )
    torch.manual_seed(0)
    sampled = learner.model.eval().generate(
        prompt, generation_config=config, output_scores=True, return_dict_in_generate=True
    )
    ids = sampled.sequences
    drawn = torch.stack(sampled.scores, 1).log_softmax(-1).gather(2, ids[:, prompt.shape[1] :, None])[..., 0]
    trainer = GRPOTrainer(
        model=learner.model,
        processing_class=learner.tokenizer,
        args=settings,
        train_dataset=Dataset.from_list([{"prompt": "say oak"}] * 2),
        reward_funcs=[lambda **_: []],
        rollout_func=lambda prompts, trainer: {},
    )
    with torch.no_grad():
        learnt = trainer._get_per_token_logps_and_entropies(trainer.model, ids, torch.ones_like(ids), drawn.shape[1])[0]
    torch.testing.assert_close(learnt, drawn, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("stage", ["warmup", "train"])
def test_the_command_says_what_the_trainer_would_be_configured_with(small, tmp_path, capsys, stage):
    recipe = dataclasses.replace(small, train=dataclasses.replace(small.train, entropy_bonus=0.01, beta=0.02))
    path = tmp_path / "recipe.toml"
    path.write_text(dump_recipe(recipe), encoding="utf-8")
    assert main(["terms", str(path), "--stage", stage, "--json"]) == 0
    model = load_learner(recipe, toy.CHATTY, None).model.config
    if stage == "train":
        said = grpo_terms(trainer_settings(recipe, "cpu", tmp_path, 2), model)
        assert acts(said, "KL") and acts(said, "entropy bonus")
    else:
        said = sft_terms(warmup_settings(recipe, "cpu", tmp_path, 1), model)
    assert json.loads(capsys.readouterr().out)["terms"] == [dataclasses.asdict(term) for term in said]
