"""The fast evaluator: the same networks as the reference, on 64-bit limbs in compiled kernels.

A network is translated into a Program (program.py): plain arrays that a kernel (kernels.py)
interprets, one input row at a time. Every shortcut (shortcuts.py) is derived from the weights when
the program is made and guarded when it is used:

run     consecutive folds are one operation (folds.py, runs.py, fused.py); where its
        guards fail, the blocks are done one by one. Folds may read lanes that folds of the same run
        wrote.
table   a block whose units all read one lane is tabulated at 0, 1, 2, ...; any other value takes
        the general path.
skip    a unit x - t with t > 0 is compared with t before anything is computed; a unit at or below
        0 writes nothing.
gate    a lane that has become negative for good is not added to any more.

Numbers that outgrow the frame are noticed, and the program runs again with a larger one.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ...data.arrays import BLOCK
from ..batch import Batch, Columns, columns, parts, positions
from ..lanes import Lane, apply
from ..network import Embedding, Layer, Network, SparseAttention, dyadic
from . import kernels
from .arithmetic import HIGHEST, LOWEST, connect
from .program import translate
from .stack import LimbsError, Stack, stacks
from .writer import Program

Limbs = NDArray[np.uint64]
CHUNK = 8192
FEW = 8  # sequences that are evaluated without distinct columns and threads
FRAMES = (16, 32, 64, 128, 256, 512, 1024, 2048)  # limbs
ATTEMPTS = [(frame, guess) for frame in FRAMES for guess in (True, False)]


@dataclass(frozen=True, eq=False)
class Numbers:
    """[rows, lanes, limbs] two's complement numbers; limb i has weight 2**(64 (i + base))."""

    limbs: Limbs
    base: int


class Evaluator:
    """A network on limbs, for any number of batches: it is translated once."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.runners = [_Runner(stack) for stack in stacks(network)]
        self.blank = _blank(network)

    def __call__(
        self, batch: Batch, progress: Callable[[int], None] | None = None
    ) -> list[Fraction] | NDArray[np.int64]:
        """The output for every sequence, as fractions unless all are whole; or LimbsError."""
        if len(batch) <= FEW and self.blank is not None and batch.vectors.dtype.kind == "i":
            return self.few(batch, self.blank)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return self.many(batch, progress, pool.map)

    def few(self, batch: Batch, blank: NDArray[np.int64]) -> list[Fraction] | NDArray[np.int64]:
        """The same for a few sequences of integers: to share columns and threads does not pay."""
        spec, starts = self.network.input, batch.starts.tolist()
        rows = blank[None].repeat(len(batch), axis=0)
        tokens = np.zeros(rows.shape[:2], np.bool_)
        for row, (start, stop) in enumerate(pairwise(starts)):
            first = spec.columns - (stop - start)
            rows[row, first:, : spec.dimension] = batch.vectors[batch.ids[start:stop]]
            tokens[row, first:] = True
        numbers = self.runners[0].run(rows.view(np.uint64).reshape(-1, rows.shape[2], 1), 0)
        if spec.padding is None:
            numbers.limbs[~tokens.ravel()] = 0
        index = np.arange(tokens.size).reshape(tokens.shape)
        numbers = _sequences(self.runners[1:], numbers, index, self.network.every)
        if self.network.every:
            numbers = Numbers(numbers.limbs[tokens.ravel()], numbers.base)
        return _outputs(numbers)

    def many(
        self, batch: Batch, progress: Callable[[int], None] | None, each: Callable
    ) -> list[Fraction] | NDArray[np.int64]:
        """The same; `each` is map, perhaps with several threads."""
        network = self.network
        seen = columns(network.input, batch)
        first, *rest = self.runners

        def answered(part: slice) -> tuple[int, Numbers]:
            index = seen.index(part)
            numbers = _sequences(rest, tokens, index, network.every)
            if network.every:
                numbers = Numbers(numbers.limbs[seen.tokens(part).ravel()], numbers.base)
            return len(index), numbers

        inputs, exponent = _inputs(network.layers[0], seen)
        size = _even(len(inputs))
        slices = [inputs[i : i + size] for i in range(0, len(inputs), size)]
        tokens = _stack_up(list(each(lambda part: first.run(part, exponent), slices)))
        if seen.absent is not None:
            tokens.limbs[seen.absent] = 0
        width = network.input.columns if network.every or len(rest) > 1 else 1
        rows = min(_even(len(batch)) // width, BLOCK // network.input.columns)
        found = []
        for count, numbers in each(answered, parts(batch, max(1, rows))):
            found.append(numbers)
            if progress:
                progress(count)
        return _outputs(_stack_up(found))


def _blank(network: Network) -> NDArray[np.int64] | None:
    """A sequence without tokens as the first stack reads it; None if that is not in integers."""
    spec = network.input
    rows = [spec.padding or (dyadic(0),) * spec.dimension] * spec.columns
    if spec.extra is not None:
        rows[0] = spec.extra
    short = all(x.exponent >= 0 and abs(x.fraction) < 1 << 62 for row in rows for x in row)
    if isinstance(network.layers[0], Embedding) or not short:
        return None
    blank = np.array([[int(x.fraction) for x in row] for row in rows], np.int64)
    return np.column_stack([blank, positions(spec)]) if spec.positions else blank


def _outputs(numbers: Numbers) -> list[Fraction] | NDArray[np.int64]:
    """The only lane of each row: integers of 64 bits if all are, else fractions."""
    if numbers.base == 0 and numbers.limbs.shape[2] == 1:
        return numbers.limbs[:, 0, 0].view(np.int64)
    unit = Fraction(2) ** (64 * numbers.base)
    rows = (row.tobytes() for row in numbers.limbs[:, 0])
    return [int.from_bytes(row, "little", signed=True) * unit for row in rows]


def _inputs(layer: Layer, seen: Columns) -> tuple[Limbs, int]:
    """The first stack's input, coordinates or embedded lanes, of each column, and its exponent."""
    if not isinstance(layer, Embedding):
        return _integers(seen.vectors), seen.exponent
    coordinates = {i: Lane(x.astype(object), -seen.exponent) for i, x in enumerate(seen.inputs.T)}
    stream = apply(layer, coordinates, len(seen.vectors))
    scale = max((lane.scale for lane in stream.values()), default=0)
    lanes = np.zeros((len(seen.vectors), layer.weight.rows), dtype=object)
    for row, (values, own) in stream.items():
        lanes[:, row] = values << (scale - own)
    return _integers(lanes), -scale


def _even(rows: int) -> int:
    """The size of equal chunks, equally many per thread: at most CHUNK rows."""
    threads = os.cpu_count() or 1
    pieces = threads * max(1, -(-rows // (threads * CHUNK)))
    return max(1, -(-rows // pieces))


def _sequences(rest: Sequence["_Runner"], tokens: Numbers, index: NDArray, every: bool) -> Numbers:
    """One chunk of sequences through the layers where columns meet and the stacks after them."""
    if not rest:
        wanted = index if every else index[:, -1:]
        return Numbers(tokens.limbs[wanted.ravel()], tokens.base)
    numbers = tokens
    for runner in rest:
        keep = 1 if runner is rest[-1] and not every else index.shape[1]
        _, lanes, size = numbers.limbs.shape
        joined = np.empty((len(index) * keep, 2 * lanes, size + 1), dtype=np.uint64)
        length, mixing = index.shape[1], runner.stack.mixing
        seen, ranges = np.arange(length), np.tile([0, length], (length, 1))
        if isinstance(mixing, SparseAttention):  # a range of sources for each column
            targets, seen = np.array(mixing.connections, np.int64).reshape(-1, 2).T.copy()
            ranges = np.searchsorted(targets, np.arange(length)[:, None] + [0, 1])
        connect(numbers.limbs, index, keep, ranges, seen, joined)
        numbers = runner.run(joined, 64 * numbers.base)
        index = np.arange(len(joined)).reshape(len(index), keep)
    return numbers


class _Runner:
    """A stack with its programs; starts with the smallest frame that was large enough before."""

    def __init__(self, stack: Stack):
        self.stack = stack
        self.programs: dict[tuple[int, bool], Program] = {}
        self.memory: dict[tuple[int, bool, int], list[tuple[Limbs, NDArray[np.int64]]]] = {}
        self.first = 0
        self.exponent: int | None = None  # the lowest one so far: its programs serve all others
        self.lock = Lock()

    def run(self, rows: Limbs, exponent: int) -> Numbers:
        if self.exponent is not None and self.exponent < exponent:
            rows, exponent = _shifted(rows, exponent - self.exponent), self.exponent
        self.exponent = exponent
        for place in range(self.first, len(ATTEMPTS)):
            frame, guess = ATTEMPTS[place]
            with self.lock:
                if (exponent, guess) not in self.programs:
                    self.programs[exponent, guess] = translate(self.stack, exponent, guess)
                unused = self.memory.setdefault((exponent, guess, frame), [])
                program = self.programs[exponent, guess]
                numbers, integers = unused.pop() if unused else program.memory(frame)
            result = np.empty((len(rows), program.outputs, frame), dtype=np.uint64)
            fits = kernels.run(numbers, integers, rows, program.base, result)
            low, high = int(integers[LOWEST]), int(integers[HIGHEST])
            unused.append((numbers, integers))
            if fits:
                self.first = max(self.first, place)
                if high == 0:  # all outputs are 0
                    low, high = program.whole, program.whole + 1
                limbs = np.ascontiguousarray(result[:, :, low:high])
                return Numbers(limbs, low - program.whole)
        raise LimbsError("The network's numbers are too long for the limb kernels.")


def _stack_up(parts: Sequence[Numbers]) -> Numbers:
    """Chunks one under another, on one base and length."""
    base = min(part.base for part in parts)
    top = max(part.base + part.limbs.shape[2] for part in parts)
    total = sum(len(part.limbs) for part in parts)
    out = np.zeros((total, parts[0].limbs.shape[1], top - base), dtype=np.uint64)
    row = 0
    for part in parts:
        rows, _, size = part.limbs.shape
        place = part.base - base
        out[row : row + rows, :, place : place + size] = part.limbs
        sign = np.where(part.limbs[:, :, -1:] >> np.uint64(63), ~np.uint64(0), np.uint64(0))
        out[row : row + rows, :, place + size :] = sign
        row += rows
    return Numbers(out, base)


def _shifted(rows: Limbs, bits: int) -> Limbs:
    """Two's complement numbers times 2**bits, for bits > 0."""
    words, bits = divmod(bits, 64)
    longer = np.zeros((*rows.shape[:2], rows.shape[2] + words + 1), np.uint64)
    longer[:, :, words:-1] = rows << np.uint64(bits)
    signed = rows.view(np.int64) >> np.int64(64 - bits if bits else 63)
    above = signed.view(np.uint64)
    if bits:
        longer[:, :, words + 1 : -1] |= rows[:, :, :-1] >> np.uint64(64 - bits)
    longer[:, :, -1] = above[:, :, -1]
    return longer


def _integers(vectors: NDArray) -> Limbs:
    """Integers [rows, coordinates] as two's complement limbs."""
    if vectors.dtype != object:
        return vectors.astype(np.int64).view(np.uint64)[:, :, None]
    size = max(int(x).bit_length() for x in vectors.ravel()) // 64 + 1
    data = b"".join(int(x).to_bytes(8 * size, "little", signed=True) for x in vectors.ravel())
    return np.frombuffer(data, dtype="<u8").reshape(*vectors.shape, size).copy()
