"""float64: A1 to A3, G1 to G3, and other programs that add in another order."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from nasty import NASTY, datasets, labelled

from byheart.api.compile import compile
from byheart.constructions.float64 import Float64
from byheart.data import generate
from byheart.data.contexts import contexts
from byheart.data.load import from_rows
from byheart.errors import AssumptionError
from byheart.exact.batch import Batch
from byheart.exact.evaluate import evaluate
from byheart.exact.float64 import engine as float64
from byheart.machine.watch import SILENT

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)


def build(dataset, positions=False, **options):
    construction = Float64(positions=positions, **options)
    return construction.build(dataset, contexts(dataset, positions), SILENT)


def batch_of(dataset):
    return Batch(dataset.vectors, dataset.ids, dataset.starts)


def padded(spec, dataset):
    """[sequences, coordinates, length] doubles, as the network reads them."""
    padding = [float(x.fraction) for x in spec.padding]
    result = np.empty((len(dataset), spec.coordinates, spec.length))
    for i in range(len(dataset)):
        tokens = dataset.vectors[dataset.ids[dataset.starts[i] : dataset.starts[i + 1]]].tolist()
        columns = [padding] * (spec.length - len(tokens)) + tokens
        if spec.positions:
            columns = [[*column, place] for place, column in enumerate(columns)]
        result[i] = np.array(columns, np.float64).T
    return result


def ordinary(network, x, order=None):
    """Dense double arithmetic, the stream's lanes added up in the order given.

    No code of byheart but the tensors.
    """
    tensors = float64.float_tensors(network)

    def times(weight, h):
        if order is None:
            return weight @ h
        terms = [weight[:, j, None] * h[:, None, j] for j in order(weight.shape[1])]
        return sum(terms) if terms else np.zeros((len(h), weight.shape[0], h.shape[2]))

    for i, layer in enumerate(network.layers):
        t = {name: tensors[f"layers.{i}.{name}"] for name in layer.tensors}
        if layer.kind == "linear":
            x = times(t["weight"], x) + t["bias"][:, None]
        elif layer.kind == "feed_forward":
            hidden = np.maximum(times(t["W1"], x) + t["b1"][:, None], 0)
            x = x + (times(t["W2"], hidden) + t["b2"][:, None])
        else:
            x = x + times(t["W_O"], times(t["W_V"], x.mean(axis=2, keepdims=True)))
    return x[:, 0, -1]


def shuffled(seed):
    pick = np.random.default_rng(seed)
    return lambda size: pick.permutation(size)


def names_of(dataset):
    """The label of every sequence."""
    return [dataset.label(i) for i in range(len(dataset))]


def right(built, dataset):
    """Whether every evaluator gives every label, in any order of summation."""
    network, spec = built.network, built.network.input
    assert spec.length & (spec.length - 1) == 0 and built.claim.arithmetic == "float64"
    proved = float64.prove(network, batch_of(dataset))
    exactly = [float(y) for y in evaluate(network, batch_of(dataset), "exact")]
    x = padded(spec, dataset)
    assert proved.tolist() == exactly
    assert ordinary(network, x).tolist() == exactly
    assert ordinary(network, x, shuffled(0)).tolist() == exactly
    return [built.claim.labels[int(y)] for y in exactly] == names_of(dataset)


@given(datasets(), st.integers(0, 3))
@settings(max_examples=30, deadline=None, phases=QUICK)
def test_every_label_is_returned(case, seed):
    rows, positions = case
    dataset = from_rows(rows)
    assert right(build(dataset, positions, seed=seed), dataset)


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("name", [x for x in NASTY if x != "floats" and "huge" not in x])
def test_nasty_data(name, positions):
    dataset = from_rows(NASTY[name])
    assert right(build(dataset, positions), dataset)


def test_the_length_is_a_power_of_two():  # D3
    for length in (1, 2, 3, 5, 8, 9):
        dataset = from_rows(labelled(([i] * length for i in range(6)), 2))
        built = build(dataset)
        assert length <= built.network.input.length < 2 * length
        assert right(built, dataset)


# --- A3


@pytest.mark.parametrize(
    "rows",
    [
        labelled(([2**53 + i] for i in range(4)), 2),
        labelled(([1e-3 * i, 2.5e7 + j / 10] for i in range(5) for j in range(5)), 3),
        labelled(([1e-200 * i, 1e200] for i in range(5)), 2),
        labelled(([5e-324 * i, 1] for i in range(5)), 2),
    ],
    ids=["no double", "long", "wide", "subnormal"],
)
def test_what_doubles_cannot_hold_is_refused(rows):
    with pytest.raises(AssumptionError, match="A3 fails"):
        build(from_rows(rows))


# --- G3


@pytest.mark.parametrize("sequences, most", [(100, 120), (1000, 380), (10_000, 720)])
def test_sizes(sequences, most):
    dataset = generate.random(sequences)
    built = build(dataset)
    assert built.network.counts()[0]["nonzero"] <= most
    outputs = float64.prove(built.network, batch_of(dataset)).astype(np.int64)
    assert [built.claim.labels[int(y)] for y in outputs] == names_of(dataset)


@pytest.mark.slow
def test_a_hundred_thousand():
    dataset = generate.random(100_000)
    built = build(dataset)
    assert built.network.counts()[0]["nonzero"] <= 2900
    outputs = float64.prove(built.network, batch_of(dataset)).astype(np.int64)
    assert [built.claim.labels[int(y)] for y in outputs] == names_of(dataset)
    exactly = np.array(evaluate(built.network, batch_of(dataset), "limbs"), dtype=np.int64)
    assert (exactly == outputs).all()


def test_another_seed_is_tried_where_a_sum_would_round():
    """With seed 0 the first network for this data rounds; the construction looks further."""
    dataset = generate.random(20_000)
    assert compile(dataset, method="float64").record.verification.evidence == "proved"


def test_no_larger_than_the_plain_network_of_a_few_words():
    rows = [(["a", "b", "c"], "x"), (["b", "c"], "y"), (["c", "a", "a"], "z")]
    model = compile(from_rows(rows), method="float64")
    assert model.record.parameters.nonzero <= 80


@pytest.mark.parametrize("value", [5e-324, 1.5 * 2.0**-1001, 1.7e308])
def test_a_coordinate_beyond_the_range_of_the_claim(value):
    """Doubles all the same, but not such that the format's claim covers: A3, in one sentence."""
    rows = [([2.0**40 + 0.5, value], "L0"), ([3.0], "L0")]
    with pytest.raises(AssumptionError, match="A3 fails: a coordinate of a token is neither 0 nor"):
        build(from_rows(rows))
