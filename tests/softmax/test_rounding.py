"""Answers that rounding would change are computed with more digits, others are not."""

import numpy as np
import pytest

import byheart
from byheart.claims.claim import Distributions, Words
from byheart.models.model import Model
from byheart.softmax import arb, doubles
from byheart.softmax.decoder import Decoder, Shape
from byheart.softmax.rounding import doubtful


def lost(large=2.0**60, mixing="attention"):
    """2^60, 5 and -2^60 are added up by the output: doubles lose the 5."""
    heads = (1, 1, 1, True) if mixing == "attention" else (0, 0, 0, False)
    shape = Shape(2, 1, 3, mixing, *heads, 0, "none")
    tensors = {name: np.zeros(size) for name, size in shape.tensors.items()}
    tensors["embedding.weight"][:] = large, 5.0, -large
    if mixing != "attention":
        tensors["token_sum.weight"][:] = 1.0
    tensors["output.weight"][0] = 1.0
    return Decoder(shape, tensors)


@pytest.mark.parametrize("mixing", ["attention", "token_sum"])
def test_recall_answers_what_the_decoder_computes(mixing):
    model = Model(lost(mixing=mixing), Words("string", ("a", "b")), Distributions(1e-9))
    assert model.distribution(["a"])[0] == pytest.approx(1 / (1 + np.exp(-5)), abs=1e-12)
    assert model.recall(["b"]) == "a"
    assert dict(model.trace(["a"]).logits) == {"a": 5.0, "b": 0.0}
    plain = Model(lost(2.0**20, mixing), model.words, model.claim)
    assert plain.distribution(["a"])[0] == pytest.approx(1 / (1 + np.exp(-5)), abs=1e-12)


def test_weights_that_overflow_are_in_doubt():
    tokens, starts = np.array([0]), np.array([0, 1])
    assert doubtful(lost(1e308), tokens, starts).all()
    assert not doubtful(lost(2.0**20), tokens, starts).any()


@pytest.mark.parametrize(
    "method, options",
    [
        ("one-layer", {}),
        ("one-layer", {"activation": "gelu"}),
        ("one-layer-smooth", {}),
        ("token-averaging", {}),
        ("attention-only", {}),
    ],
)
def test_compiled_decoders_are_not_in_doubt(method, options):
    rows = [([a, b], c) for a in "abc" for b in "abc" for c in "ab"[: 1 + (a == b)]]
    network = byheart.compile(byheart.Dataset.from_rows(rows), method=method, **options).network
    if network.number == "dyadic":
        pytest.skip("it runs in balls anyway")
    tokens, starts = np.array([0, 1, 2, 2]), np.array([0, 2, 4])
    assert not doubtful(network, tokens, starts).any()


def test_what_is_not_in_doubt_is_right():
    rng = np.random.default_rng(0)
    trusted = 0
    for _ in range(60):
        neurons = int(rng.integers(0, 5))
        shape = Shape(4, 3, 3, "attention", 2, 2, 2, True, neurons, "tanh" if neurons else "none")
        scale = 2.0 ** rng.integers(0, 40)
        tensors = {n: scale ** rng.random() * rng.normal(size=s) for n, s in shape.tensors.items()}
        decoder = Decoder(shape, tensors)
        tokens, starts = rng.integers(0, 4, 3), np.array([0, 3])
        if not doubtful(decoder, tokens, starts).any():
            trusted += 1
            exact = arb.distributions(decoder, tokens, starts)
            assert np.abs(doubles.distributions(decoder, tokens, starts) - exact).max() < 1e-4
    assert 10 <= trusted < 60
