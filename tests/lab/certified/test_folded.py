"""Foldings are identities: against forward passes that are written as the papers say."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.architectures import architecture
from byheart.lab.certified.folded import decoder
from byheart.softmax import doubles as softmax

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
from made_up import FAST, drawn, gelu  # noqa: E402

sys.path.remove(HERE)


def softmaxed(x):
    x = np.exp(x - x.max())
    return x / x.sum()


def madden(t, tokens, d):
    """Section 7: one head with biases, 1/sqrt(d), no skip connection."""
    x = t["embedding.weight"][tokens] + t["positions.weight"][: len(tokens)]
    maps = {
        name: (t[f"attention.{name}.weight"], t.get(f"attention.{name}.bias", 0.0))
        for name in ("query", "key", "value", "out")
    }
    query = maps["query"][0] @ x[-1] + maps["query"][1]
    keys = x @ maps["key"][0].T + maps["key"][1]
    values = x @ maps["value"][0].T + maps["value"][1]
    said = maps["out"][0] @ (softmaxed(keys @ query / math.sqrt(d)) @ values) + maps["out"][1]
    neurons = gelu(t["hidden.weight"] @ said + t["hidden.bias"])
    return t["output.weight"] @ neurons + t["output.bias"]


def dana(t, tokens, heads):
    """Eq. (2), and with neurons section 4.2.1."""
    x = t["embedding.weight"][tokens] + t["positions.weight"][: len(tokens)]
    y = x[-1].copy()
    for h in range(heads):
        size = len(t["attention.query.weight"]) // heads
        rows = slice(h * size, (h + 1) * size)
        query, key, value = (t[f"attention.{n}.weight"][rows] for n in ("query", "key", "value"))
        weights = softmaxed((x @ key.T) @ (query @ x[-1]))
        y += t["attention.out.weight"][:, rows] @ (value @ (weights @ x))
    if "hidden.weight" in t:
        y = t["down.weight"] @ gelu(t["hidden.weight"] @ y) + y
    return t["output.weight"] @ y


def dana_program(t, tokens, heads):
    """The program: heads of d_h x d_h between one map to d_h coordinates and one back."""
    e, d_h = t["embedding.weight"][tokens], t["positions.weight"].shape[1]
    same = np.eye(d_h)
    z = e @ t.get("compress.weight", same).T + t["positions.weight"][: len(tokens)]
    a = np.zeros(d_h)
    for h in range(heads):
        rows = slice(h * d_h, (h + 1) * d_h)
        query, key, value = (t[f"attention.{n}.weight"][rows] for n in ("query", "key", "value"))
        weights = softmaxed((z @ key.T) @ (query @ z[-1]) / math.sqrt(d_h))
        a += t["attention.out.weight"][:, rows] @ (value @ (weights @ z))
    return t["output.weight"] @ (e[-1] + t.get("decompress.weight", same) @ a)


def asked(found, tokens):
    return softmax.logits(found, np.array(tokens), np.array([0, len(tokens)]))[0]


def sizes(draw, largest=6):
    return {
        "vocabulary": draw(st.integers(2, largest)),
        "length": draw(st.integers(1, 5)),
        "dimension": draw(st.integers(1, largest)),
    }


def check(found, tensors, plain, seed):
    """The decoder says what the plain forward pass says, up to a constant, on random contexts."""
    made = decoder(found, tensors)
    doubles = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    random = np.random.default_rng(seed)
    for _ in range(4):
        length = int(random.integers(1, found.sizes["length"] + 1))
        tokens = random.integers(0, found.sizes["vocabulary"], length)
        wanted = plain(doubles, tokens)
        assert np.allclose(asked(made, tokens), wanted, rtol=1e-9, atol=1e-9 * abs(wanted).max())
    return made


@FAST
@given(st.data(), st.integers(0, 2**32))
def test_madden2024_is_a_decoder(data, seed):
    given = sizes(data.draw)
    given |= {"neurons": data.draw(st.integers(1, 7))}
    given |= {"attention_biases": data.draw(st.booleans())}
    found = architecture("madden2024", given)
    d = given["dimension"]
    made = check(found, drawn(found, seed), lambda t, tokens: madden(t, tokens, d), seed)
    assert made.shape.dimension == d + given["attention_biases"]
    assert made.shape.neurons == given["neurons"] + 1


@FAST
@given(st.data(), st.integers(0, 2**32))
def test_dana2024_is_a_decoder(data, seed):
    heads = data.draw(st.integers(0, 3))
    given = {**sizes(data.draw), "heads": heads, "head_dimension": data.draw(st.integers(1, 3))}
    found = architecture("dana2024", given)
    made = check(found, drawn(found, seed), lambda t, tokens: dana(t, tokens, heads), seed)
    assert made.shape.parameters - found.parameters == (0 if heads else 4 * given["dimension"])


@FAST
@given(st.data(), st.integers(0, 2**32))
def test_dana2024_program_is_a_decoder(data, seed):
    heads, d_h = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 6))
    given = {**sizes(data.draw), "heads": heads, "head_dimension": d_h}
    found = architecture("dana2024-program", given)
    made = check(found, drawn(found, seed), lambda t, tokens: dana_program(t, tokens, heads), seed)
    assert made.shape.dimension == given["dimension"] + d_h


@FAST
@given(st.data(), st.integers(0, 2**32))
def test_dana2024_mlp_is_a_decoder(data, seed):
    given = {**sizes(data.draw), "width": data.draw(st.integers(1, 5))}
    found = architecture("dana2024-mlp", given)
    made = check(found, drawn(found, seed), lambda t, tokens: dana(t, tokens, 1), seed)
    assert made.shape.neurons == given["width"] + 2 * given["dimension"]


SMALL = {"vocabulary": 4, "length": 3, "dimension": 3}
SIZES = {
    "madden2024": {**SMALL, "neurons": 5, "attention_biases": True},
    "dana2024": {**SMALL, "heads": 2, "head_dimension": 2},
    "dana2024-program": {**SMALL, "heads": 2, "head_dimension": 2},
    "dana2024-mlp": {**SMALL, "width": 4},
}


@pytest.mark.parametrize("name", SIZES)
def test_every_tensor_matters_but_the_key_bias(name):
    found = architecture(name, SIZES[name])
    tensors = drawn(found, 1)
    before = asked(decoder(found, tensors), [0, 1, 2])
    for key in tensors:
        changed = {**tensors, key: tensors[key].copy()}
        changed[key].flat[0] += 1  # the first token and position are in the context
        after = asked(decoder(found, changed), [0, 1, 2])
        same = np.allclose(before, after, rtol=0, atol=1e-12)
        assert same == (key == "attention.key.bias"), key


@pytest.mark.parametrize("name", SIZES)
def test_a_decoder_holds_no_negative_zero(name):
    found = architecture(name, SIZES[name])
    tensors = {key: -np.zeros_like(tensor) for key, tensor in drawn(found, 1).items()}
    for tensor in decoder(found, tensors).tensors.values():
        assert not np.signbit(tensor[tensor == 0]).any()


def test_tensors_of_another_preset_are_refused():
    found = architecture("dana2024", SIZES["dana2024"])
    with pytest.raises(AssertionError, match="other tensors"):
        decoder(found, {"embedding.weight": np.zeros((4, 3))})
