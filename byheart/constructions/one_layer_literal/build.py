"""The decoder of the proof of Theorem 5: constant rows, drawn numbers, a solved output matrix."""

import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ...data.targets import Targets
from ...errors import ByheartError
from ...exact.network import Dyadic, dyadic
from ...gadgets.logits import wanted
from ...machine.watch import Watch
from ...softmax.decoder import Decoder, Shape, Tensor
from ..base import Built, within
from .solve import Scalars, Solution, solve

DIGITS = 24  # binary, of z, u and w
DRAWS = 8
ETA = 1


def build(shape: Shape, targets: Targets, gap: float, seed: int, watch: Watch) -> Built:
    """The decoder of the first draw for which the system is solved.

    z and u are distinct, from 1/4 to 1. The constant matrices hold powers of two such that kappa
    and nu, by which they multiply scores and attention, are at least 1 and below 2.
    """
    logits, d = wanted(targets, gap), shape.dimension
    scores, attention = d * d * shape.key_dimension, d * d * shape.heads * shape.value_dimension
    (query, key), (value, out) = _halves(scores), _halves(attention)
    scales = {"query": query, "key": key, "value": value, "out": out}
    for tries in range(1, DRAWS + 1):
        draw = random.Random(f"{seed}, {tries}")
        scalars = Scalars(
            _positive(shape.vocabulary, draw),
            _positive(shape.length, draw),
            kappa=scores * query * key,
            nu=attention * value * out,
            skip=d if shape.skip else 0,
        )
        solution = solve(scalars, shape.activation, ETA, targets, logits, draw)
        if solution is not None:
            decoder = _decoder(shape, scales, scalars, solution)
            notes = (
                f"the longest weight has {decoder.counts()[1]['largest']:,} bits",
                f"the output matrix was solved with {solution.bits:,} bits; "
                f"its largest entry is about 10^{solution.magnitude}",
            )
            return within(gap, decoder, targets.kind, targets.vocabulary, tries, notes)
        watch.note(f"draw {tries} of {DRAWS} brings two contexts or two neurons too close together")
    raise ByheartError(f"{DRAWS} draws failed; try another `seed`.")


def _positive(count: int, draw: random.Random) -> list[Fraction]:
    numbers = draw.sample(range(1 << (DIGITS - 2), 1 << DIGITS), count)
    return [Fraction(number, 1 << DIGITS) for number in numbers]


def _halves(total: int) -> tuple[Fraction, Fraction]:
    """Two powers of two, almost equal, whose product with the total is at least 1 and below 2."""
    bits = total.bit_length() - 1
    return Fraction(1, 1 << bits // 2), Fraction(1, 1 << bits - bits // 2)


def _decoder(
    shape: Shape, scales: dict[str, Fraction], scalars: Scalars, solution: Solution
) -> Decoder:
    sizes = shape.tensors
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
