"""Targets made by hand."""

import numpy as np
import pytest

from byheart.data.arrays import offsets
from byheart.data.targets import Targets


@pytest.fixture(scope="session")
def table():
    """A function from counts [contexts, vocabulary] to targets; context i is the token i mod N."""

    def make(counts):
        counts = np.asarray(counts, np.int64)
        contexts, vocabulary = counts.shape
        rows, columns = np.nonzero(counts)
        return Targets(
            tuple(range(vocabulary)),
            (np.arange(contexts) % vocabulary).astype(np.int32),
            np.arange(contexts + 1),
            columns.astype(np.int32),
            offsets(np.count_nonzero(counts, axis=1)),
            counts[rows, columns],
        )

    return make


@pytest.fixture(scope="session")
def kullback():
    """The definition: KL(target || softmax) of each context, with nothing done for accuracy."""

    def divergences(counts, encoder):
        counts = np.asarray(counts, float)
        p = counts / counts.sum(axis=1, keepdims=True)
        logits = encoder.embeddings @ encoder.unembedding.T
        logits = logits - logits.max(axis=1, keepdims=True)
        log_q = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(p > 0, p * (np.log(p) - log_q), 0).sum(axis=1)

    return divergences
