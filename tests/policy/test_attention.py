"""No query is left without a key, and what real tokens see stays as it was."""

import pytest
import torch

from climbable.policy import loading
from climbable.policy.attention import NAME, every_query_sees, guard
from tiny_model import make_tiny_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("model"))


def padded():
    ids = torch.tensor([[0, 0, 0, 5, 6, 7], [9, 8, 7, 6, 5, 4]])
    return {"input_ids": ids, "attention_mask": torch.tensor([[0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1]])}


def test_a_padded_query_gets_keys_and_no_other_row_changes():
    from transformers.masking_utils import sdpa_mask

    arguments = {"batch_size": 2, "q_length": 6, "kv_length": 6, "attention_mask": padded()["attention_mask"].bool()}
    plain, guarded = sdpa_mask(**arguments), every_query_sees(**arguments)
    blind = ~plain.any(dim=-1)
    assert blind.sum() == 3, "the padded positions see nothing, else there is nothing to guard"
    assert guarded.any(dim=-1).all()
    assert torch.equal(plain[~blind], guarded[~blind])


def test_logits_of_real_tokens_are_those_of_plain_attention(folder):
    source = loading.locate(str(folder))
    model = loading.load_base(source, device="cpu", dtype="float32").eval()
    assert model.config._attn_implementation == NAME
    with torch.no_grad():
        guarded = model(**padded()).logits
        model.set_attn_implementation("sdpa")
        plain = model(**padded()).logits
    real = padded()["attention_mask"].bool()
    torch.testing.assert_close(guarded[real], plain[real], rtol=1e-5, atol=1e-5)


def test_another_kind_of_attention_is_left_alone(folder):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    assert guard(model).config._attn_implementation == "eager"


def test_a_saved_model_does_not_ask_for_it(folder, tmp_path):
    model = loading.load_base(loading.locate(str(folder)), device="cpu", dtype="float32")
    model.save_pretrained(tmp_path)
    assert NAME not in (tmp_path / "config.json").read_text()
