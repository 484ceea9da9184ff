"""The decoder of the proof of Theorem 5: constant rows, drawn numbers, a solved output matrix."""

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...data.targets import Targets
from ...errors import ByheartError
from ...exact.network import Dyadic, dyadic
from ...gadgets.logits import wanted
from ...softmax.decoder import ATTENTION, Decoder, Shape, Tensor
from ..base import Built, Report
from ..families import NeuronDecoder
from ..one_layer import GAP, check_memory, check_vocabulary
from .solve import Scalars, Solution, solve

DIGITS = 24  # binary, of z, u and w
DRAWS = 8
ETA = 1


class Scales(NamedTuple):
    """The entries of the constant matrices, powers of two."""

    query: Fraction
    key: Fraction
    value: Fraction
    out: Fraction


def build(targets: Targets, options: NeuronDecoder, report: Report) -> Built:
    """The decoder of the first draw for which the system is solved."""
    shape = shape_of(targets, options)
    gap = options.gap or GAP
    logits = wanted(targets, gap)
    for tries in range(1, DRAWS + 1):
        draw = random.Random(f"{options.seed}, {tries}")
        scalars = _drawn(shape, draw)
        solution = solve(scalars, shape.activation, ETA, targets, logits, draw)
        if solution is not None:
            decoder = _decoder(shape, scalars, solution)
            notes = _notes(decoder, solution)
            return Built(decoder, tries, notes, vocabulary=targets.vocabulary, gap=gap)
        report(f"draw {tries} of {DRAWS} brings two contexts or two neurons too close together")
    raise ByheartError(f"{DRAWS} draws failed; use another --seed")


def shape_of(targets: Targets, options: NeuronDecoder) -> Shape:
    """The decoder's sizes, refused if there is no choice of tokens or too little memory."""
    check_vocabulary("one-layer-literal", targets)
    shape = _shape(targets, options)
    check_memory("one-layer-literal", shape)
    return shape


def _shape(targets: Targets, options: NeuronDecoder) -> Shape:
    d = options.dimension or 1
    head = options.head_dimension or d
    return Shape(
        len(targets.vocabulary), targets.length, d, ATTENTION, options.heads or 1, head, head,
        options.skip, len(targets), options.activation or "logistic",
    )  # fmt: skip


def _drawn(shape: Shape, draw: random.Random) -> Scalars:
    """z and u from 1/4 to 1, distinct; and what the constant matrices multiply by."""
    d, scales = shape.dimension, _scales(shape)
    return Scalars(
        _positive(shape.vocabulary, draw),
        _positive(shape.length, draw),
        kappa=d * d * shape.key_dimension * scales.query * scales.key,
        nu=d * d * shape.heads * shape.value_dimension * scales.value * scales.out,
        skip=d if shape.skip else 0,
    )


def _positive(count: int, draw: random.Random) -> list[Fraction]:
    numbers = draw.sample(range(1 << (DIGITS - 2), 1 << DIGITS), count)
    return [Fraction(number, 1 << DIGITS) for number in numbers]


def _scales(shape: Shape) -> Scales:
    """Such that kappa and nu are at least 1 and below 2."""
    query, key = _halves(shape.dimension**2 * shape.key_dimension)
    value, out = _halves(shape.dimension**2 * shape.heads * shape.value_dimension)
    return Scales(query, key, value, out)


def _halves(total: int) -> tuple[Fraction, Fraction]:
    """Two powers of two, almost equal, whose product with the total is at least 1 and below 2."""
    bits = total.bit_length() - 1
    return Fraction(1, 1 << bits // 2), Fraction(1, 1 << bits - bits // 2)


def _decoder(shape: Shape, scalars: Scalars, solution: Solution) -> Decoder:
    sizes, scales = shape.tensors, _scales(shape)._asdict()
    constant = {
        f"attention.{name}.weight": _full(sizes[f"attention.{name}.weight"], dyadic(scale))
        for name, scale in scales.items()
    }
    output = _full(sizes["output.weight"], dyadic(0))
    for token, row in solution.output.items():
        output[token] = _column(row)
    return Decoder(
        shape,
        {
            "embedding.weight": _repeated(scalars.z, shape.dimension),
            "positions.weight": _repeated(scalars.u, shape.dimension),
            **constant,
            "hidden.weight": _repeated(solution.w, shape.dimension),
            "hidden.bias": _full(sizes["hidden.bias"], dyadic(ETA)),
            "output.weight": output,
        },
    )


def _full(size: tuple[int, ...], number: Dyadic) -> Tensor:
    return np.broadcast_to(_column([number]), size).copy()


def _column(numbers: Sequence[Dyadic]) -> Tensor:
    """A vector of these; numpy would take a list of pairs for a matrix."""
    tensor = np.empty(len(numbers), object)
    for i, number in enumerate(numbers):
        tensor[i] = number
    return tensor


def _repeated(numbers: Sequence[Fraction], dimension: int) -> Tensor:
    """The matrix with these numbers in each of its columns."""
    return np.repeat(_column([dyadic(x) for x in numbers])[:, None], dimension, axis=1)


def _notes(decoder: Decoder, solution: Solution) -> tuple[str, ...]:
    return (
        f"the longest weight has {decoder.counts()[1]['largest']:,} bits",
        f"the output matrix was solved with {solution.bits:,} bits; "
        f"its largest entry is about 10^{solution.magnitude}",
    )
