"""Labels: rounded networks are exact, and the read-out names the largest logit."""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.architectures import architecture
from byheart.claims.verification import PROVED
from byheart.data.load import from_rows
from byheart.errors import AssumptionError, ByheartError
from byheart.exact import reference as exact
from byheart.exact.batch import Batch
from byheart.exact.network import Embedding, Input, Network, dyadic, matrix, vector
from byheart.lab.certified.convert import answers, labels, margins, slope_for, tied
from byheart.lab.certified.rounded import logits, network, readout, rounded
from byheart.lab.problem import labelled

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
from made_up import FAST, drawn, kajitsuka, learnt_data, made_of, relabelled  # noqa: E402

sys.path.remove(HERE)


@FAST
@given(st.integers(1, 6), st.integers(-3, 12), st.integers(0, 2**32))
def test_the_read_out_names_the_largest_logit(outputs, slope, seed):
    """Margins of exactly 2^-slope are enough; the logits are the embedding of each token."""
    random = np.random.default_rng(seed)
    unit = Fraction(2) ** -slope
    values = random.integers(-8, 9, (20, outputs))
    best = values.argmax(axis=1) if outputs > 1 else (values[:, 0] > 0).astype(int)
    if outputs > 1:
        values[np.arange(20), best] += 1  # alone at the top, by one unit at least
    elif outputs == 1:
        values[values == 0] = -1
    said = _says(values, unit, slope)
    assert said == best.tolist()


def test_a_slope_that_is_too_small_names_no_label():
    assert _says(np.array([[0, 1]]), Fraction(1, 4), 1) == [Fraction(1, 2)]


def _says(values, unit, slope):
    """What the read-out makes of tokens whose logits are these, in multiples of the unit."""
    tokens, outputs = values.shape
    table = {(j, i): unit * int(values[i, j]) for i in range(tokens) for j in range(outputs)}
    embedding = Embedding(matrix(outputs, tokens, table), vector({}, outputs))
    same = [[Fraction(i == j) for j in range(outputs)] for i in range(outputs)]
    reads = Input(1, 1, False, (dyadic(0),))
    made = Network(reads, (embedding, *readout(same, slope)))
    numbers = np.arange(tokens)
    return exact.evaluate(made, Batch(numbers[:, None], numbers, np.arange(tokens + 1)))


@FAST
@given(
    st.integers(0, 2**32),
    st.integers(2, 4),
    st.sampled_from([(1, 2, 3), (3,), (4,), (2, 5, 6)]),
    st.integers(1, 3),
)
def test_a_network_of_labels_is_proved(seed, names, lengths, layers):
    tensors, dataset = learnt_data(seed, names, lengths=lengths, layers=layers)
    made, problem = made_of("kajitsuka2025", {"layers": layers}, dataset)
    model = labels(made, relabelled(tensors, dataset), problem, "refuse")
    found = model.record.verification
    assert (found.evidence, found.checked) == (PROVED, len(dataset))
    assert [model.recall(dataset.sequence(i)) for i in range(len(dataset))] == [
        dataset.label(i) for i in range(len(dataset))
    ]


@FAST
@given(st.integers(0, 2**32), st.integers(1, 9))
def test_fixed_vectors_of_words_are_multiplied_by_their_map(seed, coordinates):
    """The map that gives a word its numbers again: the last coordinates are made for it."""
    tensors, dataset = learnt_data(seed, 3)
    random, table = np.random.default_rng(seed), tensors["embedding.weight"]
    mapping = np.concatenate([random.normal(size=(coordinates, 2)), np.eye(2)])
    vectors = random.normal(size=(len(table), coordinates))
    tensors["vectors.weight"] = np.hstack([vectors, table - vectors @ mapping[:coordinates]])
    tensors["embedding.weight"] = mapping
    made, problem = made_of("kajitsuka2025", {"layers": 1, "coordinates": coordinates + 2}, dataset)
    assert made.architecture.fixed["vectors.weight"] == tensors["vectors.weight"].shape
    model = labels(made, relabelled(tensors, dataset), problem, "refuse")
    assert model.record.verification.evidence == PROVED
    assert any("multiplied" in note for note in model.record.notes)
    assert [model.recall(dataset.sequence(i)) for i in range(len(dataset))] == [
        dataset.label(i) for i in range(len(dataset))
    ]


@FAST
@given(st.integers(0, 2**32))
def test_one_number_with_a_sign_is_proved(seed):
    tensors, dataset = learnt_data(seed, 2, count=30, squared=True)
    if len(dataset.label_names) < 2:
        return
    made, problem = made_of("kajitsuka2025", {"layers": 1}, dataset, squared=True)
    assert labels(made, tensors, problem, "refuse").record.verification.evidence == PROVED


@FAST
@given(st.integers(0, 2**32))
def test_vectors_are_read_as_they_are(seed):
    random = np.random.default_rng(seed)
    found = architecture("kajitsuka2025", {"vocabulary": 3, "length": 6, "labels": 2, "layers": 2})
    tensors = drawn(found, seed, 0.7)
    doubles = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    sequences = random.random((12, 6, 3))
    rows = [(x.tolist(), int(kajitsuka(doubles, x).argmax())) for x in sequences]
    dataset = from_rows(rows)
    made, problem = made_of("kajitsuka2025", {"layers": 2}, dataset)
    model = labels(made, relabelled(tensors, dataset), problem, "refuse")
    assert model.record.verification.evidence == PROVED


def test_vectors_of_different_lengths_are_refused():
    dataset = from_rows([([[0.5, 1.0]], 0), ([[0.25, 2.0], [1.0, 1.0]], 1)])
    found = architecture("kajitsuka2025", {"vocabulary": 2, "length": 2, "labels": 2})
    exactly = rounded(drawn(found, 1), 8, dataset.lengths)
    with pytest.raises(ByheartError, match="different lengths"):
        network(exactly, dataset, 0)


@FAST
@given(st.integers(0, 2**32), st.integers(2, 20))
def test_the_run_in_doubles_is_the_plain_network_on_the_grid(seed, bits):
    tensors, dataset = learnt_data(seed, 3)
    problem = labelled(dataset)
    exactly = rounded(tensors, bits, problem.lengths)
    step = Fraction(1, 1 << bits)
    for name, tensor in exactly.items():
        grid = step / 4 * 3 if name == "attention.out.weight" else step  # lengths 1, 2 and 3
        off = [
            abs(a - Fraction(float(b)))
            for a, b in zip(tensor.flat, tensors[name].flat, strict=True)
        ]
        assert all(x % grid == 0 for x in tensor.flat) and max(off) <= grid / 2
    doubles = {name: tensor.astype(np.float64) for name, tensor in exactly.items()}
    said = logits(exactly, problem)
    for i in range(len(problem)):
        tokens = problem.tokens[i, : problem.lengths[i]]
        wanted = kajitsuka(doubles, np.eye(problem.vocabulary)[tokens])
        assert np.allclose(said[i], wanted, rtol=1e-9, atol=1e-9)


def test_a_network_that_is_wrong_is_not_certified():
    tensors, dataset = learnt_data(5, 3, count=30)
    made, problem = made_of("kajitsuka2025", {"layers": 1}, dataset)
    wrong = {**relabelled(tensors, dataset), "output.weight": np.zeros((3, 2), np.float32)}
    with pytest.raises(ByheartError, match="labels of 0 of"):
        labels(made, wrong, problem, "refuse")


def test_contradictory_labels_are_settled_as_compile_settles_them():
    tensors, dataset = learnt_data(3, 2, lengths=(3,))
    rows = [(dataset.sequence(i), dataset.label(i)) for i in range(len(dataset))]
    other = next(name for name in dataset.label_names if name != rows[0][1])
    clashing = from_rows([*rows, *rows, (rows[0][0], other)])
    made, problem = made_of("kajitsuka2025", {"layers": 1}, clashing)
    with pytest.raises(AssumptionError, match="A1 fails: 1 context"):
        labels(made, tensors, problem, "refuse")
    majority = labels(made, tensors, problem, "majority")
    assert majority.record.conflicts == {"relabelled": 1, "dropped": 0}
    dropped = labels(made, tensors, problem, "drop")
    assert dropped.record.conflicts["dropped"] == 3
    for model in (majority, dropped):
        assert model.record.verification.evidence == PROVED
        assert model.recall(rows[1][0]) == rows[1][1]


@pytest.mark.parametrize(
    ("said", "tie"), [("ab", True), ("aab", False), ("aabb", True), ("abbcc", True), ("a", False)]
)
def test_ties_are_seen(said, tie):
    rows = [(["x"], "a"), *((["y"], label) for label in said), (["z"], "b")]
    assert tied(labelled(from_rows(rows))) is tie


def test_answers_are_the_most_frequent_and_of_several_the_smallest():
    rows = [(["a"], "x"), (["a"], "y"), (["b"], "y"), (["b"], "y"), (["b"], "x"), (["c"], "x")]
    problem = labelled(from_rows(rows))
    assert answers(problem, "majority").tolist() == [0, 1, 0]
    assert answers(problem, "drop").tolist() == [-1, -1, 0]


@given(st.floats(1e-12, 1e6))
def test_a_slope_leaves_room(margin):
    assert 2 <= 2.0 ** slope_for(margin) * margin < 4


def test_margins_of_a_number_and_of_logits():
    said = np.array([[3.0, 1.0, 2.5], [0.0, 5.0, 7.0]])
    assert margins(said, np.array([0, 1]), squared=False).tolist() == [0.5, -2.0]
    assert margins(said, np.array([-1, 2]), squared=False).tolist() == [2.0]
    assert margins(said[:, :1] - 1, np.array([1, 1]), squared=True).tolist() == [2.0, -1.0]
