"""The stages of a decoder add up to it, and its formula counts its parameters."""

import re

import numpy as np
import pytest

import byheart
from byheart.data.load import from_rows
from byheart.softmax.codeword import encoded_bits
from byheart.softmax.decoder import ATTENTION, TOKEN_SUM, Shape
from byheart.softmax.stages import stages
from tests.softmax.code_words import encode

ROWS = [(["a", "b"], "c"), (["b", "a"], "a"), (["c"], "b"), (["c"], "a"), (["b"], "b")]


@pytest.fixture(
    scope="module",
    params=["one-layer", "one-layer-literal", "token-averaging", "attention-only"],
)
def model(request):
    return byheart.compile(from_rows(ROWS), method=request.param)


@pytest.fixture
def decoder(model):
    return model.network


def test_stages_add_up(decoder):
    parts, (parameters, bits) = stages(decoder), decoder.counts()
    assert sum(stage.nonzero for stage in parts) == parameters["nonzero"]
    assert sum(stage.dense for stage in parts) == parameters["dense"] == decoder.shape.parameters
    assert sum(stage.bits for stage in parts) == bits["total"]
    assert max(stage.largest for stage in parts) == bits["largest"]
    assert sum(stage.depth for stage in parts) == decoder.depth == 1
    assert [stage.runs for stage in parts] == [((i, i),) for i in range(len(parts))]


def test_stages_are_those_that_are_explained(model):
    for stage, shown in zip(stages(model.network), byheart.explain(model).stages, strict=True):
        assert vars(stage).items() <= vars(shown).items()


def test_code_bits_are_those_of_the_code_word(decoder):
    assert 0 <= 8 * len(encode(decoder)) - encoded_bits(decoder) < 8


@pytest.mark.parametrize("mixing", [ATTENTION, TOKEN_SUM])
@pytest.mark.parametrize("neurons", [0, 7])
def test_the_formula_counts_the_parameters(mixing, neurons):
    for seed in range(9):
        omega, T, d, m_0, d_1, d_0 = np.random.default_rng(seed).integers(2, 9, 6).tolist()
        if mixing == TOKEN_SUM:
            m_0 = d_1 = d_0 = 0
        shape = Shape(omega, T, d, mixing, m_0, d_1, d_0, False, neurons, "tanh")
        product = re.sub(r"(?<=[\w)]) (?=[\w(])", " * ", shape.formula)
        letters = dict(omega=omega, T=T, d=d, m=neurons, m_0=m_0, d_0=d_0, d_1=d_1)
        assert eval(product, letters) == shape.parameters
