"""A trained network of kajitsuka2025, eq. (165), as a Network: weights of few bits, exact answers.

Float32 weights are dyadic, but a value after B blocks has all their bits: each block adds those of
two weights. So the weights are rounded to multiples of 2^-b first, b as small as all labels allow.
A run in doubles chooses b; that the labels are correct is then proved in exact arithmetic.

The mean of n columns is dyadic if the odd part of n divides W_O, which is rounded accordingly.
Where sequences of words have different lengths, one more lane is 1 for words and 0 for padding:
hard attention with this lane as its score takes the mean of the words alone.

From logits to the number of a label, exactly: comparisons, then the one that wins them all.
step(x) = relu(x) - relu(x - 1) is 0 for x <= 0 and 1 for x >= 1. With s = 2^k at least 1 over the
smallest margin, step(s (l_i - l_j)) is 1 if i is the label, and 0 if j is. Let t_ij be this for
i < j, and 1 - t_ji for i > j. The label wins all C - 1 comparisons. Any other label loses the one
with it, and the rest are at most 1 each: so relu(sum over j of t_ij - (C - 2)) is 1 for the label
and 0 for every other, whatever the comparisons of the others are.

Two labels need one comparison: the output is step(s (l_1 - l_0)) itself, or step(s l) if the
network has one output l, whose sign is the label.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...constructions.base import input_of
from ...data.dataset import Dataset
from ...data.targets import Floats
from ...errors import ByheartError
from ...exact import network as exact
from ..problem import Problem

Exact = dict[str, NDArray]  # arrays of Fractions
Logits = Sequence[Sequence[exact.Number]]  # the coefficients of each logit, one per lane
OUT, EMBEDDING, VECTORS = "attention.out.weight", "embedding.weight", "vectors.weight"
LEARNT, STEP, DECIDE = "learnt", "step", "decide"  # stages: the trained blocks, the readout
BLOCK = ("hidden.weight", "hidden.bias", "down.weight", "down.bias")


def rounded(tensors: Mapping[str, NDArray], bits: int, lengths: NDArray) -> Exact:
    """The tensors as multiples of 2^-bits; W_O is one of all odd parts of the lengths too."""
    multiple = math.lcm(*(n // (n & -n) for n in np.unique(lengths).tolist()))
    finer = bits + (multiple - 1).bit_length()
    exact_tensors = {}
    for name, tensor in tensors.items():
        step = Fraction(multiple, 1 << finer) if name == OUT else Fraction(1, 1 << bits)
        values = [round(Fraction(x) / step) * step for x in tensor.ravel().tolist()]
        exact_tensors[name] = np.array([*values, None], object)[:-1].reshape(tensor.shape)
    return exact_tensors


def embedded(tensors: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """The same function with a vector of m numbers per word: products with E_in, in doubles."""
    folded = {name: tensor for name, tensor in tensors.items() if name != VECTORS}
    if VECTORS in tensors:
        folded[EMBEDDING] = tensors[VECTORS].astype(np.float64) @ tensors[EMBEDDING]
    return folded


def logits(tensors: Mapping[str, NDArray], problem: Problem) -> Floats:
    given = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    table = given[EMBEDDING]
    if problem.reads_vectors:
        columns = _blocks(given, "first", problem.tokens.astype(np.float64) @ table)
    else:  # blocks before attention see one token: once per word is enough
        columns = _blocks(given, "first", table)[problem.tokens]
    inside = np.arange(problem.length) < problem.lengths[:, None]
    mean = (columns * inside[:, :, None]).sum(axis=1) / problem.lengths[:, None]
    last = columns[np.arange(len(problem)), problem.lengths - 1]
    met = last + mean @ given["attention.value.weight"].T @ given[OUT].T
    return _blocks(given, "second", met) @ given["output.weight"].T


def depth(tensors: Mapping[str, NDArray]) -> int:
    return sum(name.startswith("first.") and name.endswith(".hidden.bias") for name in tensors)


def _blocks(given: Mapping[str, NDArray], part: str, h: Floats) -> Floats:
    for i in range(depth(given)):
        weight, bias, down, add = (given[f"{part}.{i}.{name}"] for name in BLOCK)
        h = h + np.maximum(0, h @ weight.T + bias) @ down.T + add
    return h


def network(tensors: Exact, dataset: Dataset, slope: int) -> exact.Network:
    """The network whose output is the number of the label; ByheartError if lengths differ."""
    masked = len(np.unique(dataset.lengths)) > 1
    if masked and dataset.kind == "vector":
        raise ByheartError(
            "sequences of vectors with different lengths can be trained on, but the network cannot "
            "be certified: no linear map distinguishes padding from vectors."
        )
    table = tensors[EMBEDDING]
    words, d = table.shape
    lanes = d + masked
    if dataset.kind == "vector":
        first: exact.Layer = exact.Linear(_matrix(table.T, d, words), exact.vector({}, d), "embed")
    else:  # words have a column each; column 0 is the padding's
        lane = np.full((words, int(masked)), Fraction(1), object)
        padding = np.full((1, lanes), Fraction(0), object)
        columns = np.concatenate([padding, np.hstack([table, lane])])
        first = exact.Embedding(_matrix(columns.T, lanes, words + 1), exact.vector({}, lanes))
    # The mean of all columns or, with the lane that marks words, of those where it is 1.
    head = len(tensors["attention.value.weight"])
    value = _matrix(tensors["attention.value.weight"], head, lanes)
    out = _matrix(tensors[OUT], lanes, head)
    attention: exact.Layer = exact.UniformAttention(value, out)
    if masked:
        mark = exact.matrix(head, lanes, {(0, lanes - 1): 1})
        attention = exact.HardAttention(mark, mark, value, out)
    logits = [[*row, *[Fraction(0)] * masked] for row in tensors["output.weight"].tolist()]
    last: tuple[exact.Layer, ...] = (_label([0] * lanes),)  # the number of the only label is 0
    if len(dataset.label_names) > 1:
        last = readout(logits, slope)
    before, after = (_learnt(tensors, part, lanes) for part in ("first", "second"))
    layers: tuple[exact.Layer, ...] = (first, *before, attention, *after, *last)
    return exact.Network(input_of(dataset, positions=False), layers)


def _learnt(tensors: Exact, part: str, lanes: int) -> list[exact.FeedForward]:
    blocks = []
    for i in range(depth(tensors)):
        weight, bias, down, add = (tensors[f"{part}.{i}.{name}"] for name in BLOCK)
        hidden = len(bias)
        into = _matrix(weight, hidden, lanes), _matrix(bias[:, None], hidden, 1)
        back = _matrix(down, lanes, hidden), _matrix(add[:, None], lanes, 1)
        blocks.append(exact.FeedForward(*into, *back, LEARNT))
    return blocks


def _matrix(values: NDArray, rows: int, columns: int) -> exact.Matrix:
    return exact.matrix(rows, columns, dict(np.ndenumerate(values)))


def readout(logits: Logits, slope: int) -> tuple[exact.Relu | exact.Linear, ...]:
    """Layers that turn the lanes into a label; comparisons have the slope 2**slope."""
    scale = Fraction(2) ** slope
    if len(logits) == 1:
        return _compare([[scale * w for w in logits[0]]]), _label([1, -1])
    if len(logits) == 2:
        return _compare([_difference(logits, 1, 0, scale)]), _label([1, -1])
    pairs = list(combinations(range(len(logits)), 2))
    steps, labels = _compare([_difference(logits, i, j, scale) for i, j in pairs]), len(logits)
    # One unit per label: 1 if it wins all its comparisons.
    weights: dict[tuple[int, int], exact.Number] = {}
    bias = {i: Fraction(2 - labels) for i in range(labels)}
    for place, (i, j) in enumerate(pairs):
        weights |= {(i, 2 * place): 1, (i, 2 * place + 1): -1}
        weights |= {(j, 2 * place): -1, (j, 2 * place + 1): 1}
        bias[j] += 1  # t_ji = 1 - t_ij
    into = exact.matrix(labels, 2 * len(pairs), weights)
    decide = exact.Relu(into, exact.vector(bias, labels), DECIDE)
    return steps, decide, _label(range(labels))


def _difference(logits: Logits, one: int, other: int, scale: Fraction) -> list[exact.Number]:
    return [scale * (a - b) for a, b in zip(logits[one], logits[other], strict=True)]  # type: ignore[operator]


def _compare(rows: Logits) -> exact.Relu:
    """relu(x) and relu(x - 1) for each row x: units 2 i and 2 i + 1."""
    units = 2 * len(rows)
    weights = {(u, lane): w for u in range(units) for lane, w in enumerate(rows[u // 2])}
    bias = exact.vector({u: -1 for u in range(1, units, 2)}, units)
    return exact.Relu(exact.matrix(units, len(rows[0]), weights), bias, STEP)


def _label(numbers: Sequence[int]) -> exact.Linear:
    weights = {(0, unit): number for unit, number in enumerate(numbers)}
    return exact.Linear(exact.matrix(1, len(numbers), weights), exact.vector({}, 1), "output")
