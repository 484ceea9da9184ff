"""The promised sizes on larger data; `make slow` runs these, `make bench` goes to a million."""

import pytest

from byheart import compile
from byheart.evaluate import evaluate
from byheart.generate import random

pytestmark = pytest.mark.slow


def sizes(dataset, **options):
    model = compile(dataset, **options)
    assert model.about["verification"].evidence == "proved"
    bits = model.about["bits"]
    return model.about["parameters"], bits["total"] / bits["information"]


@pytest.mark.parametrize(("sequences", "most", "ratio"), [(10_000, 570, 1.6), (100_000, 1390, 1.2)])
def test_sizes(sequences, most, ratio):
    parameters, bits = sizes(random(sequences, seed=11))
    assert parameters["nonzero"] <= most and bits <= ratio


def test_a_thousand_labels():
    parameters, bits = sizes(random(10_000, labels=1000, seed=11))
    assert parameters["nonzero"] <= 1450 and bits <= 1.22


def test_skewed_labels_cost_less():
    even, zipf, geometric = (
        sizes(random(10_000, labels=16, seed=11, skew=skew))[0]["nonzero"]
        for skew in ("uniform", "zipf", "geometric")
    )
    assert geometric < zipf < even


def test_few_dense_parameters():
    narrow, _ = sizes(random(100_000, seed=11), minimise="dense")
    wide, _ = sizes(random(100_000, seed=11))
    assert narrow["dense"] < 7000 and narrow["dense"] < wide["dense"] / 3


def test_engines_agree_on_a_compiled_network():
    dataset = random(20_000, seed=12, labels=7)
    model = compile(dataset, reject_unknown=6)
    batch, wanted = model.batch(dataset)
    assert list(evaluate(model.network, batch, "exact")) == wanted.tolist()
    assert list(evaluate(model.network, batch, "limbs")) == wanted.tolist()
