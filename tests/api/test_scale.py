"""The promised sizes on larger data; `make slow` runs these, `make bench` goes to a million."""

from dataclasses import replace

import pytest

from byheart import compile
from byheart.data.generate import multisets, random, tokens
from byheart.exact.evaluate import evaluate
from byheart.exact.prove import batch_of_data

pytestmark = pytest.mark.slow


def sizes(dataset, **options):
    model = compile(dataset, **options)
    assert model.record.verification.evidence == "proved"
    bits = model.record.bits
    return model.record.parameters, bits.total / bits.information


@pytest.mark.parametrize(("sequences", "most", "ratio"), [(10_000, 570, 1.6), (100_000, 1390, 1.2)])
def test_sizes(sequences, most, ratio):
    parameters, bits = sizes(random(sequences, seed=11))
    assert parameters.nonzero <= most and bits <= ratio


def test_a_thousand_labels():
    parameters, bits = sizes(random(10_000, labels=1000, seed=11))
    assert parameters.nonzero <= 1450 and bits <= 1.22


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
    batch, wanted = batch_of_data(model, dataset)
    assert list(evaluate(model.network, batch, "exact")) == wanted.tolist()
    assert list(evaluate(model.network, batch, "limbs")) == wanted.tolist()


# --- the family: small forms in full to 10^5 contexts, the paper's own to 10^4


def ids(sequences):
    return replace(random(sequences, dimension=1, seed=11), kind="number")


FAMILY = {
    "seq2seq": (lambda: tokens(25_000, seed=11), {}),
    "sparse-attention": (lambda: random(100_000, seed=11), {"method": "sparse-attention"}),
    "deep-sets": (lambda: multisets(100_000, seed=11), {"method": "deep-sets"}),
    "embedding": (lambda: ids(100_000), {"method": "embedding"}),
}


@pytest.mark.parametrize("name", FAMILY)
def test_within_ten_percent_of_the_plain_network(name):
    """For as many contexts; an embedding matrix does not count."""
    make, options = FAMILY[name]
    dataset = make()
    model = compile(dataset, **options)
    verification = model.record.verification
    assert (verification.evidence, verification.checked) == ("proved", len(dataset.labels))
    contexts = model.record.data.contexts
    plain = compile(random(round(contexts / 0.857), seed=12))
    share = plain.record.data.contexts / contexts
    assert 0.98 < share < 1.02
    parameters = model.record.parameters
    count = parameters.counted if name == "embedding" else parameters.nonzero
    assert count <= 1.1 * plain.record.parameters.nonzero


@pytest.mark.parametrize(("sequences", "most"), [(1000, 528), (10_000, 1382), (100_000, 9835)])
def test_float64(sequences, most):
    parameters, _ = sizes(random(sequences, seed=11), method="float64")
    assert parameters.nonzero <= most


def test_limited_bits():
    parameters, _ = sizes(random(100_000, seed=11), method="limited-bits")
    assert parameters.nonzero <= 2500


@pytest.mark.parametrize(("sequences", "most"), [(1000, 37_931), (10_000, 124_590)])
def test_bit_extraction_in_full(sequences, most):
    parameters, _ = sizes(random(sequences, seed=11), method="bit-extraction")
    assert parameters.nonzero <= most


def test_bit_extraction_beyond_is_sampled():
    model = compile(random(20_000, seed=11), method="bit-extraction")
    verification = model.record.verification
    assert verification.evidence == "sampled" and verification.checked == 100
