"""A byheart model under the same questions as a trained checkpoint: its answers are known.

A model that stores labels gives one label and no probabilities. It is a code for labels all the
same: the share of errors is stated once, a correct label takes -log2(1 - share) bits, and a wrong
one -log2(share) more than a plain label. Where every label is correct, the labels take 0 bits.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..data.arrays import offsets
from ..data.dataset import Dataset
from ..errors import ByheartError
from ..machine.watch import Watch
from ..models.kinds import kind_of
from ..models.model import Model
from ..models.source import load_for
from .items import Items
from .scoring import Scores

BLOCK = 1 << 10  # questions asked at once


def dataset_for(model: Model, data: Any, loading: Mapping[str, Any]) -> Dataset:
    """The data as the model's own was read; options that were given count before the folder's."""
    if isinstance(data, Dataset):
        return data
    if not isinstance(data, str | Path):
        raise ByheartError("an audit of a byheart model takes a file or a Dataset.")
    return load_for(model, data, {k: v for k, v in loading.items() if v not in (None, (), [])})


def labels_of(model: Model, dataset: Dataset) -> Items:
    """The labels as items, of which nothing is given; those that the model never gives are last."""
    known = {label: i for i, label in enumerate(model.labels)}
    numbers = [known.setdefault(name, len(known)) for name in dataset.label_names]
    sizes = dataset.lengths if dataset.every else np.ones(len(dataset), np.int64)
    labels = np.array(numbers, np.int64)[dataset.labels]
    return Items(labels, offsets(sizes), np.zeros(len(dataset), np.int64), labelled=True)


def score(model: Model, dataset: Dataset, items: Items, watch: Watch) -> Scores:
    """The code length of every item's labels, and how many are correct before the first error."""
    if model.every != dataset.every:
        one, other = ("every token", "a sequence") if model.every else ("a sequence", "every token")
        raise ByheartError(f"the model gives {one} a label, and the data has labels of {other}.")
    watch.stage("scoring", len(items))
    correct, bits, known = [], [], 0
    kind = kind_of(model).answer
    places = {label: i for i, label in enumerate(model.labels)}
    for first in range(0, len(items), BLOCK):
        part = range(first, min(first + BLOCK, len(items)))
        questions = [dataset.sequence(i) for i in part]
        wanted = items.ids[items.starts[first] : items.starts[part[-1] + 1]]
        rows = [model.numbers(question) for question in questions]
        known += sum(row is not None for row in rows)
        if model.claim.probabilities:
            distributions = kind.distributions(model, [row for row in rows if row is not None])
            for row, label in zip(rows, wanted.tolist(), strict=True):
                chances = None if row is None else next(distributions)
                if chances is None or label >= len(chances):  # unknown to the model
                    bits.append(math.log2(len(model.labels) + 1))
                    correct.append(False)
                else:
                    bits.append(-math.log2(chances[label]) if chances[label] else math.inf)
                    correct.append(int(chances.argmax()) == label)
        else:
            sizes = np.diff(items.starts[first : part[-1] + 2]).tolist()
            names: list[Any] = []
            for answer, size in zip(kind.answers(model, questions), sizes, strict=True):
                names += answer.label if isinstance(answer.label, list) else [answer.label] * size
            chosen = (places.get(name, -1) for name in names)
            correct += [x == y for x, y in zip(chosen, wanted.tolist(), strict=True)]
        watch.advance(len(part))
    if not known:
        raise ByheartError("the data has no item whose tokens are all in the model's vocabulary.")
    hits = np.array(correct, bool)
    if not model.claim.probabilities:
        share = 1 - hits.mean()
        plain = math.log2(max(len(model.labels), int(items.ids.max()) + 1))
        right = -math.log2(1 - share) if 0 < share < 1 else 0.0
        wrong = plain - math.log2(share) if share else 0.0
        bits = [right if hit else wrong for hit in correct]
    runs = [np.cumprod(part).sum() for part in np.split(hits, items.starts[1:-1])]
    none = np.full(len(items), np.nan)
    return Scores(
        items.sums(np.asarray(bits, np.float64)),
        items.sums(hits).round().astype(np.int64),
        np.array(runs, np.int64),
        *(none, none, none),
    )
