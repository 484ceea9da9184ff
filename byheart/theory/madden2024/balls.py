"""Real functions on balls (arb): the result contains every value that the function takes there.

The precision is that of flint's context: ctx.workprec(bits) sets it for a block.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from flint import arb, fmpq

from ...errors import ByheartError
from ...softmax.arb import ACTIVATIONS

Real = int | float | Fraction


def exact(numbers: Iterable[Real]) -> list[Fraction]:
    try:
        return [Fraction(number) for number in numbers]
    except (TypeError, ValueError, OverflowError):
        raise ByheartError("`weights` must be finite numbers.") from None


def ball(number: Real) -> arb:
    """A ball around a rational number; of radius zero for a short dyadic one."""
    return arb(fmpq(*number.as_integer_ratio()))


FUNCTIONS: dict[str, Callable[[arb], arb]] = {**ACTIVATIONS, "cos": arb.cos, "exp": arb.exp}


def attended(values: Sequence[arb], scale: arb | int = 1) -> arb:
    """<x, softmax(scale x x_t)> with x_t the last value: attention with d = 1 (Theorem 4)."""
    scores = [scale * x * values[-1] for x in values]
    top = max(scores, key=lambda score: score.mid())
    weights = [(score - top).exp() for score in scores]
    total = sum((x * weight for x, weight in zip(values, weights, strict=True)), arb(0))
    return total / sum(weights, arb(0))


def clusters(values: Sequence[arb]) -> list[list[int]]:
    """Groups of places, by their lower ends, such that values of different groups differ."""
    found: list[list[int]] = []
    reached = arb.neg_inf()
    for i in sorted(range(len(values)), key=lambda i: values[i].lower()):
        if not values[i].lower() > reached:
            found[-1].append(i)
        else:
            found.append([i])
        reached = reached.max(values[i].upper())
    return found
