"""The limb kernels run every layer kind as the reference does, or say that they cannot."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings

from byheart.api.compile import compile
from byheart.data import generate
from byheart.exact import reference as exact
from byheart.exact.batch import Batch
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
        evaluator = limbs.Evaluator(network)
        found = evaluator(batch)
    except limbs.LimbsError:
        assume(False)
    wanted = exact.evaluate(network, batch)
    assert list(found) == list(evaluator.many(batch, None, map)) == list(evaluator(batch)) == wanted


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
    evaluator = limbs.Evaluator(model.network)
    assert list(evaluator(batch)) == wanted.tolist()
    ends = batch.starts if model.every else np.arange(len(batch) + 1)
    for first in range(0, 60, 5):  # some at a time, of one program
        starts = batch.starts[first : first + 4]
        few = Batch(batch.vectors, batch.ids[starts[0] : starts[-1]], starts - starts[0])
        assert list(evaluator(few)) == wanted[ends[first] : ends[first + 3]].tolist()
