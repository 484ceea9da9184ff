"""Every context once, weighted: the same loss as the rows it stands for."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart import ByheartError, from_rows, load
from byheart.lab.problem import Problem, labelled, next_token

words = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)
rows = st.lists(st.tuples(words, st.sampled_from("xyz")), min_size=1, max_size=12)


def by_hand(tmp_path, text, **options) -> Problem:
    path = tmp_path / "data.txt"
    path.write_text(text)
    return next_token(load(path, **options))


def test_three_lines_by_hand(tmp_path):
    """ "a b", "a b", "a c": one context, b twice and c once."""
    problem = by_hand(tmp_path, "a b\na b\na c\n", documents="line")
    assert len(problem) == 1 and problem.predictions == 3
    assert problem.tokens.tolist() == [[0]] and problem.lengths.tolist() == [1]
    assert problem.answer.tolist() == [1, 2] and problem.count.tolist() == [2, 1]
    assert problem.entropy == pytest.approx(2 * np.log(3 / 2) + np.log(3))
    assert problem.best_accuracy == pytest.approx(2 / 3)
    assert problem.loss(np.zeros((1, 3))) == pytest.approx(3 * np.log(3))
    assert problem.accuracy(np.array([[0.0, 0.0, 1.0]])) == pytest.approx(1 / 3)


@given(rows)
def test_the_loss_is_that_of_the_repeated_rows(given_rows):
    problem = next_token(from_rows(given_rows))
    logits = np.random.default_rng(0).normal(size=(len(problem), problem.outputs))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    pairs = zip(problem.context, problem.answer, problem.count, strict=True)
    repeated = [-np.log(shares[c, a]) for c, a, count in pairs for _ in range(count)]
    assert len(repeated) == len(given_rows)
    assert problem.loss(logits) == pytest.approx(sum(repeated))
    assert problem.loss(logits) >= problem.entropy - 1e-9


@given(rows)
def test_contexts_are_the_distinct_sequences(given_rows):
    problem = next_token(from_rows(given_rows))
    seen = Counter(tuple(sequence) for sequence, _ in given_rows)
    assert sorted(problem.weight) == sorted(seen.values())
    assert sorted(problem.lengths) == sorted(map(len, seen))


@given(rows)
def test_labels_belong_to_multisets_with_their_last_token(given_rows):
    problem = labelled(from_rows(given_rows))
    seen = Counter((tuple(sorted(sequence)), sequence[-1]) for sequence, _ in given_rows)
    assert sorted(problem.weight) == sorted(seen.values())
    best = Counter()
    for (sequence, label), count in Counter((tuple(s), y) for s, y in given_rows).items():
        best[(tuple(sorted(sequence)), sequence[-1]), label] += count
    most = {key: max(n for (k, _), n in best.items() if k == key) for key in seen}
    assert problem.best_accuracy == pytest.approx(sum(most.values()) / len(given_rows))


def test_the_least_squared_loss_is_the_variance():
    """One context with labels +1, +1, -1: the mean 1/3 leaves 2 (2/3)^2 + (4/3)^2 = 8/3."""
    problem = labelled(from_rows([(["a"], "p"), (["a"], "p"), (["a"], "m")]), squared=True)
    assert problem.outputs == 1
    assert problem.entropy == pytest.approx(8 / 3)
    assert problem.loss(np.array([[1 / 3]])) == pytest.approx(8 / 3)
    assert problem.loss(np.array([[0.2]])) > 8 / 3
    assert problem.accuracy(np.array([[0.2]])) == pytest.approx(2 / 3)


def test_the_squared_loss_needs_two_labels():
    with pytest.raises(ByheartError, match="two labels, and this data has 3"):
        labelled(from_rows([(["a"], "x"), (["b"], "y"), (["c"], "z")]), squared=True)


def test_coordinates_beyond_float32_are_refused():
    large = from_rows([([[1.0, 1e300]], "a"), ([[0.0, 1.0]], "b")])
    with pytest.raises(ByheartError, match="too large for float32"):
        labelled(large)


def test_batches_are_draws_of_the_data(tmp_path):
    problem = by_hand(tmp_path, "a b\na b\na c\nb c a\n", documents="line", unit="wordpunct")
    drawn = list(problem.batches(1000, 3, np.random.default_rng(1)))
    assert [batch.predictions for batch in drawn] == [1000] * 3
    first, *others = drawn
    assert any(first.count.tolist() != other.count.tolist() for other in others)
    share = first.count[0] / 1000  # "b" after "a": 2 of 5 predictions
    assert abs(share - 0.4) < 0.08


@given(rows, st.data())
def test_drawing_everything_once_changes_nothing(given_rows, data):
    problem = next_token(from_rows(given_rows))
    same = problem.drawn(problem.count)
    assert all(np.array_equal(getattr(same, x), getattr(problem, x)) for x in ("tokens", "count"))
    kept = data.draw(st.integers(0, len(problem.count) - 1))
    one = problem.drawn(np.eye(len(problem.count), dtype=np.int64)[kept])
    assert len(one) == 1 and one.answer.tolist() == [problem.answer[kept]]
    assert np.array_equal(one.tokens[0], problem.tokens[problem.context[kept]])
    assert all(a <= b for a, b in pairwise(problem.context))
