"""What a runtime answers on all items of a dataset: a float run, so it is observed."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.dataset import Dataset
from ..exact.batch import padded_ids
from ..models.claims import Distributions, Labels, Recites
from ..models.model import Model
from ..models.verification import OBSERVED, REFUTED, Verification
from ..softmax.doubles import divergence
from ..stock.forward import by_length
from ..stock.texts import texts_of

NUMBERS = 1 << 24  # that a runtime gives at once
SHOWN = 10  # failures
Progress = Callable[[int], None] | None


class Runtime(NamedTuple):
    """A model that is loaded in a library.

    name, version  of the library
    dtype          that it computes in
    run            inputs of one length to outputs: vectors [B, n, d] to the numbers of labels [B],
                   or tokens [B, n] to logits: [B, V] of a decoder, [B, n, V] of a checkpoint
    says           the likeliest next token after tokens [n], of a library that gives no logits
    """

    name: str
    version: str
    dtype: str
    run: Callable[[NDArray], NDArray] | None = None
    says: Callable[[NDArray], int] | None = None

    @property
    def sentence(self) -> str:
        return f"{self.name} {self.version} in {self.dtype}"

    def json(self) -> dict:
        return {"name": self.name, "version": self.version, "dtype": self.dtype}


def observed(
    model: Model, dataset: Dataset, runtime: Runtime, progress: Progress = None
) -> Verification:
    """Run every item of the data and compare; the data is as the claim reads it."""
    judge = {Labels: _labels, Distributions: _distributions, Recites: _recital}[type(model.claim)]
    count, failures = judge(model, dataset, runtime, progress)
    evidence = REFUTED if failures else OBSERVED
    told = tuple(failures[:SHOWN])
    return Verification(count, count - len(failures), evidence, runtime.sentence, told)


def _labels(
    model: Model, dataset: Dataset, runtime: Runtime, progress: Progress
) -> tuple[int, list[str]]:
    """The label of every sequence."""
    claim, spec = model.claim, model.network.input
    batch, wanted = claim.batch(model, dataset)  # type: ignore[attr-defined]
    more = [[float(x.fraction) for x in row] for row in (spec.padding, spec.extra or spec.padding)]
    table = np.concatenate([batch.vectors.astype(np.float64), np.array(more)])
    found = np.empty(len(wanted))
    assert runtime.run is not None
    for first, end in _ranges(len(batch), NUMBERS // (spec.columns * model.network.width)):
        found[first:end] = runtime.run(table[padded_ids(batch, slice(first, end), spec)])
        if progress is not None:
            progress(end - first)
    wrong = np.flatnonzero((wanted < 0) | ~(found == wanted))
    return len(wanted), [
        f"sequence {i + 1}: the label is {dataset.label(i)!r}, the output {found[i]!r}"
        for i in wrong.tolist()
    ]


def _distributions(
    model: Model, dataset: Dataset, runtime: Runtime, progress: Progress
) -> tuple[int, list[str]]:
    """The distribution after every context: its divergence from that of the data."""
    claim = model.claim
    assert isinstance(claim, Distributions) and model.tokens is not None
    assert runtime.run is not None
    targets = claim.targets(model, dataset)
    bounds = list(pairwise(targets.starts.tolist()))
    contexts = [targets.tokens[a:b] for a, b in bounds]
    failures = []
    for length, rows in by_length(contexts).items():
        size = max(model.network.shape.neurons, len(model.tokens), length * model.network.width)
        for first, end in _ranges(len(rows), NUMBERS // size):
            part = rows[first:end]
            logits = runtime.run(np.stack([contexts[i] for i in part]))
            values = divergence(logits, targets.subset(np.array(part)))
            for i, value in zip(part, values.tolist(), strict=True):
                if not value <= claim.gap:  # nan is wrong, too
                    words = [model.tokens[x] for x in contexts[i].tolist()]
                    failures.append(
                        f"context {words!r}: the divergence is {value:.3g} nats, "
                        f"above the gap of {claim.gap:g}"
                    )
            if progress is not None:
                progress(end - first)
    return len(targets), failures


def _recital(
    model: Model, dataset: Dataset, runtime: Runtime, progress: Progress
) -> tuple[int, list[str]]:
    """The likeliest next token after every sequence."""
    assert model.tokens is not None
    token = np.array([model.places[str(x)] for x in dataset.tokens], np.int64)
    label = np.array([model.places[x] for x in dataset.label_names], np.int64)
    wanted = label[dataset.labels]
    sequences = [token[dataset.ids[a:b]] for a, b in pairwise(dataset.starts.tolist())]
    found = next_tokens(sequences, model.network.size("vocabulary"), runtime, progress)
    return len(sequences), [
        f"after {dataset.sequence(i)[-8:]!r} it says "
        f"{model.tokens[found[i]] if 0 <= found[i] < len(model.tokens) else None!r}, "
        f"not {dataset.label(i)!r}"
        for i in np.flatnonzero(found != wanted).tolist()
    ]


def next_tokens(
    sequences: list[NDArray], vocabulary: int, runtime: Runtime, progress: Progress
) -> NDArray[np.int64]:
    """What the runtime says after each sequence, -1 for NaN; where it gives logits, a text is read
    once for all of its beginnings."""
    found = np.empty(len(sequences), np.int64)
    if runtime.says is not None:
        for i, tokens in enumerate(sequences):
            found[i] = runtime.says(tokens)
            if progress is not None:
                progress(1)
        return found
    assert runtime.run is not None
    texts = texts_of(sequences)
    rows_of: list[list[int]] = [[] for _ in texts.tokens]
    for row, text in enumerate(texts.text.tolist()):
        rows_of[text].append(row)
    for length, members in by_length(texts.tokens).items():
        step = NUMBERS // (length * vocabulary)
        for first, end in _ranges(len(members), step):
            part = members[first:end]
            logits = runtime.run(np.stack([texts.tokens[i] for i in part]))
            for i, given in zip(part, logits, strict=True):
                rows = rows_of[i]
                chosen = given[texts.place[rows]]
                # a NaN is nobody's largest logit
                found[rows] = np.where(np.isnan(chosen).any(axis=1), -1, chosen.argmax(axis=1))
                if progress is not None:
                    progress(len(rows))
    return found


def _ranges(count: int, size: int) -> list[tuple[int, int]]:
    return list(pairwise([*range(0, count, max(1, size)), count]))
