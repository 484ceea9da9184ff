"""The random datasets of the papers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from byheart.figures.data import bigrams, vectors
from byheart.lab.problem import labelled, next_token


@given(st.integers(2, 12), st.integers(0, 5))
def test_bigrams_hold_every_pair_once_with_one_next_token(vocabulary, seed):
    dataset = bigrams(vocabulary, seed)
    pairs = {tuple(dataset.sequence(i)) for i in range(len(dataset))}
    assert pairs == {(a, b) for a in range(vocabulary) for b in range(vocabulary)}
    assert len(dataset) == vocabulary**2
    problem = next_token(dataset)
    assert (len(problem), problem.vocabulary, problem.length) == (vocabulary**2, vocabulary, 2)
    assert problem.entropy == 0 and problem.best_accuracy == 1


def test_next_tokens_are_uniform_and_come_from_the_seed():
    dataset = bigrams(50)
    counts = np.bincount(dataset.labels, minlength=50)
    assert len(dataset.label_names) == 50
    assert ((counts - 50) ** 2 / 50).sum() < 100  # chi squared, 49 degrees: above with p < 1e-5
    assert dataset.sha256() == bigrams(50, 0).sha256() != bigrams(50, 1).sha256()


def test_vectors_are_in_the_unit_cube_and_have_signs():
    dataset = vectors(40, 5, 6)
    assert dataset.vectors.shape == (200, 6)
    assert dataset.vectors.min() >= 0 and dataset.vectors.max() < 1
    assert dataset.label_names == (-1, 1) and set(dataset.lengths) == {5}
    problem = labelled(dataset, squared=True)
    assert problem.tokens.shape == (40, 5, 6) and problem.outputs == 1
    assert problem.entropy == 0
    assert dataset.sha256() == vectors(40, 5, 6, 0).sha256() != vectors(40, 5, 6, 1).sha256()
