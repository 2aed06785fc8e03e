"""The decoder samples what Transformers' own loop samples, from prompts of any length, batch after batch."""

from dataclasses import replace

import pytest
import torch

from climbable.policy import loading
from climbable.policy.decoder import can_decode
from climbable.policy.sampler import Sampler
from climbable.policy.settings import SamplerSettings
from tiny_model import make_tiny_model

# A temperature so low that the likeliest token is drawn, so that two ways of drawing must agree.
GREEDY = SamplerSettings(temperature=1e-6, top_p=1.0, max_new_tokens=20, cache="dynamic", ends=(0,), pad=0)
PROMPTS = [list(range(5, 5 + length)) for length in (3, 30, 64, 17, 1)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = make_tiny_model(tmp_path_factory.mktemp("model"))
    torch.manual_seed(1)
    model = loading.load_base(loading.locate(str(folder)), device="cpu", dtype="float32").eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(0.05 * torch.randn_like(weights))
    return model


@pytest.fixture(scope="module")
def shared_keys():
    """A model whose four heads share two keys."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from climbable.policy.attention import guard

    torch.manual_seed(2)
    config = LlamaConfig(
        vocab_size=300,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return guard(LlamaForCausalLM(config).eval())


@pytest.mark.parametrize("which", ["model", "shared_keys"])
def test_the_likeliest_tokens_are_those_of_generate(which, request):
    model = request.getfixturevalue(which)
    plain = Sampler(model, GREEDY).sample(PROMPTS)
    assert len({tuple(row) for row in plain}) > 1
    assert Sampler(model, replace(GREEDY, cache="graph")).sample(PROMPTS) == plain


def test_a_smaller_batch_after_a_larger_one_and_a_wider_one_after_that(model):
    plain, own = Sampler(model, GREEDY), Sampler(model, replace(GREEDY, cache="graph"))
    wide = [list(range(7, 107)), [5, 6]]
    for prompts in (PROMPTS, PROMPTS[:2], wide, PROMPTS):
        assert own.sample(prompts) == plain.sample(prompts)


def test_weights_that_change_in_place_are_sampled_from(model):
    own = Sampler(model, replace(GREEDY, cache="graph"))
    before = own.sample(PROMPTS)
    old = model.lm_head.weight.detach().clone()
    with torch.no_grad():
        model.lm_head.weight.copy_(old.roll(1, dims=0))
        assert own.sample(PROMPTS) != before
        model.lm_head.weight.copy_(old)
    assert own.sample(PROMPTS) == before


def test_tokens_are_drawn_as_often_as_the_model_says(shared_keys):
    prompt, draws = [5, 6, 7], 4000
    settings = replace(GREEDY, temperature=0.05, max_new_tokens=1, cache="graph")
    torch.manual_seed(0)
    drawn = torch.tensor(Sampler(shared_keys, settings).sample([prompt] * draws)).flatten()
    with torch.no_grad():
        chances = (shared_keys(torch.tensor([prompt])).logits[0, -1].float() / 0.05).softmax(-1)
    seen = torch.bincount(drawn, minlength=len(chances)) / draws
    likely = chances > 0.02
    assert likely.sum() > 3
    error = (chances * (1 - chances) / draws).sqrt()
    assert ((seen - chances).abs() < 5 * error + 1e-9)[likely].all()


def test_top_p_draws_nothing_beyond_it(shared_keys):
    settings = replace(GREEDY, temperature=0.05, top_p=0.5, max_new_tokens=1, cache="graph")
    drawn = {row[0] for row in Sampler(shared_keys, settings).sample([[5, 6, 7]] * 500)}
    with torch.no_grad():
        chances = (shared_keys(torch.tensor([[5, 6, 7]])).logits[0, -1].float() / 0.05).softmax(-1)
    best, order = chances.sort(descending=True)
    kept = int((best.cumsum(0) < 0.5).sum()) + 1
    assert drawn == set(order[:kept].tolist())


def test_a_model_that_keeps_more_than_keys_is_left_to_generate(model):
    from transformers import MambaConfig, MambaForCausalLM

    assert can_decode(model)
    assert not can_decode(MambaForCausalLM(MambaConfig(vocab_size=10, hidden_size=8, num_hidden_layers=1)))
