"""A recipe for the model from scratch, shared by every test that trains."""

import pytest

from climbable.recipe import GateSettings, Model, Pilot, Recipe, Sampling, Train, Warmup
from tiny_model import make_tiny_model


@pytest.fixture(scope="session")
def recipe(tmp_path_factory):
    folder = make_tiny_model(tmp_path_factory.mktemp("model"))
    return Recipe(
        name="tiny",
        skill="toy:CHATTY",
        families=("two",),
        model=Model(name=str(folder), method="full", device="cpu"),
        sampling=Sampling(temperature=1.0, max_new_tokens=12, batch_size=128),
        gate=GateSettings(tasks=12, samples=8, least_mean=0.1),
        warmup=Warmup(rows=200, styles=5, epochs=6, batch_size=20, learning_rate=3e-3),
        pilot=Pilot(steps=2),
        train=Train(steps=24, prompts=8, group=8, learning_rate=1e-3),
    )


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
