"""The sizes of a dataset and of the network that holds it, as config.json records them."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from ..claims.model import ModelData
from ..claims.record import Bits, DataSizes, Parameters, Record
from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..theory.information import label_entropy
from .kinds import kind_of


def counted(model: ModelData, dataset: Dataset, grouped: Contexts) -> Record:
    """The record with the sizes of data and network; an entropy where contexts have one label.

    Of a stock checkpoint with prompts and answers, the bits are those of whole answers: as next
    tokens they would depend on the tokenizer, which may split an answer into few tokens or many.
    """
    network, store = model.network, kind_of(model).store
    parameters, bits = network.counts()
    beginnings = dataset.beginnings
    ambiguous = bool(grouped.conflicts(dataset).any())
    counts = np.bincount(dataset.labels[grouped.first], minlength=1).tolist()
    if model.claim.chained:
        counts = list(Counter(whole_answers(dataset, grouped)).values())
    answers = sum(counts), sum(count > 0 for count in counts)
    return replace(
        model.record,
        data=DataSizes(
            sha256=dataset.sha256(),
            sequences=len(dataset),
            contexts=len(grouped),
            labels=len(dataset.label_names),
            length=dataset.length,
            vocabulary=len(dataset.tokens),
            beginnings=None if beginnings is None else tuple(beginnings),
        ),
        parameters=Parameters(**parameters),
        bits=Bits(
            **bits,
            encoded=store.code_bits(network),
            entropy=None if ambiguous else label_entropy(counts),
            information=answers[0] * math.log2(answers[1]),
        ),
    )


def whole_answers(dataset: Dataset, grouped: Contexts) -> list[tuple[int, ...]]:
    """The labels of the contexts of next tokens, those of one answer together: each of its contexts
    is the one before with the label that follows it."""
    answers: list[tuple[int, ...]] = []
    place = {token: i for i, token in enumerate(dataset.tokens)}
    token_of = [place.get(name, -1) for name in dataset.label_names]
    expected: list[int] = []
    for i in grouped.first.tolist():
        context = dataset.ids[dataset.starts[i] : dataset.starts[i + 1]].tolist()
        label = int(dataset.labels[i])
        if answers and context == expected:
            answers[-1] += (label,)
        else:
            answers.append((label,))
        expected = [*context, token_of[label]]
    return answers
