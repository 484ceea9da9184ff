"""Fewer neurons than contexts: hypotheses, guarantees, a case by hand."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.constructions.one_layer_narrow import Objective
from byheart.data.contexts import contexts
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.errors import AssumptionError, ByheartError
from byheart.machine import memory
from byheart.machine.watch import Watch
from byheart.models.verification import verify
from byheart.softmax.decoder import Decoder

METHOD = "one-layer-narrow"


def noting(sentences):
    """A watch that keeps its notes."""
    watch = Watch()
    watch.note = sentences.append
    return watch


def built(rows, **options):
    return compile(from_rows(rows), method=METHOD, **options)


def one_hot(count, vocabulary, seed=0):
    """Contexts of three tokens, each with one random label; the vocabulary occurs."""
    random = np.random.default_rng(seed)
    texts = sorted({tuple(t) for t in random.integers(vocabulary, size=(2 * count, 3)).tolist()})
    labels = random.integers(vocabulary, size=count).tolist()
    return [(list(text), label) for text, label in zip(texts[:count], labels, strict=True)]


def dense(count, vocabulary, seed=0):
    """Contexts of three tokens with random counts of every label."""
    random = np.random.default_rng(seed)
    rows = one_hot(count, vocabulary, seed)
    return [
        (text, label)
        for text, _ in rows
        for label in range(vocabulary)
        for _ in range(random.integers(1, 9))
    ]


@st.composite
def datasets(draw):
    token = st.sampled_from("abcd")
    rows = draw(st.lists(st.tuples(st.lists(token, min_size=1, max_size=4), token), min_size=1))
    return [*rows, (["a"], "a"), (["a"], "b")]


def test_by_hand():
    """One context, one neuron: the argument is 1/2, and log(1 + exp(-t)) must be within the gap.

    With t = (V_b - V_a) tanh(1/2), that is t >= log(1 / (exp(gap) - 1)), 6.907 for 1e-3.
    """
    model = built([(["a"], "b")])
    low, high = model.network["output"][:, 0]
    t = (high - low) * math.tanh(0.5)
    assert model.claim.gap == 1e-3 and model.network.shape.neurons == 1
    assert t >= -math.log(math.expm1(1e-3))
    fit = model.record.verification.fit
    assert fit.max == pytest.approx(math.log1p(math.exp(-t)), rel=1e-6)


@settings(max_examples=12)
@given(datasets(), st.sampled_from([1e-2, 1e-5]))
def test_every_distribution_is_within_the_gap(rows, gap):  # G1, G3
    model = built(rows, gap=gap, dimension=16)
    found, shape = model.record.verification, model.network.shape
    count = len({tuple(tokens) for tokens, _ in rows})
    assert (found.evidence, found.checked, found.engine) == ("proved", count, "dense")
    assert found.fit.max <= gap and 1 <= shape.neurons <= count
    m, d, w = shape.neurons, 16, len(model.tokens)
    formula = w * m + m * (d + 1) + 2 * 1 * (16 + 16) * d + (w + shape.length) * d
    assert model.record.parameters.dense == shape.parameters == formula


def test_fewer_neurons_than_contexts():  # G2
    said: list[str] = []
    model = built(one_hot(80, 8), watch=noting(said))
    neurons = model.network.shape.neurons
    assert neurons < 40 and model.record.verification.evidence == "proved"
    note = re.search(r"smallest m found: (\d+) for 80 contexts, an upper bound.*\((\d+) were too",
                     " ".join(model.record.notes))  # fmt: skip
    assert int(note[1]) == neurons > int(note[2])
    assert len(said) == model.record.search.tries <= 8
    assert any("too few" in sentence for sentence in said)
    assert built(one_hot(80, 8)).network == model.network


def test_neurons_are_as_named():
    model = built(one_hot(60, 6), neurons=45, gap=1e-4, activation="erf", heads=2)
    assert model.network.shape.neurons == 45 and model.claim.gap == 1e-4
    assert (model.network.shape.activation, model.network.shape.heads) == ("erf", 2)
    assert model.record.verification.evidence == "proved"
    assert "largest divergence reached" in model.record.notes[0]


def test_arbitrary_distributions_need_as_many_neurons_as_contexts():
    """The logits have rank m at most, so m < n cannot reach generic distributions (Theorem 5)."""
    model = built(dense(12, 4), gap=1e-9)
    assert model.network.shape.neurons == 12
    assert "smallest m found: 12 for 12 contexts" in model.record.notes[0]
    assert model.record.verification.evidence == "proved"


# --- what is refused


def test_one_token_is_refused():  # A1
    with pytest.raises(AssumptionError, match="A1 fails"):
        built([(["a"], "a"), (["a", "a"], "a")])


def test_a_small_dimension_is_refused():  # A2
    with pytest.raises(AssumptionError, match="A2 fails"):
        built(one_hot(9, 3), dimension=8)


def test_more_neurons_than_contexts_are_refused():  # A3
    with pytest.raises(AssumptionError, match="A3 fails: 10 neurons for 9 contexts.*smooth"):
        built(one_hot(9, 3), neurons=10)


def test_too_few_neurons_are_refused_with_what_was_reached():  # A4
    with pytest.raises(AssumptionError) as error:
        built(one_hot(60, 6), neurons=3)
    said = re.search(r"A4 fails: with 3 neurons the largest divergence reached is (\S+) nats, "
                     r"above the gap of 0.001", str(error.value))  # fmt: skip
    assert 1e-3 < float(said[1]) < 10


def test_memory_is_asked_for_before_starting(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(ByheartError, match=r"one-layer-narrow: .* needs [\d,]+ bytes of memory"):
        built(one_hot(9, 3))


# --- changes are noticed, and the gradient is that of what is minimised


def test_changes_are_noticed():
    rows = one_hot(30, 5)
    model = built(rows)
    assert verify(model, from_rows(rows)).evidence == "proved"
    (text, label), *others = rows
    for other in ([(text, (label + 1) % 5), *others], [*rows, (text, (label + 1) % 5)]):
        assert verify(model, from_rows(other)).evidence == "refuted"
    tensors = dict(model.network.tensors)
    tensors["output.weight"] = tensors["output.weight"].copy()
    tensors["output.weight"][model.tokens.index(label), 0] *= -1
    model = replace(model, network=Decoder(model.network.shape, tensors))
    assert verify(model, from_rows(rows)).evidence == "refuted"


def test_the_gradient():
    random, data = np.random.default_rng(0), from_rows(dense(7, 3))
    wanted = targets(data, contexts(data, positions=True))
    objective = Objective(random.normal(size=(7, 4)), wanted)
    point, direction = random.normal(size=(2, 12))
    _, gradient = objective(point)
    step = 1e-5
    (above, _), (below, _) = (objective(point + s * direction) for s in (step, -step))
    assert (above - below) / (2 * step) == pytest.approx(float(gradient @ direction), rel=1e-6)
