"""The limb kernels run every layer kind as the reference does, or say that they cannot."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import assume, given, settings

from byheart.api.compile import compile
from byheart.data import generate
from byheart.exact import reference as exact
from byheart.exact.limbs import engine as limbs
from byheart.exact.prove import batch_of_data

specification = importlib.util.spec_from_file_location(
    "exact_layers", Path(__file__).with_name("test_exact_layers.py")
)
layers = importlib.util.module_from_spec(specification)
specification.loader.exec_module(layers)


@settings(max_examples=150)
@given(layers.networks())
def test_random_networks_agree(case):
    network, sequences = case
    batch = layers.batch_of(sequences, network.input.dimension)
    try:
        found = limbs.evaluate(network, batch)
    except limbs.LimbsError:
        assume(False)
    assert list(found) == exact.evaluate(network, batch)


CASES = {
    "a label a token": (lambda: generate.tokens(300), {}),
    "sparse": (lambda: generate.tokens(200), {"method": "sparse-attention"}),
    "sets": (lambda: generate.multisets(700), {"method": "deep-sets"}),
    "hard": (lambda: generate.random(500), {"attention": "hard"}),
    "relu": (lambda: generate.random(60), {"method": "bit-extraction"}),
    "relu, sets": (lambda: generate.multisets(60), {"method": "deep-sets", "form": "faithful"}),
    "30 bits": (lambda: generate.random(2500), {"method": "limited-bits", "bits": 30}),
    "float64": (lambda: generate.random(700), {"method": "float64"}),
}


@pytest.mark.parametrize("name", CASES)
def test_compiled_networks_agree(name):
    make, options = CASES[name]
    dataset = make()
    model = compile(dataset, **options)
    batch, wanted = batch_of_data(model, dataset)
    assert list(limbs.evaluate(model.network, batch)) == wanted.tolist()
