"""Contexts against a plain dictionary, and what becomes of conflicts."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart import contexts as module
from byheart import ragged
from byheart.contexts import contexts, resolve, tally
from byheart.errors import AssumptionError, ByheartError
from byheart.load import from_rows

VIEWS = {
    (True, True): tuple,
    (False, True): lambda s: (tuple(sorted(s)), s[-1]),
    (False, False): lambda s: tuple(sorted(s)),
}

tables = st.lists(
    st.tuples(
        st.lists(st.sampled_from("ab"), min_size=1, max_size=4),
        st.sampled_from("xyz"),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=30,
)


def numbered(keys):
    """Equal keys get equal numbers, counted in the order of first appearance."""
    numbers = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def check_grouping(table, positions, last):
    found = contexts(from_rows(table), positions, last)
    expected = numbered(VIEWS[positions, last](sequence) for sequence, _, _ in table)
    assert found.group.tolist() == expected
    assert found.first.tolist() == [expected.index(i) for i in range(len(found))]


@pytest.mark.parametrize(("positions", "last"), VIEWS)
@given(table=tables)
def test_groups_like_a_dictionary(positions, last, table):
    check_grouping(table, positions, last)


@pytest.mark.parametrize(("positions", "last"), VIEWS)
def test_groups_in_small_blocks(monkeypatch, positions, last):
    monkeypatch.setattr(ragged, "BLOCK", 3)
    rng = np.random.default_rng(0)
    table = [
        (list("abc"[i] for i in rng.integers(0, 3, rng.integers(1, 7))), 0, 1) for _ in range(300)
    ]
    check_grouping(table, positions, last)


@pytest.mark.parametrize(("positions", "last"), VIEWS)
def test_collisions_are_found_and_hashed_again(monkeypatch, positions, last):
    seeds, honest = [], module._hashes

    def weak(dataset, positions, last, seed):
        seeds.append(seed)
        return honest(dataset, positions, last, seed) % np.uint64(1 + 2 * 10 ** (3 * seed))

    monkeypatch.setattr(module, "_hashes", weak)
    table = [([*word], 0, 1) for word in ("a", "b", "ab", "ba", "bb", "aab", "aba", "ab", "aab")]
    check_grouping(table, positions, last)
    assert len(seeds) > 1


def conflicts_by_hand(table, view):
    labels = defaultdict(Counter)
    for sequence, label, count in table:
        labels[view(sequence)][label] += count
    return labels


@pytest.mark.parametrize(("positions", "last"), VIEWS)
@given(table=tables)
def test_conflicts_and_majority(positions, last, table):
    data = from_rows(table)
    found = contexts(data, positions, last)
    labels = conflicts_by_hand(table, VIEWS[positions, last])
    assert found.conflicts(data).tolist() == [len(counter) > 1 for counter in labels.values()]
    expected = [min(c, key=lambda name: (-c[name], name)) for c in labels.values()]
    assert [data.label_names[i] for i in found.majority(data)] == expected
    pairs = tally(data, found)
    assert sorted(pairs.count.tolist()) == sorted(n for c in labels.values() for n in c.values())


@pytest.mark.parametrize(("positions", "last"), VIEWS)
@given(table=tables)
def test_resolved_datasets(positions, last, table):
    view, data = VIEWS[positions, last], from_rows(table)
    found = contexts(data, positions, last)
    labels = conflicts_by_hand(table, view)
    best = {key: min(c, key=lambda name: (-c[name], name)) for key, c in labels.items()}
    majority = [(s, best[view(s)], n) for s, _, n in table]
    kept = [row for row in table if len(labels[view(row[0])]) == 1]
    assert resolve(data, found, "majority").sha256() == from_rows(majority).sha256()
    if kept:
        assert resolve(data, found, "drop").sha256() == from_rows(kept).sha256()
    else:
        with pytest.raises(AssumptionError, match="A1 fails: every context .* leaves nothing"):
            resolve(data, found, "drop")


def test_resolve_keeps_vectors_that_occur():
    data = from_rows([([[1, 2]], 0), ([[1, 2]], 1), ([[3, 4]], 2), ([[0, 0]], 2)])
    resolved = resolve(data, contexts(data, True), "drop")
    assert (resolved.tokens.tolist(), resolved.label_names) == ([[0, 0], [3, 4]], (2,))


def test_no_conflict_changes_nothing():
    data = from_rows([(["a", "b"], 1), (["a", "b"], 1)])
    for choice in ("refuse", "majority", "drop"):
        assert resolve(data, contexts(data, False), choice) is data


def test_refusal_counts_and_shows():
    data = from_rows([(["a"], "x"), (["a"], "y"), (["a"], "y"), (["b"], "x")])
    with pytest.raises(AssumptionError) as caught:
        resolve(data, contexts(data, True), "refuse")
    assert str(caught.value) == (
        "A1 fails: 1 context (3 sequences) with two labels or more, for example ('a') with the "
        "labels 'x' and 'y'; use --on-conflict majority or drop, or a method that stores "
        "distributions."
    )


def test_refusal_offers_positions_where_order_helps():
    table = [(["a", "b", "c"], 1), (["b", "a", "c"], 2)]
    data = from_rows(table)
    with pytest.raises(AssumptionError, match="A1 fails: .* use --positions"):
        resolve(data, contexts(data, False))
    assert resolve(data, contexts(data, True)) is data
    data = from_rows([*table, (["d"], 1), (["d"], 2)])
    with pytest.raises(AssumptionError, match="2 contexts .4 sequences.* use --on-conflict"):
        resolve(data, contexts(data, False))


def test_long_contexts_are_cut_in_messages():
    data = from_rows([(list(range(20)), 1), (list(range(20)), 2)])
    with pytest.raises(AssumptionError, match=r"\(\.\.\., 12, 13, 14, 15, 16, 17, 18, 19\)"):
        resolve(data, contexts(data, True))


def test_unknown_resolution():
    data = from_rows([(["a"], 1)])
    with pytest.raises(ByheartError, match="--on-conflict is one of refuse, majority, drop"):
        resolve(data, contexts(data, True), "ignore")
