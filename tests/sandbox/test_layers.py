"""Each layer stops an attack that gets through as soon as this layer alone is taken away (`bench/layers.py` prints it)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from layers_table import ATTACKS, OFF

BENCH = Path(__file__).parents[2] / "bench/layers.py"


@pytest.fixture(scope="module")
def rows():
    if os.geteuid() != 0:
        pytest.skip("only root may take every layer away")
    done = subprocess.run([sys.executable, BENCH, "--json"], capture_output=True, text=True, timeout=300)
    if "no way to confine" in done.stderr:
        pytest.skip("this machine does not allow all of the modes")
    return {(row["layer"], row["attack"]): row for row in json.loads(done.stdout)}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.layer}: {attack.tries}")
def test_the_layer_stops_it_and_without_the_layer_it_gets_through(rows, attack):
    row = rows[attack.layer, attack.tries]
    assert (row["with"], row["without"]) == ("stopped", "**gets through**"), row


def test_every_layer_has_an_attack_of_its_own():
    assert {attack.layer for attack in ATTACKS} == set(OFF)
