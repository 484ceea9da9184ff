"""Layers h -> relu(W h + b) without skip connection, written with named lanes.

What a step does not name is lost: a lane that is still needed must be carried.
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
    layer = lru_cache(maxsize=256)(_layer)
    before, layers = tuple(lanes), []
    for step in steps:
        layers.append(layer(before, step))
        before = tuple(r.lane for r in step.rows)
    return tuple(layers)


def _layer(before: tuple[str, ...], step: Step) -> Relu:
    place = {lane: i for i, lane in enumerate(before)}
    assert len({r.lane for r in step.rows}) == len(step.rows), "two rows write one lane"
    weight = (
        Entry(i, column, value)
        for i, (_, terms, _) in enumerate(step.rows)
        for column, value in sorted((place[lane], value) for lane, value in terms if value.mantissa)
    )
    bias = (Entry(i, 0, r.bias) for i, r in enumerate(step.rows) if r.bias.mantissa)
    size = len(step.rows)
    return Relu(Matrix(size, len(before), tuple(weight)), Matrix(size, 1, tuple(bias)), step.stage)


def _exact(value: Number | Dyadic) -> Dyadic:
    return value if isinstance(value, Dyadic) else dyadic(value)
