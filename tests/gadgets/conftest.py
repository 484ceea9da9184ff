"""Layers without skip connection, on fractions."""

from fractions import Fraction
from functools import cache

import pytest


@pytest.fixture(scope="session")
def run():
    """A function from Relu layers and a column to the column after them."""
    fraction = cache(lambda value: value.fraction)

    def forward(layers, column):
        for layer in layers:
            assert layer.weight.columns == len(column) and layer.bias.rows == layer.weight.rows
            result = [Fraction(0)] * layer.weight.rows
            for place, source, value in layer.weight.entries:
                result[place] += fraction(value) * column[source]
            for place, _, value in layer.bias.entries:
                result[place] += fraction(value)
            column = [max(Fraction(0), x) for x in result]
        return column

    return forward
