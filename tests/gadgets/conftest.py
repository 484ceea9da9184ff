"""An evaluator of its own, in fractions."""

from fractions import Fraction
from functools import cache

import pytest


@pytest.fixture(scope="session")
def run():
    """A function from feed-forward layers and a column to the column after them."""
    fraction = cache(lambda value: value.fraction)

    def affine(weight, bias, column):
        assert weight.columns == len(column) and bias.rows == weight.rows
        result = [Fraction(0)] * weight.rows
        for place, source, value in weight.entries:
            result[place] += fraction(value) * column[source]
        for place, _, value in bias.entries:
            result[place] += fraction(value)
        return result

    def forward(layers, column):
        for layer in layers:
            units = [max(Fraction(0), x) for x in affine(layer.W1, layer.b1, column)]
            added = affine(layer.W2, layer.b2, units)
            column = [x + y for x, y in zip(column, added, strict=True)]
        return column

    return forward
