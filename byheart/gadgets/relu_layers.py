"""Layers h -> relu(W h + b) without skip connection, written with named lanes.

A lane that a step does not name is lost: one that is still needed must be carried.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..exact.network import Dyadic, Entry, Matrix, Number, Relu, dyadic

ZERO, ONE = Dyadic(0, 0), Dyadic(1, 0)


class Row(NamedTuple):
    """lane <- relu(sum of weight * lane + bias)."""

    lane: str
    terms: tuple[tuple[str, Dyadic], ...]
    bias: Dyadic = ZERO


class Step(NamedTuple):
    """One layer before its lanes have numbers: the rows are the lanes after it, in order."""

    stage: str
    rows: tuple[Row, ...]


def row(
    lane: str, terms: Mapping[str, Number | Dyadic] | None = None, bias: Number | Dyadic = 0
) -> Row:
    """A row from plain numbers; without terms and bias the lane is 0."""
    return Row(lane, tuple((k, _exact(w)) for k, w in (terms or {}).items()), _exact(bias))


def carry(*lanes: str) -> tuple[Row, ...]:
    """The lanes as they are. They must not be negative: relu(x) = x only for x >= 0."""
    return tuple(Row(lane, ((lane, ONE),)) for lane in lanes)


def power(exponent: int, sign: int = 1) -> Dyadic:
    """sign * 2**exponent, without writing its digits out."""
    return Dyadic(sign, exponent)


def relu_layers(lanes: Sequence[str], steps: Iterable[Step]) -> tuple[Relu, ...]:
    """The steps as layers, given the lanes before the first one. Equal layers are one object."""

    @lru_cache(maxsize=256)
    def layer(before: tuple[str, ...], step: Step) -> Relu:
        place, size = {lane: i for i, lane in enumerate(before)}, len(step.rows)
        assert len({r.lane for r in step.rows}) == size, "two rows write one lane"
        weight = (
            Entry(i, column, value)
            for i, (_, terms, _) in enumerate(step.rows)
            for column, value in sorted((place[k], value) for k, value in terms if value.mantissa)
        )
        bias = (Entry(i, 0, r.bias) for i, r in enumerate(step.rows) if r.bias.mantissa)
        matrix = Matrix(size, len(before), tuple(weight))
        return Relu(matrix, Matrix(size, 1, tuple(bias)), step.stage)

    before, layers = tuple(lanes), []
    for step in steps:
        layers.append(layer(before, step))
        before = tuple(r.lane for r in step.rows)
    return tuple(layers)


def _exact(value: Number | Dyadic) -> Dyadic:
    return value if isinstance(value, Dyadic) else dyadic(value)
