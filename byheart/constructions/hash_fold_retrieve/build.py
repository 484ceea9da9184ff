"""Dataset to network: choose a code, search for a hash and stored numbers, assemble."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...data.arrays import offsets, take
from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...exact.batch import Batch, Columns, columns
from ...exact.network import Embedding, Input, Layer, Linear, Network, matrix, vector
from ...gadgets.prefix_code import PrefixCode, prefix_code
from ..base import Built, Report, input_of
from ..families import Retrieval
from .assemble import assemble, mixing_layers
from .cost import Task
from .hashing import Sums
from .search import Problem, search

LONGEST_WORD = 60  # label word and fingerprint together


def build(
    dataset: Dataset,
    contexts: Contexts,
    options: Retrieval,
    report: Report,
    *,
    mixing: str = "uniform",
    embedding: bool = False,
    length: int | None = None,
) -> Built:
    """The small network for any setting of the family.

    mixing     where columns meet: "uniform", "hard", "sparse" or "sum"
    embedding  whether tokens are ids of an embedding matrix
    length     of the network, if not that of the longest sequence
    """
    spec = input_of(dataset, bool(options.positions))
    spec = replace(spec, length=length or spec.length)
    if mixing == "sum":
        spec = replace(spec, padding=None)
    if mixing == "sparse":
        spec = replace(spec, extra=spec.padding)
    counts = np.bincount(dataset.labels[contexts.first], minlength=len(dataset.label_names))
    order = tuple(int(i) for i in np.argsort(-counts, kind="stable"))
    if len(order) + options.reject_unknown == 1:
        return Built(constant(spec, mixing, embedding, dataset), 0, order=order)
    code = label_code([int(counts[i]) for i in order], options.reject_unknown)
    rank = np.empty(len(order), dtype=np.int64)
    rank[list(order)] = np.arange(len(order))
    labels = rank[dataset.labels[contexts.first]]
    seen, sums = sums_of(dataset, contexts, spec)
    if options.reject_unknown and sums.own is None:
        sums = replace(sums, level=False)  # a stranger may have any cardinality
    vectors = used_columns(seen, sums, options.reject_unknown > 0 or embedding)
    task = code_task(code, labels, options.reject_unknown, vectors, sums, mixing, embedding)
    problem = Problem(task, vectors, sums, labels, embedding)
    found = search(problem, options.minimise, options.seed, report)
    unknown = len(order) if options.reject_unknown else None
    grain = 1 << -seen.exponent
    network = assemble(
        spec, dataset.every, mixing, grain, found.hashed, found.storage, code, unknown
    )
    return Built(network, found.tries, found.notes, order=order, unknown=unknown)


def constant(spec: Input, mixing: str, embedding: bool, dataset: Dataset) -> Network:
    """One label: a network whose output is always 0."""
    ids = int(dataset.vectors.max()) + 2 if embedding else 0
    first: Layer = Linear(matrix(2, spec.coordinates, {}), vector({}, 2), "embed")
    if embedding:
        first = Embedding(matrix(2, ids, {}), vector({}, 2))
    last = Linear(matrix(1, 2, {}), vector({}, 1), "output")
    return Network(spec, (first, *mixing_layers(mixing, spec, 2, 1), last), dataset.every)


def sums_of(dataset: Dataset, contexts: Contexts, spec: Input) -> tuple[Columns, Sums]:
    """The distinct columns of the contexts' sequences, and how they add up to contexts."""
    owner = dataset.owner[contexts.first]
    sequences, which = np.unique(owner, return_inverse=True)
    lengths = dataset.lengths[sequences]
    ids = take(dataset.ids, dataset.starts[sequences], lengths)
    seen = columns(replace(spec, extra=None), Batch(dataset.vectors, ids, offsets(lengths)))
    indices = [index.astype(np.int32) for _, index in seen.indices(1 << 16)]
    if spec.padding is None:
        level = int(lengths.min()) == spec.length
        return seen, Sums(indices, which, None, max(1, spec.length), level)
    place = dataset.own[contexts.first] - dataset.starts[owner] + spec.length - lengths[which]
    own = np.concatenate(indices)[which, place]
    return seen, Sums(indices, which, own, 2 * spec.length + 1, True)


def used_columns(seen: Columns, sums: Sums, strangers: bool) -> NDArray:
    """The columns that the hash must fit: without the padding vector where it never occurs."""
    lengths = np.diff(seen.batch.starts)
    padded = seen.spec.positions or int(lengths.min()) < seen.spec.length or strangers
    return seen.vectors if padded and sums.own is not None else seen.vectors[:-1]


def code_task(
    code: PrefixCode,
    labels: NDArray,
    marks: int,
    seen: NDArray,
    sums: Sums,
    mixing: str = "uniform",
    embedding: bool = False,
) -> Task:
    """What must be stored, for the cost model."""
    lengths = np.array(code.lengths, dtype=np.int64)[labels] + marks
    equations = int(lengths.sum())
    if embedding:
        ids = np.unique(seen[:, 0].astype(np.int64))
        inputs, embed = int(ids.max()) + 1, len(ids) + seen.shape[1] - 1
    else:
        bias = not sums.level or any(int(x) < 0 for x in seen.min(axis=0))
        inputs, embed = seen.shape[1], seen.shape[1] + bias
    return Task(len(labels), equations, code, inputs, embed, marks, sums.total, mixing)


def label_code(counts: list[int], marks: int) -> PrefixCode:
    """The prefix code, its words cut where a fold for a further bit costs more than it saves."""
    shortest = max(0, (len(counts) - 1).bit_length())
    if shortest + marks > LONGEST_WORD:
        raise AssumptionError(
            f"{len(counts)} labels and a fingerprint of {marks} bits do not fit into "
            f"{LONGEST_WORD} bits; use fewer bits for reject_unknown=..."
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
