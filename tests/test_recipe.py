import re
from pathlib import Path

import pytest

from climbable.core.errors import UserError
from climbable.recipe import Recipe, dump_recipe, load_recipe

RECIPES = sorted((Path(__file__).parent.parent / "recipes").glob("*.toml"))


def written(tmp_path, text):
    path = tmp_path / "r.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_shipped_recipe_loads_and_survives_being_written_out(path, tmp_path):
    recipe = load_recipe(path)
    assert load_recipe(written(tmp_path, dump_recipe(recipe))) == recipe


def test_strings_with_quotes_and_control_characters_survive(tmp_path):
    recipe = Recipe(name='a "b" \\ \n é', skill="scene", families=("stack", "next_to"))
    assert load_recipe(written(tmp_path, dump_recipe(recipe))) == recipe


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "lacks the key 'skill'"),
        ("skill = 'scene'\nsede = 1", "did you mean 'seed'"),
        ("skill = 'scene'\n[trian]\nsteps = 1", "did you mean 'train'"),
        ("skill = 'scene'\n[train]\nstep = 1", "did you mean 'steps'"),
        ("skill = 'scene'\n[train]\nsteps = '3'", "of type int"),
        ("skill = 'scene'\n[train]\nsteps = true", "of type int"),
        ("skill = 'scene'\n[train]\nsteps = 0", "1 or more"),
        ("skill = 'scene'\ntrain = 3", "is a table"),
        ("skill = 'scene'\nfamilies = 'stack'", "list of strings"),
        ("skill = 'scene'\n[model]\nmethod = 'lore'", "did you mean 'lora'"),
        ("skill = 'scene'\n[train]\nloss = 'grop'", "did you mean 'grpo'"),
        ("skill = 'scene'\n[warmup]\nschedule = 'cosin'", "did you mean 'cosine'"),
        ("skill = 'scene'\n[warmup]\nepochs = 0", "rows = 0 leaves the warm-up out"),
        ("skill = 'scene'\n[warmup]\nstyles = 0", "1 or more"),
        ("skill = 'scene'\n[warmup]\nlearning_rate = 0", "above 0"),
        ("skill = 'scene'\n[verify]\nworkers = -1", "0 (one a core) or more"),
        ("skill = 'scene'\n[costs]\nprice_per_hour = -1.5", "0 or more"),
        ("skill = 'scene'\n[sampling]\ntemperature = 0", "above 0"),
        ("skill = 'scene'\n[sampling]\ntemperature = nan", "above 0"),
        ("skill = 'scene'\n[train]\nmicro_batch = 5", "must divide"),
        ("skill = 'scene'\n[train]\ngroup = 1", "2 or more"),
        ("skill = 'scene'\n[train]\nnum_iterations = 0", "1 or more"),
        ("skill = 'scene'\n[train]\nepsilon = 1.0", "above 0 and below 1"),
        ("skill = 'scene'\n[train]\nepsilon_high = -0.1", "0 (as epsilon) or more"),
        ("skill = 'scene'\n[train]\nbeta = nan", "0 (no KL term) or more"),
        ("skill = 'scene'\n[train]\nentropy_bonus = -0.01", "0 (no bonus) or more"),
        ("skill = 'scene'\n[train]\nentropy_bonus = inf", "0 (no bonus) or more"),
        ("skill = 'scene'\n[train]\ntop_entropy_quantile = 0", "above 0 and at most 1"),
        ("skill = 'scene'\n[train]\nmax_grad_norm = -1.0", "0 (no clipping) or more"),
        ("skill = 'scene'\n[train]\nloss = 'cispo'", "1 or more, such as 5"),
        ("skill = 'scene'\n[train]\nloss = 'luspo'", "'sequence'"),
        ("skill = ", "not TOML"),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed(tmp_path, text, told):
    with pytest.raises(UserError, match=re.escape(told)):
        load_recipe(written(tmp_path, text))


def test_a_missing_recipe_says_where_the_shipped_ones_are(tmp_path):
    with pytest.raises(UserError, match="recipes/"):
        load_recipe(tmp_path / "none.toml")
