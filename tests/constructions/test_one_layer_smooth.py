"""madden2024, the algorithm after Theorem 5: hypotheses, guarantees, float32, a case by hand."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.constructions import one_layer_smooth as smooth
from byheart.constructions.one_layer_smooth import nearest
from byheart.data.load import from_rows
from byheart.errors import AssumptionError, ByheartError
from byheart.machine import memory
from byheart.machine.watch import Watch
from byheart.models.verification import verify
from byheart.softmax.decoder import ACTIVATIONS, Decoder
from byheart.softmax.prove import targets_of

METHOD = "one-layer-smooth"
ROWS = [
    (["a", "b"], "c"), (["a", "b"], "c"), (["a", "b"], "a"), (["b", "a"], "b"), (["a"], "b"),
    (["c"], "a"), (["c", "c"], "a"), (["c", "c"], "b"), (["b", "b", "b"], "c"),
]  # fmt: skip


def noting(sentences):
    """A watch that keeps its notes."""
    watch = Watch()
    watch.note = sentences.append
    return watch


def built(rows, **options):
    return compile(from_rows(rows), method=METHOD, **options)


def documents(count, vocabulary, length=11, seed=0):
    """Rows of all prefixes of random documents."""
    random = np.random.default_rng(seed)
    p = 1 / np.arange(1, vocabulary + 1)
    texts = random.choice(vocabulary, (count, length), p=p / p.sum()).tolist()
    return [(text[:t], text[t]) for text in texts for t in range(1, length)]


@st.composite
def datasets(draw):
    token = st.sampled_from("abcd")
    rows = draw(st.lists(st.tuples(st.lists(token, min_size=1, max_size=4), token), min_size=1))
    return [*rows, (["a"], "a"), (["a"], "b")]


def test_by_hand():
    """One context, one neuron: its argument is 1/2, and V tanh(1/2) is the floor."""
    model = built([(["a"], "b")], neurons=1, gap=0.01)
    tensors = model.network.tensors
    assert model.tokens == ("a", "b")
    x = tensors["embedding.weight"][0] + tensors["positions.weight"][0]
    heard = tensors["attention.out.weight"] @ (tensors["attention.value.weight"] @ x)
    argument = tensors["hidden.weight"][0] @ heard + tensors["hidden.bias"][0]
    assert argument == pytest.approx(0.5, abs=1e-13)
    low, high = tensors["output.weight"][:, 0]
    floor = -math.log(math.expm1(0.005))
    assert low == 0 and high * math.tanh(0.5) == pytest.approx(floor, abs=1e-5)
    fit = model.record.verification.fit
    assert fit.max == pytest.approx(math.log1p(math.exp(-high * math.tanh(0.5))), rel=1e-8)
    assert 0.0049 < fit.max < 0.005


@settings(max_examples=12)
@given(datasets(), st.integers(0, 5))
def test_every_distribution_is_within_the_gap(rows, seed):  # G1, G2, G3
    model = built(rows, seed=seed, dimension=16)
    found, shape = model.record.verification, model.network.shape
    contexts = len({tuple(tokens) for tokens, _ in rows})
    assert (found.evidence, found.checked, found.engine) == ("proved", contexts, "dense")
    assert found.fit.max <= model.claim.gap == 1e-9
    assert shape.neurons == math.ceil(1.25 * contexts)
    m, d, w = shape.neurons, 16, len(model.tokens)
    formula = w * m + m * (d + 1) + 2 * 1 * (16 + 16) * d + (w + shape.length) * d
    assert model.record.parameters.dense == shape.parameters == formula


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    model = built(ROWS, activation=activation)
    assert model.network.shape.activation == activation
    assert model.record.verification.evidence == "proved"
    assert model.distribution(["a", "b"]) == pytest.approx(
        [1 / 3 if token == "a" else 2 / 3 if token == "c" else 0 for token in model.tokens],
        abs=1e-4,
    )


def test_sizes_are_as_named():
    model = built(ROWS, dimension=20, heads=3, head_dimension=7, skip=True, neurons=9, gap=1e-6)
    shape = model.network.shape
    assert (shape.dimension, shape.heads, shape.key_dimension, shape.value_dimension) == (
        20,
        3,
        7,
        7,
    )
    assert shape.skip and shape.neurons == 9 and model.claim.gap == 1e-6
    assert shape.parameters == 3 * 9 + 9 * 21 + 2 * 3 * 14 * 20 + (3 + 3) * 20
    assert model.record.verification.evidence == "proved"
    assert built(ROWS, heads=4).network.shape.key_dimension == 16


def test_as_many_neurons_as_contexts_are_solved_by_a_square_system():
    model = built(ROWS, neurons=6)
    assert model.network.shape.neurons == 6 == model.record.data.contexts
    assert model.record.verification.evidence == "proved"


def test_the_seed_decides():
    one, same, other = (built(ROWS, seed=seed).network for seed in (1, 1, 2))
    assert one == same and one != other


# --- float32


def test_it_survives_float32():
    """All weights and all arithmetic, written out once more."""
    model = built(documents(35, 60))
    assert 250 < model.record.data.contexts < 350
    tensors = {name: tensor.astype(np.float32) for name, tensor in model.network.tensors.items()}
    targets = targets_of(model, from_rows(documents(35, 60)))
    worst = []
    for i in range(len(targets)):
        tokens = targets.tokens[targets.starts[i] : targets.starts[i + 1]]
        x = tensors["embedding.weight"][tokens] + tensors["positions.weight"][: len(tokens)]
        scores = (x @ tensors["attention.key.weight"].T) @ (
            tensors["attention.query.weight"] @ x[-1]
        )
        weights = np.exp(scores - scores.max())
        heard = tensors["attention.value.weight"] @ ((weights / weights.sum()) @ x)
        active = np.tanh(
            tensors["hidden.weight"] @ (tensors["attention.out.weight"] @ heard)
            + tensors["hidden.bias"]
        )
        logits = tensors["output.weight"] @ active
        assert logits.dtype == np.float32
        part = slice(targets.ends[i], targets.ends[i + 1])
        p, q = targets.probabilities[part], logits.astype(float)
        total = q.max() + math.log(np.exp(q - q.max()).sum())
        worst.append(float((p * (np.log(p) - q[targets.following[part]] + total)).sum()))
    assert max(worst) < 1e-7
    notes = " ".join(model.record.notes)
    said = re.search(r"observed in float32: divergence mean (\S+), max (\S+) nats", notes)
    assert max(worst) / 4 < float(said[2]) < 4 * max(worst)  # other orders of summation
    assert "condition number about" in notes


def test_weights_are_moderate():
    """Attention scores of about 1 (A4), slopes of about 4, and no output weight above 100."""
    model = built(documents(20, 40))
    tensors = model.network.tensors
    x = (tensors["embedding.weight"][:, None] + tensors["positions.weight"]).reshape(-1, 64)
    scores = (x @ tensors["attention.key.weight"].T) @ (x @ tensors["attention.query.weight"].T).T
    assert 0.5 < scores.std() < 2 and np.abs(scores).max() < 16
    assert np.abs(tensors["output.weight"]).max() < 100
    assert all(np.abs(tensor).max() < 100 for tensor in tensors.values())


@pytest.mark.slow
def test_a_thousand_contexts_are_proved():
    rows = documents(110, 1000)
    model = built(rows)
    found = model.record.verification
    assert found.checked > 1000 and (found.evidence, found.engine) == ("proved", "dense")
    assert found.fit.max <= 1e-9
    assert float(re.search(r"max (\S+) nats", model.record.notes[1])[1]) < 1e-6


# --- what is refused


def test_one_token_is_refused():  # A1
    with pytest.raises(AssumptionError, match="A1 fails"):
        built([(["a"], "a"), (["a", "a"], "a")])


def test_a_small_dimension_is_refused():  # A2
    with pytest.raises(AssumptionError, match="A2 fails: the dimension is 15"):
        built(ROWS, dimension=15)
    with pytest.raises(AssumptionError, match="A2 fails: the heads have 8 dimensions"):
        built(ROWS, heads=2, head_dimension=4)
    assert built(ROWS, heads=2, head_dimension=4, skip=True).network.shape.skip


def test_too_few_neurons_are_refused():  # A3
    with pytest.raises(AssumptionError, match="A3 fails: 5 neurons for 6 contexts.*narrow"):
        built(ROWS, neurons=5)


def test_contexts_that_are_too_near_are_drawn_again_and_refused(monkeypatch):  # A4
    monkeypatch.setattr(smooth, "LEAST_DISTANCE", 99.0)
    said: list[str] = []
    with pytest.raises(AssumptionError, match="A4 fails.*in 4 draws.*larger dimension=..."):
        built(ROWS, watch=noting(said))
    assert [sentence[:9] for sentence in said] == [f"draw {i} of" for i in (1, 2, 3, 4)]


def test_a_condition_that_is_too_large_is_drawn_again_and_refused(monkeypatch):  # A5
    monkeypatch.setattr(smooth, "LARGEST_CONDITION", 1.0)
    with pytest.raises(AssumptionError, match="A5 fails: the condition number is about"):
        built(ROWS)


def test_a_gap_that_is_missed_is_drawn_again(monkeypatch):  # A5
    original, calls = smooth.wanted, []

    def wrong_once(targets, gap):
        calls.append(gap)
        return original(targets, 0.5 if len(calls) == 1 else gap)

    monkeypatch.setattr(smooth, "wanted", wrong_once)
    said: list[str] = []
    model = built(ROWS, watch=noting(said))
    assert model.record.search.tries == 2 and "A5 fails: the largest" in said[0]
    assert model.record.verification.evidence == "proved"


def test_memory_is_asked_for_before_starting(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(ByheartError, match=r"one-layer-smooth: .* needs [\d,]+ bytes of memory"):
        built(ROWS)


# --- changes are noticed


def test_changes_are_noticed():
    model = built(ROWS)
    assert verify(model, from_rows(ROWS)).evidence == "proved"
    label = [(["a", "b"], "b"), *ROWS[1:]]
    count = [*ROWS, (["a", "b"], "a")]
    for rows in (label, count):
        assert verify(model, from_rows(rows)).evidence == "refuted"
    output = model.network["output"].copy()
    output[0, 0] += 0.01
    tensors = {**model.network.tensors, "output.weight": output}
    other = replace(model, network=Decoder(model.network.shape, tensors))
    assert verify(other, from_rows(ROWS)).evidence == "refuted"


@given(st.integers(0, 99), st.integers(2, 40))
@settings(max_examples=20)
def test_nearest_rows(seed, count):
    rows = np.random.default_rng(seed).normal(size=(count, 3))
    rows[-1] = rows[0] + 1e-9
    assert nearest(rows) == pytest.approx(math.sqrt(3) * 1e-9, rel=1e-5)
    assert nearest(rows[:1]) == math.inf
