"""Presets: their counts against the formulas of the papers, and against sums by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.bounds.dana2024 import parameters
from byheart.decoder import ATTENTION, Shape
from byheart.errors import ByheartError
from byheart.presets import PRESETS, dana2024, dana2024_mlp, madden2024

sizes = st.integers(1, 40)


def test_dana2024_by_hand():
    """N = 50, S = 2, d = 10, 20 heads of 5: 500 + 20 + 500 + 4 * 1000."""
    found = dana2024(vocabulary=50, length=2, dimension=10, heads=20, head_dimension=5)
    assert found.parameters == 5020
    assert found.tensors["attention.query.weight"] == (100, 10)
    assert found.tensors["attention.out.weight"] == (10, 100)


def test_dana2024_mlp_by_hand():
    """N = 50, S = 2, d = 10, w = 64: 500 + 20 + 500 + 4 * 100 + 2 * 640."""
    assert dana2024_mlp(vocabulary=50, length=2, dimension=10, width=64).parameters == 2700


def test_madden2024_by_hand():
    """omega = 1000, d = 16, m = 512: 16000 + 4 * 256 + 512 * 17 + 1000 * 513; 64 biases more."""
    found = madden2024(vocabulary=1000)
    assert found.parameters == 16000 + 1024 + 8704 + 513000 == 538728
    assert madden2024(1000, attention_biases=True).parameters == 538728 + 64
    assert found.fixed == {"positions.weight": (10, 16)} and "positions.weight" not in found.tensors


@given(st.integers(2, 40), sizes, sizes, st.integers(0, 9), sizes)
def test_dana2024_is_eq_2(N, S, d, H, d_h):
    if d_h <= d:
        assert dana2024(N, S, d, H, d_h).parameters == parameters(N, S, d, d_h, H)
    shape = Shape(N, S, d, ATTENTION, H, d_h, d_h, True, 0, "none")
    if H:  # the same tensors as the decoders that are built
        assert dana2024(N, S, d, H, d_h).tensors == shape.tensors


@given(st.integers(2, 40), sizes, sizes, st.integers(2, 9))
def test_neurons_and_heads_of_the_same_size(N, S, d, H):
    """Figure 3 compares models of equally many parameters: 2 d (H - 1) neurons for H heads."""
    neurons = dana2024_mlp(N, S, d, width=2 * d * (H - 1))
    assert neurons.parameters == dana2024(N, S, d, H, d).parameters


def test_sizes_are_checked():
    with pytest.raises(ByheartError, match="hidden.weight"):
        dana2024_mlp(50, 2, 10, width=0)
    with pytest.raises(ByheartError, match="dana2024: embedding.weight"):
        dana2024(0, 2, 10, 1, 1)
    assert all(name == build(5, 2, 3, 4, *rest).name for name, (build, rest) in calls().items())


def calls():
    return {name: (build, (2,) if name == "dana2024" else ()) for name, build in PRESETS.items()}
