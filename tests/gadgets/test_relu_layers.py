"""Named lanes become rows and columns; what is not carried is lost."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.exact.network import Dyadic, dyadic
from byheart.gadgets.relu_layers import Step, carry, power, relu_layers, row


def test_by_hand(run):
    steps = [
        Step("a", (row("y", {"z": -2, "x": 1}, Fraction(1, 2)), *carry("x"))),
        Step("b", (row("nothing"), row("sum", {"x": 1, "y": 1}))),
    ]
    layers = relu_layers(["x", "z"], steps)
    assert [layer.stage for layer in layers] == ["a", "b"]
    assert [(e.row, e.column) for e in layers[0].weight.entries] == [(0, 0), (0, 1), (1, 0)]
    assert run(layers, [5, 1]) == [0, Fraction(17, 2)]
    assert run(layers, [5, 4]) == [0, 5]


def test_zeros_are_no_parameters():
    (layer,) = relu_layers(["x"], [Step("", (row("y", {"x": 0}, 0),))])
    assert not layer.weight.entries and not layer.bias.entries
    assert (layer.weight.rows, layer.weight.columns) == (1, 1)


def test_a_lost_lane_is_noticed():
    with pytest.raises(KeyError):
        relu_layers(["x"], [Step("", carry("y"))])
    with pytest.raises(AssertionError):
        relu_layers(["x"], [Step("", carry("x", "x"))])


def test_equal_layers_are_one_object():
    step = Step("", carry("x"))
    layers = relu_layers(["x"], [step, Step("", carry("x"))])
    assert layers[0] is layers[1]


@given(st.fractions())
def test_only_numbers_from_0_are_carried(run, x):
    """bit_extraction, D8: a layer without skip connection carries relu(x)."""
    assert (run(relu_layers(["x"], [Step("", carry("x"))]), [x]) == [x]) == (x >= 0)


@given(st.integers(-3000, 3000))
def test_powers(exponent):
    assert power(exponent) == dyadic(Fraction(2) ** exponent)
    assert power(exponent, -1) == Dyadic(-1, exponent)
