"""The parts of a network that all constructions of the family share.

Lane v holds the token's number, then the context's number H; other lanes have names of their own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from ...data.dataset import Dataset
from ...exact.network import (
    Embedding,
    HardAttention,
    Input,
    Layer,
    Linear,
    Network,
    SparseAttention,
    Sum,
    UniformAttention,
    matrix,
    vector,
)
from ...gadgets.blocks import Block, feed_forward, fold
from ...gadgets.prefix_code import PrefixCode
from .hashing import Hash


def assemble(
    spec: Input,
    every: bool,
    mixing: str,
    grain: int,
    hashed: Hash,
    unit: Fraction,
    blocks: Sequence[Block],
    output: str,
) -> Network:
    """E_in, token folds, attention, folds of the sum, then the blocks, and E_out.

    every   whether it answers every token
    mixing  where columns meet: "uniform", "hard", "sparse" or "sum"
    grain   the hash was found for the input's coordinates times this power of two, which makes
            them integers
    unit    the hash is multiplied by it
    output  the lane of the answer
    """
    before = [fold("token hash", "v", t * unit, 3) for t in hashed.token_thresholds]
    if before and hashed.offset:
        before[-1] = replace(before[-1], constants={"v": -hashed.offset * unit})
    after = [*(fold("mix", "v", t * unit, 3) for t in hashed.mix_thresholds), *blocks]
    names = ["v", *(name for block in [*before, *after] for name in block.lanes()), output]
    lanes = {name: i for i, name in enumerate(dict.fromkeys(names))}
    width = len(lanes)
    offset = 0 if before else hashed.offset
    first: Layer
    if hashed.drawn is not None:
        numbers = {(0, x): (number - offset) * unit for x, number in hashed.drawn.items()}
        position = vector({i: w * unit for i, w in enumerate(hashed.weights)}, width)
        first = Embedding(matrix(width, max(hashed.drawn) + 1, numbers), position, "embed")
    else:
        weights = {(0, i): w * grain * unit for i, w in enumerate(hashed.weights)}
        bias = vector({0: (hashed.bias - offset) * unit}, width)
        first = Linear(matrix(width, spec.coordinates, weights), bias, "embed")
    return Network(
        spec,
        (
            first,
            *(feed_forward(block, lanes) for block in before),
            *mixing_layers(mixing, spec, width, lanes[output]),
            *(feed_forward(block, lanes) for block in after),
            Linear(matrix(1, width, {(0, lanes[output]): 1}), vector({}, 1), "output"),
        ),
        every,
    )


def constant(spec: Input, mixing: str, embedding: bool, dataset: Dataset) -> Network:
    """One label: a network whose output is always 0."""
    first: Layer = Linear(matrix(2, spec.coordinates, {}), vector({}, 2), "embed")
    if embedding:
        first = Embedding(matrix(2, int(dataset.vectors.max()) + 2, {}), vector({}, 2))
    last = Linear(matrix(1, 2, {}), vector({}, 1), "output")
    return Network(spec, (first, *mixing_layers(mixing, spec, 2, 1), last), dataset.every)


def mixing_layers(kind: str, spec: Input, width: int, spare: int) -> Iterator[Layer]:
    """Where columns meet, on lane 0: v + 2 sum(v), or for "sum" the sum alone.

    sparse  the extra column 0 gathers 2 sum(v) of the others in a lane that is 0 everywhere, and
            every other column then reads it there: 2n connections instead of n^2 (Remark 4.5)
    """
    n = spec.length
    read, write = matrix(1, width, {(0, 0): 1}), matrix(width, 1, {(0, 0): 2 * n})
    nothing = matrix(1, width, {})
    if kind == "sum":
        yield Sum()
    elif kind == "hard":
        yield HardAttention(nothing, nothing, read, write)
    elif kind == "uniform":
        yield UniformAttention(read, write)
    else:
        gather = tuple((0, k) for k in range(1, n + 1))
        spread = tuple((k, 0) for k in range(1, n + 1))
        yield SparseAttention(read, matrix(width, 1, {(spare, 0): 2 * n}), gather, "gather")
        one, other = matrix(1, width, {(0, spare): 1}), matrix(width, 1, {(0, 0): 1})
        yield SparseAttention(one, other, spread, "attend")


def decode(lane: str, code: PrefixCode, top: int, unit: Fraction) -> Iterator[Block]:
    """The code's convex map of a lane below 2**top units, divided by 2**(its shortest word)."""
    (_, slope), *kinks = code.kinks
    shortest = slope.bit_length() - 1
    if kinks:
        units = [({lane: 1}, -x * (1 << top) * unit) for x, _ in kinks]
        writes = [(lane, i, change >> shortest) for i, (_, change) in enumerate(kinks)]
        yield Block("decode", units, writes)
