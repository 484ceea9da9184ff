"""A step function of one whole number by two or three hidden layers of about sqrt(steps) units.

After yun2019. The label changes by c between x = t - 1 and x = t: a step (t, c). The steps, in
order, are cut into groups of m. Unit pair l of the last hidden layer makes the l-th step of every
group: with S >= |c| for all steps, a power of two,

    relu(S (x - t + 1) - max(-c, 0)) - relu(S (x - t + 1) - max(c, 0))

is 0 for whole x <= t - 1, where both units are at most 0. For x >= t both are at least S - |c| >= 0
and their difference is max(c, 0) - max(-c, 0) = c. Which t and c it uses depends on the group of x.
The layer before has, for each group but the first, a switch relu(x - b + 1) - relu(x - b), which is
0 below b and 1 from b on, b = t - 1 for the group's first step: biases are those of the first group
plus switch times difference, for each switch. One more unit holds the label with which a group
begins. Between a key below b and b itself nothing changes, so it may belong to either group.

Each of 2 m units reads x and G - 1 switches, which are two units of the first layer, 4 weights per
step; or one unit each of a layer of switches between them, 2 weights per step.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from ..exact.network import Layer, Linear, Number, Relu, matrix, vector


def switches(
    keys: Sequence[int],
    labels: Sequence[int],
    between: bool,
    terms: Mapping[int, Number] | None = None,
    width: int = 1,
) -> Iterator[Layer]:
    """Keys from 0 on with two labels or more, as lane 0 or as terms; `between`: with switches."""
    pairs = sorted(zip(keys, labels, strict=True))
    steps = [(b[0], b[1] - a[1]) for a, b in pairwise(pairs) if a[1] != b[1]]
    size = max(1, round(len(steps) ** 0.5))
    scale = 1 << (max(abs(change) for _, change in steps) - 1).bit_length()  # S
    groups = [steps[i : i + size] for i in range(0, len(steps), size)]
    nowhere = pairs[-1][0] + 2, 0  # no key is that large
    filled = [group + [nowhere] * (size - len(group)) for group in groups]
    units = 2 * size + 1
    values = np.zeros((units, len(groups)), dtype=object)  # biases; the last unit's is the label
    label = pairs[0][1]
    for j, group in enumerate(filled):
        for i, (t, c) in enumerate(group):
            values[2 * i, j] = -scale * (t - 1) - max(-c, 0)
            values[2 * i + 1, j] = -scale * (t - 1) - max(c, 0)
        values[2 * size, j] = label
        label += sum(c for _, c in group)

    begins = [group[0][0] - 1 for group in groups[1:]]  # b
    count = len(begins)
    shifts = [0, *(e - b for b in begins for e in (1, 0))]
    rows = {(i, lane): w for i in range(len(shifts)) for lane, w in (terms or {0: 1}).items()}
    biases = vector(dict(enumerate(shifts)), len(shifts))
    yield Relu(matrix(len(shifts), width, rows), biases, "switches")
    before, parts = len(shifts), {j: {1 + 2 * j: 1, 2 + 2 * j: -1} for j in range(count)}
    if between:
        joined: dict[tuple[int, int], Number] = {(0, 0): 1}
        joined |= {(1 + j, lane): w for j in range(count) for lane, w in parts[j].items()}
        yield Relu(matrix(1 + count, before, joined), vector({}, 1 + count), "switches")
        before, parts = 1 + count, {j: {1 + j: 1} for j in range(count)}
    weights: dict[tuple[int, int], Number] = {(i, 0): scale for i in range(units - 1)}
    changes = values[:, 1:] - values[:, :-1]  # from each group to the next
    for i, j in np.argwhere(changes).tolist():
        weights |= {(i, lane): w * changes[i, j] for lane, w in parts[j].items()}
    biases = vector(dict(enumerate(values[:, 0].tolist())), units)
    yield Relu(matrix(units, before, weights), biases, "steps")
    out = {(0, i): 1 if i % 2 == 0 else -1 for i in range(units)}
    yield Linear(matrix(1, units, out), vector({}, 1), "output")
