"""A transformer with one uniform attention layer that returns the label of every sequence, close to
the fewest bits possible.

Paper        kajitsuka2025, Theorem 4.1 (B.1): the same statement and architecture, eq. (3), (39),
             (43); another construction.
Statement    N labelled sequences can be memorised by E_in, a token-wise feed-forward part, one
             uniform attention layer, a second feed-forward part and E_out, with about sqrt(N)
             parameters up to logarithms.
Assumptions  A1  Equal contexts carry equal labels; a context is the multiset of tokens and the last
                 token (with positions: the sequence).
             A2  Sequences are no longer than the network's length; shorter ones are padded at the
                 front.
Guarantee    G1  The output is the number of the sequence's label, exactly, for every sequence
                 (checked, not only argued).
             G2  The counts of cost.py: about 3.5 sqrt(I) nonzero parameters and a total of little
                 more than I bits, I = contexts x log2(labels).
             G3  With reject_unknown = b, an input whose context was never seen gives "unknown" but
                 for a chance of about 2**-b.
Departures   D1  Not the paper's proof. Its keys, selectors and bit extraction (Lemmas C.1, G.1-G.6)
                 are replaced by hashing with folds, linear systems over GF(2) and one fold a stored
                 bit: smaller by a factor of 100 to 500.
             D2  The hash is found by a bounded search over seeds; there is no worst-case theorem
                 for it. A network is only returned when it is complete, and the caller verifies it
                 on every sequence.
             D3  1/n is not dyadic: W_O is 2n, so that W_O W_V mean = 2 sum exactly.
             D4  Labels are numbered by frequency for the prefix code; their order is part of the
                 output vocabulary and holds at most log2(C!) bits.
Notation     N sequences, n length, C labels, I information, H the context's number, K bit
             positions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...construction import Built, Construction, Options, Report
from ...contexts import Contexts
from ...dataset import Dataset
from ...errors import AssumptionError
from ...evaluate.batch import Batch, columns
from ...gadgets.prefix_code import PrefixCode, prefix_code
from ...network import Input, Linear, Network, UniformAttention, dyadic, matrix, vector

if TYPE_CHECKING:
    from .cost import Task

LONGEST_WORD = 60  # label word and fingerprint together


@dataclass(frozen=True)
class HashFoldRetrieve(Construction):
    name = "hash-fold-retrieve"

    def build(
        self, dataset: Dataset, contexts: Contexts, options: Options, report: Report
    ) -> Built:
        spec = input_of(dataset, options.positions)
        counts = np.bincount(dataset.labels[contexts.first], minlength=len(dataset.label_names))
        order = tuple(int(i) for i in np.argsort(-counts, kind="stable"))
        if len(order) + options.reject_unknown == 1:
            return Built(_constant(spec), order, None, 0)
        return _search(dataset, contexts, options, report, spec, order, counts)


def input_of(dataset: Dataset, positions: bool) -> Input:
    """The data's dimension and longest sequence, and a padding vector that is no token."""
    vectors = dataset.vectors
    padding = [dyadic(0)] * vectors.shape[1]
    if bool((vectors == 0).all(axis=1).any()):
        # the zero vector is a token: use one beyond the largest
        padding[0] = dyadic(math.floor(vectors[:, 0].max().item()) + 1)
    return Input(vectors.shape[1], dataset.length, positions, tuple(padding))


def _constant(spec: Input) -> Network:
    """One label: a network whose output is always 0."""
    embed = Linear(matrix(1, spec.coordinates, {}), vector({}, 1), "embed")
    attention = UniformAttention(matrix(1, 1, {}), matrix(1, 1, {}))
    return Network(spec, (embed, attention, Linear(matrix(1, 1, {}), vector({}, 1), "output")))


def _search(
    dataset: Dataset,
    contexts: Contexts,
    options: Options,
    report: Report,
    spec: Input,
    order: tuple[int, ...],
    counts: NDArray,
) -> Built:
    """Choose a code, search for a hash and stored numbers, assemble."""
    from .assemble import assemble  # numba is slow to import
    from .search import Problem, search

    code = _code([int(counts[i]) for i in order], options.reject_unknown)
    rank = np.empty(len(order), dtype=np.int64)
    rank[list(order)] = np.arange(len(order))
    labels = rank[dataset.labels[contexts.first]]
    seen, grain, sums = _sums(dataset, contexts, spec, options.reject_unknown > 0)
    task = code_task(code, labels, options.reject_unknown, seen, spec.length)
    problem = Problem(task, seen, sums, labels)
    found = search(problem, options.minimise, options.seed, report)
    unknown = len(order) if options.reject_unknown else None
    network = assemble(spec, grain, found.hashed, found.storage, code, unknown)
    return Built(network, order, unknown, found.tries, found.notes)


def code_task(code: PrefixCode, labels: NDArray, marks: int, seen: NDArray, length: int) -> "Task":
    """What must be stored, for the cost model."""
    from .cost import Task

    lengths = np.array(code.lengths, dtype=np.int64)[labels] + marks
    negative = any(int(x) < 0 for x in seen.min(axis=0))
    equations = int(lengths.sum())
    return Task(len(labels), equations, code, seen.shape[1], negative, marks, length)


def _code(counts: list[int], marks: int) -> PrefixCode:
    """The prefix code, its words cut where a fold for a further bit costs more than it saves."""
    shortest = max(0, (len(counts) - 1).bit_length())
    if shortest + marks > LONGEST_WORD:
        raise AssumptionError(
            f"{len(counts)} labels and a fingerprint of {marks} bits do not fit into "
            f"{LONGEST_WORD} bits; use fewer bits for --reject-unknown"
        )
    limits = range(shortest, min(shortest + 4, LONGEST_WORD - marks) + 1)
    return min(
        (prefix_code(counts, limit) for limit in limits), key=lambda code: _weight(code, counts)
    )


def _weight(code: PrefixCode, counts: list[int]) -> float:
    """Nonzero parameters that depend on the code.

    3.46 sqrt(equations), a fold a window bit, and the decoder.
    """
    equations = sum(c * length for c, length in zip(counts, code.lengths, strict=True))
    return 3.46 * equations**0.5 + 3 * code.longest + 3 * len(code.kinks)


def _sums(
    dataset: Dataset, contexts: Contexts, spec: Input, strangers: bool
) -> tuple[NDArray, int, Callable[[NDArray], NDArray]]:
    """The distinct columns, their grain, and the sums over them.

    sums maps one integer a column to phi(last) + 2 sum(phi) a context.
    """
    lengths = dataset.lengths[contexts.first]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(dataset.starts[contexts.first] - starts[:-1], lengths) + np.arange(
        starts[-1]
    )
    batch = Batch(dataset.vectors, dataset.ids[places], starts)
    seen = columns(spec, batch)
    indices = [index.astype(np.int32) for _, index in seen.indices(1 << 16)]

    def sums(phi: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([2 * phi[i].sum(axis=1) + phi[i[:, -1]] for i in indices])

    padded = spec.positions or int(lengths.min()) < spec.length or strangers
    vectors = seen.vectors if padded else seen.vectors[:-1]
    return vectors, 1 << -seen.exponent, sums
