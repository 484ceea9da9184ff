"""From logits to the number of a label, exactly: comparisons, then the one that wins them all.

step(x) = relu(x) - relu(x - 1) is 0 for x <= 0 and 1 for x >= 1. With s = 2^k at least 1 over the
smallest margin, step(s (l_i - l_j)) is 1 if i is the label, and 0 if j is. Let t_ij be this for
i < j, and 1 - t_ji for i > j. The label wins all C - 1 comparisons. Any other label loses the one
with it, and the rest are at most 1 each: so relu(sum over j of t_ij - (C - 2)) is 1 for the label
and 0 for every other, whatever the comparisons of the others are.

Two labels need one comparison: the output is step(s (l_1 - l_0)) itself, or step(s l) if the
network has one output l, whose sign is the label.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from ...exact.network import Linear, Number, Relu, matrix, vector

STEP, DECIDE = "step", "decide"  # stages
Rows = Sequence[Sequence[Number]]  # the coefficients of each logit, one per lane


def readout(logits: Rows, slope: int) -> tuple[Relu | Linear, ...]:
    """Layers that turn the lanes into a label; comparisons have the slope 2**slope."""
    scale = Fraction(2) ** slope
    if len(logits) == 1:
        return _compare([[scale * w for w in logits[0]]]), _label([1, -1])
    if len(logits) == 2:
        return _compare([_difference(logits, 1, 0, scale)]), _label([1, -1])
    pairs = list(combinations(range(len(logits)), 2))
    steps, labels = _compare([_difference(logits, i, j, scale) for i, j in pairs]), len(logits)
    # One unit per label: 1 if it wins all its comparisons.
    weights: dict[tuple[int, int], Number] = {}
    bias = {i: Fraction(2 - labels) for i in range(labels)}
    for place, (i, j) in enumerate(pairs):
        weights |= {(i, 2 * place): 1, (i, 2 * place + 1): -1}
        weights |= {(j, 2 * place): -1, (j, 2 * place + 1): 1}
        bias[j] += 1  # t_ji = 1 - t_ij
    decide = Relu(matrix(labels, 2 * len(pairs), weights), vector(bias, labels), DECIDE)
    return steps, decide, _label(range(labels))


def constant(lanes: int) -> tuple[Relu | Linear, ...]:
    """The read-out where there is only one label: its number is 0."""
    return (Linear(matrix(1, lanes, {}), vector({}, 1), "output"),)


def _difference(logits: Rows, one: int, other: int, scale: Fraction) -> list[Number]:
    return [scale * (a - b) for a, b in zip(logits[one], logits[other], strict=True)]  # type: ignore[operator]


def _compare(rows: Rows) -> Relu:
    """relu(x) and relu(x - 1) for each row x: units 2 i and 2 i + 1."""
    units = 2 * len(rows)
    weights = {(u, lane): w for u in range(units) for lane, w in enumerate(rows[u // 2])}
    bias = vector({u: -1 for u in range(1, units, 2)}, units)
    return Relu(matrix(units, len(rows[0]), weights), bias, STEP)


def _label(numbers: Sequence[int]) -> Linear:
    weights = {(0, unit): number for unit, number in enumerate(numbers)}
    return Linear(matrix(1, len(numbers), weights), vector({}, 1), "output")
