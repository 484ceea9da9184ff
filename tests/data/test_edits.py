"""Items changed, added and removed: the dataset is the one that the changed rows make."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.data.dataset import Dataset
from byheart.data.edits import Items, joined, relabelled, without
from byheart.errors import ByheartError

WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3)
NUMBERS = st.lists(st.sampled_from([0, 1, 2.5]), min_size=1, max_size=3)
VECTORS = st.lists(st.sampled_from([[0, 1], [1, 0.5], [2, 2]]), min_size=1, max_size=3)


def tables(tokens):
    return st.lists(st.tuples(tokens, st.sampled_from("xyz"), st.integers(1, 3)), min_size=1)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_left_and_what_is_added(data):
    rows = data.draw(st.one_of(tables(WORDS), tables(NUMBERS), tables(VECTORS)))
    cut = data.draw(st.integers(0, len(rows)))
    whole = Dataset.from_rows(rows)
    if cut == len(rows):
        with pytest.raises(ByheartError, match="nothing would be left"):
            without(whole, range(cut))
        return
    rest = Dataset.from_rows(rows[cut:])
    assert without(whole, range(cut)).sha256() == rest.sha256()
    if cut:
        assert joined(Dataset.from_rows(rows[:cut]), rest).sha256() == whole.sha256()


@settings(max_examples=40, deadline=None)
@given(tables(WORDS), st.sampled_from("xyzw"), st.booleans())
def test_all_rows_of_an_item_are_found_and_change(rows, label, positions):
    data = Dataset.from_rows(rows)
    items = Items(data, positions, last=True)
    tokens = rows[0][0]
    own = items.rows()[items.key(tokens)]

    def same(other):
        if positions:
            return other == tokens
        return sorted(other) == sorted(tokens) and other[-1] == tokens[-1]

    assert own == [i for i, (other, *_) in enumerate(rows) if same(other)]
    changed = [(x, label if i in own else y, n) for i, (x, y, n) in enumerate(rows)]
    found = relabelled(items, [(own, tokens, label)])
    assert found.sha256() == Dataset.from_rows(changed).sha256()


def test_an_item_is_told_by_its_key():
    data = Dataset.from_rows([(["a", "b", "c"], "x"), (["b", "a", "c"], "y")])
    for positions in (True, False):
        items = Items(data, positions, last=True)
        for key in items.rows():
            assert items.key(items.tokens(key)) == key
    assert Items(data, True, True).key(["a", "q"]) is None


def test_labels_of_tokens_follow_their_tokens():
    """Where order does not count, a row in another order gets each token's label."""
    data = Dataset.from_rows([(["a", "b"], ["x", "y"]), (["b", "a"], ["y", "x"])])
    items = Items(data, positions=False, last=True)
    ((_, own),) = items.rows().items()
    found = relabelled(items, [(own, ["a", "b"], ["y", "x"])])
    assert list(found) == [(["a", "b"], ["y", "x"]), (["b", "a"], ["x", "y"])]
    twice = Items(Dataset.from_rows([(["a", "a"], ["x", "x"])]), False, True)
    with pytest.raises(ByheartError, match="is given two labels"):
        relabelled(twice, [([0], ["a", "a"], ["x", "y"])])
