"""A trained network of kajitsuka2025, eq. (165), as a Network: weights of few bits, exact answers.

Float32 weights are dyadic, but a value after B blocks has all their bits: each block adds those of
two weights. So the weights are rounded to multiples of 2^-b first, b as small as all labels allow.
A run in doubles chooses b; that the labels are correct is then proved in exact arithmetic.

The mean of n columns is dyadic if the odd part of n divides W_O, which is rounded accordingly.
Where sequences of words have different lengths, one more lane is 1 for words and 0 for padding:
hard attention with this lane as its score takes the mean of the words alone.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...constructions.base import input_of
from ...data.dataset import Dataset
from ...data.targets import Floats
from ...errors import ByheartError
from ...exact import network as exact
from ..problem import Problem
from .readout import constant, readout

Exact = dict[str, NDArray]  # arrays of Fractions
OUT, EMBEDDING, VECTORS = "attention.out.weight", "embedding.weight", "vectors.weight"
LEARNT = "learnt"  # the stage of trained blocks
BLOCK = ("hidden.weight", "hidden.bias", "down.weight", "down.bias")


def rounded(tensors: Mapping[str, NDArray], bits: int, lengths: NDArray) -> Exact:
    """The tensors with multiples of 2^-bits in place of their numbers, exactly.

    W_O is a multiple of all odd parts of the lengths, on a grid that is no coarser.
    """
    multiple = math.lcm(*(n // (n & -n) for n in np.unique(lengths).tolist()))
    finer = bits + (multiple - 1).bit_length()
    exact_tensors = {}
    for name, tensor in tensors.items():
        step = Fraction(multiple, 1 << finer) if name == OUT else Fraction(1, 1 << bits)
        values = [round(Fraction(x) / step) * step for x in tensor.ravel().tolist()]
        exact_tensors[name] = np.array([*values, None], object)[:-1].reshape(tensor.shape)
    return exact_tensors


def embedded(tensors: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """The tensors of the same function with a vector of m numbers for every word.

    Where words are fixed vectors and E_in maps them, these are the products, in doubles.
    """
    folded = {name: tensor for name, tensor in tensors.items() if name != VECTORS}
    if VECTORS in tensors:
        folded[EMBEDDING] = tensors[VECTORS].astype(np.float64) @ tensors[EMBEDDING]
    return folded


def logits(tensors: Mapping[str, NDArray], problem: Problem) -> Floats:
    """The logits of the architecture with these tensors, [n, outputs], run in doubles."""
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
    """Blocks before attention, and as many after it."""
    return sum(name.startswith("first.") and name.endswith(".hidden.bias") for name in tensors)


def _blocks(given: Mapping[str, NDArray], part: str, h: Floats) -> Floats:
    for i in range(depth(given)):
        weight, bias, down, add = (given[f"{part}.{i}.{name}"] for name in BLOCK)
        h = h + np.maximum(0, h @ weight.T + bias) @ down.T + add
    return h


def network(tensors: Exact, dataset: Dataset, slope: int) -> exact.Network:
    """The network with these tensors whose output is the number of the label (readout).

    ByheartError where sequences of vectors have different lengths.
    """
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
        embedding: exact.Layer = exact.Linear(
            _matrix(table.T, d, words), exact.vector({}, d), "embed"
        )
    else:  # words have a column each; column 0 is the padding's
        lane = np.full((words, int(masked)), Fraction(1), object)
        padding = np.full((1, lanes), Fraction(0), object)
        columns = np.concatenate([padding, np.hstack([table, lane])])
        embedding = exact.Embedding(_matrix(columns.T, lanes, words + 1), exact.vector({}, lanes))
    # The mean of all columns or, with the lane that marks words, of those where it is 1.
    head = len(tensors["attention.value.weight"])
    value = _matrix(tensors["attention.value.weight"], head, lanes)
    out = _matrix(tensors[OUT], lanes, head)
    attention: exact.Layer = exact.UniformAttention(value, out)
    if masked:
        mark = exact.matrix(head, lanes, {(0, lanes - 1): 1})
        attention = exact.HardAttention(mark, mark, value, out)
    logits = [[*row, *[Fraction(0)] * masked] for row in tensors["output.weight"].tolist()]
    one_label = len(dataset.label_names) == 1
    return exact.Network(
        input_of(dataset, positions=False),
        (
            embedding,
            *_learnt(tensors, "first", lanes),
            attention,
            *_learnt(tensors, "second", lanes),
            *(constant(lanes) if one_label else readout(logits, slope)),
        ),
    )


def _learnt(tensors: Exact, part: str, lanes: int) -> list[exact.FeedForward]:
    """The blocks before attention, or those after it."""
    blocks = []
    for i in range(depth(tensors)):
        weight, bias, down, add = (tensors[f"{part}.{i}.{name}"] for name in BLOCK)
        hidden = len(bias)
        blocks.append(
            exact.FeedForward(
                _matrix(weight, hidden, lanes),
                _matrix(bias[:, None], hidden, 1),
                _matrix(down, lanes, hidden),
                _matrix(add[:, None], lanes, 1),
                LEARNT,
            )
        )
    return blocks


def _matrix(values: NDArray, rows: int, columns: int) -> exact.Matrix:
    """The values, with zeros below and beside them."""
    entries: dict[tuple[int, int], exact.Number] = {
        (r, c): value for r, row in enumerate(values.tolist()) for c, value in enumerate(row)
    }
    return exact.matrix(rows, columns, entries)
