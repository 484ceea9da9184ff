"""Dataset to problem: contexts as sums of distinct columns, labels and their code words."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...data.arrays import Windows, offsets, pieces
from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...exact.batch import Batch, Columns, columns
from ...exact.network import Input
from ...gadgets.prefix_code import PrefixCode, interval_code, prefix_code
from .coordinates import separating
from .hashing import Sums

LONGEST_WORD = 60  # label word and fingerprint together
MOST_ONES = 16  # with which words above an interval begin


@dataclass(frozen=True)
class Task:
    """The amount that must be stored."""

    contexts: int  # distinct contexts
    equations: int  # label and fingerprint bits of all contexts together, as expected
    code: PrefixCode  # words of the labels
    inputs: int  # columns of the first layer: coordinates, or ids of an embedding
    embed: int  # its nonzero parameters, without an offset
    marks: int  # fingerprint bits
    total: int  # the largest sum of coefficients: 2 length + 1 with attention
    mixing: str = "uniform"  # where columns meet: "uniform", "hard", "sparse" or "sum"
    differ: float = 0.5  # pairs of contexts with different labels, as a share; at most this

    @property
    def window(self) -> int:
        """Bits of the longest stored word."""
        return self.marks + self.code.longest

    @property
    def label_digits(self) -> int:
        """Binary digits of the largest label number."""
        return (len(self.code.lengths) - 1).bit_length()


@dataclass(frozen=True, eq=False)
class Inputs:
    """The contexts that are to be told apart, without their labels."""

    task: Task
    columns: NDArray  # [columns, coordinates] integers, the distinct input columns
    sums: Sums  # from columns to contexts
    draw: bool = False  # whether tokens are ids whose numbers are drawn
    grain: int = 1  # a power of two: columns are the input's coordinates times this
    read: tuple[int, ...] = (0,)  # the input's coordinates of which the columns are made

    @property
    def mixed(self) -> bool:
        """Whether a token's number needs no folds: it is drawn, and no position is added."""
        return self.draw and self.columns.shape[1] == 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(Inputs):
    """Contexts and the words that they must give."""

    labels: NDArray  # [contexts] label numbers in the order of the code

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The bits of each context's word that must be so; 0 for those of an interval."""
        task = self.task
        return np.array(task.code.lengths, dtype=np.int64)[self.labels] + task.marks

    def words(self, marks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Fingerprint and code word of each context, Gray coded: bit i is the xor of bits 0..i."""
        code = self.task.code
        words = np.array(code.words(code.longest), dtype=np.uint64)[self.labels]
        words |= marks << np.uint64(code.longest)
        return words ^ (words >> np.uint64(1))


def prepare(
    dataset: Dataset,
    contexts: Contexts,
    spec: Input,
    marks: int = 0,
    mixing: str = "uniform",
    embedding: bool = False,
    objective: str = "nonzero",
    intervals: bool = False,
) -> tuple[tuple[int, ...], Problem | None]:
    """The labels by frequency, and the problem; None if there is nothing to distinguish.

    Labels whose words have the same length come in the order of their names: the order of all
    labels tells the lengths of their words and nothing more. With `intervals` a frequent label may
    have an interval for its word.
    """
    counts = np.bincount(dataset.labels[contexts.first], minlength=len(dataset.label_names))
    order = np.argsort(-counts, kind="stable")
    if len(order) + marks == 1:
        return tuple(order.tolist()), None
    code = label_code(counts[order].tolist(), marks, objective, intervals)
    order = order[np.lexsort((order, np.array(code.lengths)))]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    labels = rank[dataset.labels[contexts.first]]
    equations = math.ceil(code.equations(counts[order].tolist())) + marks * len(contexts)
    read = inputs(dataset, contexts, spec, code, equations, marks, mixing, embedding)
    differ = min(0.5, 1 - float(((counts / counts.sum()) ** 2).sum())) if code.interval else 0.5
    read = replace(read, task=replace(read.task, differ=differ))
    return tuple(order.tolist()), Problem(**vars(read), labels=labels)


def inputs(
    dataset: Dataset,
    contexts: Contexts,
    spec: Input,
    code: PrefixCode,
    equations: int,
    marks: int,
    mixing: str,
    embedding: bool,
) -> Inputs:
    """The contexts as sums of distinct columns; the labels of the dataset are not read.

    Of vectors, only as many coordinates are read as keep all tokens apart. With a fingerprint, all
    are: it must notice that a vector differs from a known one in any of them.
    """
    first, read = spec.coordinates, tuple(range(spec.dimension))
    if len(read) > 1 and not marks:
        rows = dataset.vectors
        if spec.padding is not None and int(dataset.lengths.min()) < spec.length:
            rows = np.vstack([rows, np.array([x.fraction for x in spec.padding], rows.dtype)])
        read = separating(rows)
        dataset = replace(dataset, tokens=dataset.vectors[:, read])
        padding = spec.padding and tuple(spec.padding[i] for i in read)
        spec = replace(spec, dimension=len(read), padding=padding)
    if spec.positions:
        read = (*read, first - 1)
    seen, sums = sums_of(dataset, contexts, spec)
    if marks and sums.own is None:
        sums = replace(sums, level=False)  # an unknown set may have any cardinality
    # without the padding vector where it never occurs
    padded = seen.spec.positions or int(np.diff(seen.batch.starts).min()) < seen.spec.length
    padded = (padded or marks > 0 or embedding) and sums.own is not None
    vectors = seen.vectors if padded else seen.vectors[:-1]
    if embedding:
        ids = np.unique(vectors[:, 0].astype(np.int64))
        first, embed = int(ids.max()) + 1, len(ids) + vectors.shape[1] - 1
    else:
        bias = not sums.level or any(int(x) < 0 for x in vectors.min(axis=0))
        embed = vectors.shape[1] + bias
    task = Task(len(contexts), equations, code, first, embed, marks, sums.total, mixing)
    return Inputs(task, vectors, sums, embedding, 1 << -seen.exponent, read)


def sums_of(dataset: Dataset, contexts: Contexts, spec: Input) -> tuple[Columns, Sums]:
    """The distinct columns of the contexts' sequences, and how they add up to contexts."""
    owner = dataset.owner[contexts.first]
    used = np.zeros(len(dataset.starts), np.bool_)
    used[owner] = True
    sequences = np.flatnonzero(used)
    which = (np.cumsum(used) - 1)[owner]
    lengths = dataset.lengths[sequences]
    ids = pieces(dataset.ids, dataset.starts[sequences], lengths)
    seen = columns(replace(spec, extra=None), Batch(dataset.vectors, ids, offsets(lengths)))
    indices: NDArray | Columns = seen
    if not isinstance(ids, Windows):
        indices = np.empty((len(sequences), seen.spec.columns), np.int32)
        for part, index in seen.indices(1 << 16):
            indices[part] = index
    if spec.padding is None:
        level = int(lengths.min()) == spec.length
        return seen, Sums(indices, which, None, max(1, spec.length), level)
    place = dataset.own[contexts.first] - dataset.starts[owner] + spec.length - lengths[which]
    if isinstance(indices, Columns):
        own: NDArray = dataset.ids[dataset.own[contexts.first]]
        if seen.numbers is not None:
            own = seen.numbers[own.astype(np.int64) * seen.places + place]
    else:
        own = indices[which, place]
    return seen, Sums(indices, which, own, 2 * spec.length + 1, True)


def digits_of(labels: int, marks: int) -> int:
    """The binary digits of the largest label number, which fit into a word with the fingerprint."""
    digits = (labels - 1).bit_length()
    if digits + marks > LONGEST_WORD:
        raise AssumptionError(
            f"{labels} labels and a fingerprint of {marks} bits do not fit into "
            f"{LONGEST_WORD} bits; use a smaller `reject_unknown=...`, or fewer labels."
        )
    return digits


def label_code(
    counts: list[int], marks: int, objective: str = "nonzero", intervals: bool = False
) -> PrefixCode:
    """The prefix code, its words cut where a fold for a further bit costs more than it saves."""
    shortest = digits_of(len(counts), marks)

    def price(code: PrefixCode) -> float:
        """3.46 sqrt(equations), three for each bit of the window, and the decoder; or in bits."""
        equations = code.equations(counts)
        if objective == "bits":
            return equations + 18 * code.longest + 24 * len(code.kinks)
        return 3.46 * equations**0.5 + 3 * code.longest + 3 * len(code.kinks)

    limits = range(shortest, min(shortest + 4, LONGEST_WORD - marks) + 1)
    codes = [prefix_code(counts, limit) for limit in limits]
    if intervals and not marks and 3 * counts[0] > 2 * sum(counts):
        least = (len(counts) - 2).bit_length()
        for ones in range(2, min(MOST_ONES, LONGEST_WORD - least) + 1):
            limits = range(ones + least, min(ones + least + 4, LONGEST_WORD) + 1)
            codes += [interval_code(counts, ones, limit) for limit in limits]
    return min(codes, key=price)
