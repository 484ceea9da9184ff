"""The proof that an exact network gives every label: every sequence in exact arithmetic."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..claims.claim import Claim
from ..claims.kind import Progress, Runtime
from ..claims.model import ModelData, cannot_read
from ..claims.verification import PROVED, REFUTED, SAMPLED, Judging, Verification
from ..data import contexts as grouping
from ..data.arrays import blocks
from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..machine.words import quoted
from .answer import ExactModel, not_ids
from .batch import Batch, padded_ids
from .evaluate import choose, evaluate
from .network import Embedding, Network, dyadic, short

NUMBERS = 1 << 24  # that a runtime gives at once


def reads(model: ModelData, dataset: Dataset) -> Dataset:
    return dataset


def texts(model: ModelData, dataset: Dataset) -> None:
    """The checker is given tokens."""


def unfitting(model: ExactModel, dataset: Dataset) -> str | None:
    own = model.network.input
    return cannot_read(model, dataset, own.dimension, int(own.padding is not None))


def contexts(model: ExactModel, dataset: Dataset) -> Contexts:
    own = model.network.input
    return grouping.contexts(dataset, own.positions, own.padding is not None)


def whole(dataset: Dataset) -> int:
    return len(dataset.labels)


def recorded(model: ModelData, dataset: Dataset, found: Verification) -> Claim:
    return model.claim


def verify(model: ExactModel, dataset: Dataset, how: Judging) -> Verification:
    """Compare every sequence in exact arithmetic, and where claimed in float64, with its labels."""
    network, claim, everything = model.network, model.claim, len(dataset)
    kept = how.chosen(everything)
    if kept is not None:
        dataset = dataset.subset(kept).occurring()  # only their tokens need to be evaluated
    batch, wanted = batch_of_data(model, dataset)
    network = _with_ids(network)[0]
    outputs = evaluate(network, batch, how.engine, how.progress)
    if not isinstance(outputs, np.ndarray):
        outputs = np.array([*outputs, None], dtype=object)[:-1]
    wrong = np.flatnonzero((wanted < 0) | (outputs != wanted))

    def place(prediction: int) -> str:
        sequence = int(dataset.owner[prediction])
        token = prediction - int(dataset.starts[sequence]) + 1
        return f"sequence {sequence + 1}" + (f", token {token}" if dataset.every else "")

    def answered(prediction: int) -> str:
        if wanted[prediction] < 0 and dataset.label(prediction) in claim.labels:
            return "the network has no answer, because it does not know a token"
        output = outputs[prediction]
        return f"the network says {quoted(claim.label(output))} (output {short(output)})"

    failures = tuple(
        f"{place(i)}: the label is {quoted(dataset.label(i))}, {answered(i)}"
        for i in wrong[:10].tolist()
    )
    if claim.arithmetic == "float64":
        from .float64 import engine

        failures += engine.differences(network, batch, outputs)
    evidence = REFUTED if failures else PROVED if len(dataset) == everything else SAMPLED
    used = choose(how.engine, network, batch)
    return Verification(len(wanted), len(wanted) - len(wrong), evidence, used, failures)


def batch_of_data(model: ExactModel, dataset: Dataset) -> tuple[Batch, np.ndarray]:
    """The sequences as the network reads them, and the outputs it must give; -1: none is known."""
    vectors = dataset.vectors
    if model.kind == "string":
        places = model.places
        vectors = np.array([[places.get(w, -1) + 1] for w in dataset.tokens], dtype=np.int64)
    strange = not_ids(model.network, vectors)
    if model.kind == "string":
        strange |= vectors[:, 0] == 0
    vectors = np.where(strange[:, None], 0, vectors)
    outputs = {label: i for i, label in enumerate(model.claim.labels)}
    named = [outputs.get(name, -1) for name in dataset.label_names]
    wanted = np.array(named, dtype=np.int64)[dataset.labels]
    unread = dataset.lengths < _with_ids(model.network)[1]
    for a, b in blocks(dataset.starts) if strange.any() else ():
        ids = dataset.ids[dataset.starts[a] : dataset.starts[b]]
        unread[np.repeat(np.arange(a, b), dataset.lengths[a:b])[strange[ids]]] = True
    wanted[unread[dataset.owner]] = -1
    return Batch(vectors, dataset.ids, dataset.starts), wanted


def observed(
    model: ExactModel, dataset: Dataset, runtime: Runtime, progress: Progress
) -> tuple[int, list[str]]:
    spec = model.network.input
    batch, wanted = batch_of_data(model, dataset)
    more = [
        [float(x.fraction) for x in row]
        for row in (spec.padding or (), spec.extra or spec.padding or ())
    ]
    table = np.concatenate([batch.vectors.astype(np.float64), np.array(more)])
    found = np.empty(len(wanted))
    assert runtime.run is not None
    step = max(1, NUMBERS // (spec.columns * model.network.width))
    for first, end in pairwise([*range(0, len(batch), step), len(batch)]):
        found[first:end] = runtime.run(table[padded_ids(batch, slice(first, end), spec)])
        if progress is not None:
            progress(end - first)
    return len(wanted), [
        f"sequence {i + 1}: the label is {dataset.label(i)!r}, the output {found[i]!r}"
        for i in np.flatnonzero((wanted < 0) | ~(found == wanted)).tolist()
    ]


def _with_ids(network: Network) -> tuple[Network, int]:
    """A network without columns that its embedding does not know, and for which lengths it answers.

    A padding or an extra column that is no id is replaced by one. The network given has an answer
    for sequences of this many tokens or more, which do not need that column; the other has the same
    answer there.
    """
    first, reads, fewest = network.layers[0], network.input, 0
    if not isinstance(first, Embedding):
        return network, fewest
    ids = range(first.weight.columns)
    if reads.padding is not None and reads.padding[0].fraction not in ids:
        reads, fewest = replace(reads, padding=(dyadic(0),)), reads.length
    if reads.extra is not None and reads.extra[0].fraction not in ids:
        reads, fewest = replace(reads, extra=(dyadic(0),)), reads.length + 1
    return replace(network, input=reads), fewest
