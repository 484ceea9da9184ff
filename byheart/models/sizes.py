"""The sizes of a dataset and of the network that holds it, as config.json records them."""

import math
from dataclasses import replace

import numpy as np

from ..claims.model import ModelData
from ..claims.record import Bits, DataSizes, Parameters, Record
from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..theory.information import label_entropy
from .kinds import kind_of


def counted(model: ModelData, dataset: Dataset, grouped: Contexts) -> Record:
    """The record with the sizes of data and network; an entropy where contexts have one label."""
    network, store = model.network, kind_of(model).store
    parameters, bits = network.counts()
    labels = len(dataset.label_names)
    beginnings = dataset.beginnings
    ambiguous = bool(grouped.conflicts(dataset).any())
    counts = np.bincount(dataset.labels[grouped.first], minlength=1).tolist()
    return replace(
        model.record,
        data=DataSizes(
            sha256=dataset.sha256(),
            sequences=len(dataset),
            contexts=len(grouped),
            labels=labels,
            length=dataset.length,
            vocabulary=len(dataset.tokens),
            beginnings=None if beginnings is None else tuple(beginnings),
        ),
        parameters=Parameters(**parameters),
        bits=Bits(
            **bits,
            encoded=store.code_bits(network),
            entropy=None if ambiguous else label_entropy(counts),
            information=len(grouped) * math.log2(labels),
        ),
    )
