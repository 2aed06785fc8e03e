"""What a user may name as a model, and what is said to each thing that is none."""

import json
import shutil

import pytest

import toy
from climbable.core.errors import ClimbableError, Unavailable, UserError
from climbable.policy import load_policy, loading
from tiny_model import make_tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def copy(model, tmp_path):
    return shutil.copytree(model, tmp_path / "copy")


@pytest.fixture
def adapter(model, tmp_path):
    return make_adapter(model, tmp_path / "adapter")


def make_adapter(model, folder, base=None):
    from peft import LoraConfig, get_peft_model

    source = loading.locate(str(model))
    grown = get_peft_model(
        loading.load_base(source, device="cpu", dtype="float32"),
        LoraConfig(r=2, lora_alpha=64, target_modules=["q_proj", "up_proj"], init_lora_weights=False),
    )
    grown.save_pretrained(folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(config | {"base_model_name_or_path": str(base or model)}))
    return folder


def sampled(name, **more):
    policy = load_policy(str(name), toy.SKILL, max_new_tokens=8, device="cpu", **more)
    answers = policy.sample([toy.make_task("two", "test", i) for i in range(3)], samples=2, seed=3)
    return [answer.text for group in answers for answer in group]


def test_a_folder_with_a_model_answers_and_the_seed_decides(model):
    assert sampled(model) == sampled(model)


def test_an_adapters_folder_brings_its_base_along(model, adapter):
    assert sampled(adapter) == sampled(model, adapter=adapter) != sampled(model)


def test_a_whole_model_can_take_the_place_of_the_bare_one(model, copy):
    assert sampled(model, adapter=copy) == sampled(model)


def test_fingerprints_tell_a_model_from_the_same_with_an_adapter(model, adapter, copy):
    marks = [
        loading.fingerprint(loading.locate(str(model))),
        loading.fingerprint(loading.locate(str(model), adapter)),
        loading.fingerprint(loading.locate(str(model), copy)),
    ]
    assert len(set(marks)) == 3
    (copy / "model.safetensors").write_bytes(b"other weights")
    assert loading.fingerprint(loading.locate(str(model), copy)) != marks[2]


def test_an_adapter_for_another_base_is_named_with_both(model, tmp_path):
    other = make_adapter(model, tmp_path / "other", base="some/other-model")
    with pytest.raises(UserError, match=r"made for 'some/other-model'.*name that model"):
        loading.locate(str(model), other)


def test_an_adapter_that_does_not_fit_its_base_is_refused(model, adapter, copy):
    config = json.loads((copy / "config.json").read_text())
    from transformers import AutoConfig, AutoModelForCausalLM

    small = AutoConfig.for_model(**config | {"hidden_size": 64})
    shutil.rmtree(copy)
    AutoModelForCausalLM.from_config(small).save_pretrained(copy)
    loading.load_tokenizer(loading.locate(str(model))).save_pretrained(copy)
    (adapter / "adapter_config.json").write_text(
        json.dumps(json.loads((adapter / "adapter_config.json").read_text()) | {"base_model_name_or_path": str(copy)})
    )
    with pytest.raises(UserError, match="does not fit"):
        load_policy(str(adapter), toy.SKILL, device="cpu")


def spoil(folder, name, content=None):
    for path in folder.glob(name):
        path.unlink() if content is None else path.write_text(content)


@pytest.mark.parametrize(
    ("pattern", "content", "told"),
    [
        ("*.safetensors", None, "has no weights"),
        ("config.json", None, "neither config.json nor adapter_config.json"),
        ("config.json", "{", "cannot be read"),
        ("model.safetensors", "torn", "no model that Transformers can load"),
        ("tokenizer*", None, "no tokenizer that Transformers can read"),
        ("tokenizer.json", "{", "no tokenizer that Transformers can read"),
    ],
)
def test_a_broken_model_folder_is_named_with_what_it_lacks(copy, pattern, content, told):
    spoil(copy, pattern, content)
    with pytest.raises(UserError, match=told) as caught:
        load_policy(str(copy), toy.SKILL, device="cpu")
    assert "copy" in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "content", "told"),
    [
        ("adapter_model*", None, "has no weights"),
        ("adapter_config.json", "{", "is no PEFT adapter"),
        ("adapter_config.json", "{}", "does not say what model it was made for"),
        ("adapter_model.safetensors", "torn", "does not fit"),
    ],
)
def test_a_broken_adapter_folder_is_named_with_what_it_lacks(adapter, pattern, content, told):
    spoil(adapter, pattern, content)
    with pytest.raises(ClimbableError, match=told):
        load_policy(str(adapter), toy.SKILL, device="cpu")


def test_an_adapter_without_its_base_at_hand_says_which_is_missing(model, tmp_path):
    lost = make_adapter(model, tmp_path / "lost", base=tmp_path / "gone")
    with pytest.raises(UserError, match="gone"):
        load_policy(str(lost), toy.SKILL, device="cpu")


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "~/no/such/folder", "a/b/c"])
def test_a_folder_that_is_not_there_says_what_else_is_taken(name):
    with pytest.raises(UserError, match="also takes smollm2"):
        load_policy(name, toy.SKILL)


def test_a_gpu_that_is_asked_for_and_missing_says_what_to_write(model):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(UserError, match="use 'auto' or 'cpu'"):
        load_policy(str(model), toy.SKILL, device="cuda")


def test_a_file_of_the_default_model_that_is_another_is_refused(monkeypatch, tmp_path):
    (tmp_path / "other.gguf").write_bytes(b"GGUF but not that one")
    monkeypatch.setenv("CLIMBABLE_SMOLLM2_GGUF", str(tmp_path / "other.gguf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(Unavailable, match="another file than was tested"):
        load_policy("smollm2", toy.SKILL)
