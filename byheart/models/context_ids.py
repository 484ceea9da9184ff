"""Context ids: one number by which a network distinguishes a token in its sequence from all others.

Paper: kajitsuka2025, Definition 4.1. The network is cut off where the ids are (exact/ids.py).
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..claims.answer import Token
from ..data.contexts import contexts
from ..data.dataset import Dataset
from ..errors import ByheartError, DisagreementError
from ..exact import reference as exact
from ..exact.ids import ids_of, up_to_id
from ..exact.prove import batch_of_data, unfitting
from .model import Model
from .source import load_for, unaccepted


class ContextualMapping(NamedTuple):
    """No id is larger than `radius`, ids of different contexts are at least `separation` apart."""

    radius: Fraction
    separation: Fraction


def context_ids(
    model: Model, sequences: Dataset | Sequence[Sequence[Token]]
) -> list[list[Fraction]]:
    """For each sequence the ids of its tokens, exactly; a deep set gives one id per multiset.

    Args:
        model: A model that stores labels.
        sequences: A dataset, or lists of tokens.

    Returns:
        One list of fractions per sequence.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> len(context_ids(byheart.compile(data), data))
        2
    """
    if isinstance(sequences, Dataset):
        sequences = [sequences.sequence(i) for i in range(len(sequences))]
    rows = [model.numbers(tokens) for tokens in sequences]
    if None in rows:
        unknown = list(sequences[rows.index(None)])
        raise ByheartError(f"a word of {unknown!r} is outside the model's vocabulary.")
    return ids_of(model.network, rows) if rows else []  # type: ignore[arg-type]


def contextual_mapping(model: Model, dataset: Any, every: bool | None = None) -> ContextualMapping:
    """The r and delta of Definition 4.1 for this model and data, computed from all ids.

    The small forms only promise that contexts with different labels differ; this says whether all
    do. With one context delta is 1, as any would do.

    Args:
        model: A model that stores labels.
        dataset: The data whose contexts are compared: a Dataset, or whatever `load` reads, which
            is then read as the data of the model was.
        every: For all tokens of each sequence, as the definition says, or for the last one only,
            which is where a model with one label per sequence has its answer. Default: where the
            model answers.

    Returns:
        The radius and the separation, as fractions.

    Raises:
        DisagreementError: It is refuted: two different contexts have one id.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> contextual_mapping(byheart.compile(data), data).separation > 0
        True
    """
    if not isinstance(dataset, Dataset):
        source, dataset = dataset, load_for(model, dataset)
        for sentence in unaccepted(source, dataset, {}):
            raise ByheartError(f"{sentence}; read it as you want it with byheart.load.")
    ids = extreme_ids(model, dataset, every)
    if not ids.separation:
        one, other = ids.nearest
        raise DisagreementError(
            f"refuted: {one} and {other} are different contexts with one id, so this network "
            "makes no contextual mapping of the data (Definition 4.1)."
        )
    return ContextualMapping(ids.radius, ids.separation)


class Place(NamedTuple):
    """A sequence and, where every token counts, a token in it; both from 0."""

    sequence: int
    token: int | None

    def __str__(self) -> str:
        token = "" if self.token is None else f"token {self.token + 1} of "
        return f"{token}sequence {self.sequence + 1}"


class ExtremeIds(NamedTuple):
    """The largest absolute id, the smallest distance between two ids, and whose they are."""

    radius: Fraction
    largest: Place
    separation: Fraction  # 0: two contexts have one id
    nearest: tuple[Place, Place]


def extreme_ids(model: Model, dataset: Dataset, every: bool | None = None) -> ExtremeIds:
    """What decides Definition 4.1, as `contextual_mapping` takes its arguments."""
    network = up_to_id(model.network)
    every = network.every and (model.network.every if every is None else every)
    unfit = unfitting(model, dataset)
    if unfit:
        raise ByheartError(f"{unfit}.")
    batch, outputs = batch_of_data(model, dataset)
    if (outputs < 0).any():
        raise ByheartError("the data has a token or a label that the model does not know.")
    # the dataset as if every token (or only the last) had a label
    count = len(dataset.ids) if every else len(dataset)
    tokens = replace(dataset, every=every, labels=np.zeros(count, np.int32))
    grouped = contexts(tokens, network.input.positions, network.every)
    ids = np.array(exact.evaluate(network, batch), dtype=object)
    ids = ids[tokens.own] if network.every else ids
    if (ids != ids[grouped.first[grouped.group]]).any():
        raise DisagreementError("refuted: one context has two ids.")

    def place(prediction: int) -> Place:
        sequence = int(tokens.owner[prediction])
        return Place(sequence, prediction - int(tokens.starts[sequence]) if every else None)

    order = sorted(grouped.first.tolist(), key=lambda i: ids[i])
    gaps = [(ids[b] - ids[a], a, b) for a, b in pairwise(order)]
    long = dataset.lengths[tokens.owner]  # of equal gaps, that of the shortest sequences
    separation, *nearest = min(
        gaps, key=lambda x: (x[0], long[x[1]] + long[x[2]]), default=(Fraction(1), 0, 0)
    )
    largest = max(order, key=lambda i: abs(ids[i]))
    one, other = map(place, sorted(nearest))
    return ExtremeIds(abs(ids[largest]), place(largest), separation, (one, other))
