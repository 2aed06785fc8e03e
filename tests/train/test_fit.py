"""What `climb fit` predicts, and that the recipes' adapters are where a gradient arrives."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch

import toy
from climbable.cli import main
from climbable.core.errors import UserError
from climbable.policy import loading
from climbable.policy.quiet import quiet_libraries
from climbable.recipe import Model, Recipe, Sampling, Train, Warmup, load_recipe
from climbable.train.activations import count_activations
from climbable.train.cause import gradients
from climbable.train.fit import predict_fit
from climbable.train.learner import Learner, add_adapter

RECIPES = Path(__file__).parents[2] / "recipes"
LITTLE = {"vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4, "head_dim": 8}


@pytest.fixture(autouse=True)
def quiet():
    quiet_libraries()


def little(architecture):
    from transformers import NemotronHConfig, Qwen3Config

    if architecture == "nemotron":
        mamba = {"mamba_num_heads": 8, "mamba_head_dim": 8, "ssm_state_size": 8, "n_groups": 2, "chunk_size": 8}
        return NemotronHConfig(**LITTLE, **mamba, num_key_value_heads=2, hybrid_override_pattern="M-*-")
    return Qwen3Config(**LITTLE, num_key_value_heads=2, num_hidden_layers=2)


def changed(recipe, part, **values):
    return dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **values)})


@pytest.fixture
def recipe(tmp_path):
    """A model of 4 layers that is a configuration and nothing else."""
    from transformers import Qwen3Config

    sizes = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 4, "num_attention_heads": 16}
    Qwen3Config(
        **sizes, vocab_size=151936, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True
    ).save_pretrained(tmp_path)
    return Recipe(
        name="r",
        skill="toy:SKILL",
        model=Model(name=str(tmp_path)),
        sampling=Sampling(max_new_tokens=512),
        warmup=Warmup(rows=0),
        train=Train(prompts=8, group=8),
    )


@pytest.mark.parametrize(("name", "architecture"), [("scene-nemotron-4b", "nemotron"), ("scene-qwen3-0.6b", "qwen3")])
def test_every_adapter_of_a_recipe_gets_a_gradient(name, architecture):
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    recipe = load_recipe(RECIPES / f"{name}.toml")
    model = add_adapter(AutoModelForCausalLM.from_config(little(architecture)), recipe)
    learner = Learner(model=model, tokenizer=None, device="cpu", fingerprint="", prompt_digest="", trainable=1)
    norms = {each: norm for each, norm in gradients(learner, range(3, 40)).items() if ".lora_B." in each}
    assert {each.split(".lora_B")[0].rpartition(".")[2] for each in norms} == set(recipe.model.lora_targets)
    assert min(norms.values()) > 0
    assert architecture != "nemotron" or not any("out_proj" in each for each in norms)


@pytest.mark.parametrize("architecture", ["nemotron", "qwen3"])
def test_what_is_counted_without_memory_is_what_autograd_keeps_with_it(architecture):
    from transformers import AutoModelForCausalLM

    recipe = Recipe(name="r", skill="toy", model=Model(lora_rank=4))
    counts = []
    for device in ("meta", "cpu"):
        with torch.device(device):
            model = add_adapter(AutoModelForCausalLM.from_config(little(architecture)), recipe)
        counts.append(count_activations(model, rows=2, tokens=24, half=False))
    assert counts[0] == counts[1]
    assert counts[0].kept > counts[0].largest_layer > counts[0].between > 0


def test_what_one_would_expect_lowers_its_own_term(recipe):
    def terms(**changes):
        tried = recipe
        for key, value in changes.items():
            tried = changed(tried, "sampling" if key in ("merge", "max_new_tokens") else "train", **{key: value})
        return predict_fit(tried, toy.SKILL, gpu_gib=1000).terms

    plain = terms()
    assert terms(micro_batch=16)["activations"]["update"] == pytest.approx(plain["activations"]["update"] / 4)
    assert terms(gradient_checkpointing=True)["activations"]["update"] < plain["activations"]["update"] / 2
    assert terms(merge=False)["sampling copy"]["sampling"] == 0 < plain["sampling copy"]["sampling"]
    words = 151936 * 64 * 512
    assert plain["logits, in tiles"]["update"] < words, "TRL never holds the logits of all positions"
    parameters = predict_fit(recipe, toy.SKILL, gpu_gib=1).parameters
    assert plain["sampling copy"]["sampling"] == 2 * parameters


def test_what_does_not_fit_is_told_what_makes_it_fit(recipe, tmp_path, capsys):
    path = tmp_path / "r.toml"
    path.write_text(
        f'skill = "toy:SKILL"\n[model]\nname = "{recipe.model.name}"\n[sampling]\nmax_new_tokens = 512\n[warmup]\nrows = 0\n'
    )
    assert main(["fit", str(path), "--gpu-gib", "4", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["peak_gib"] > 4 and any("train.micro_batch = " in line for line in found["advice"])
    micro = next(line for line in found["advice"] if "micro_batch" in line).split(" ")[2]
    path.write_text(path.read_text() + f"[train]\nmicro_batch = {micro}\n")
    assert main(["fit", str(path), "--gpu-gib", "4"]) == 0
    assert "it fits" in capsys.readouterr().out


def test_a_model_that_is_not_here_says_how_to_bring_its_configuration(recipe, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=r"hf download no-such/model --include"):
        predict_fit(changed(recipe, "model", name="no-such/model"), toy.SKILL, gpu_gib=24)


def test_without_weights_nothing_is_trained(recipe):
    with pytest.raises(UserError, match="no weights"):
        loading.locate(recipe.model.name)
