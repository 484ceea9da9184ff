"""Contexts against a plain dictionary, and what becomes of conflicts."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.data import arrays
from byheart.data import contexts as module
from byheart.data.contexts import contexts, resolve, tally
from byheart.data.load import from_rows
from byheart.errors import AssumptionError, ByheartError

VIEWS = {
    (True, True): tuple,
    (False, True): lambda s: (tuple(sorted(s)), *s[-1:]),
    (False, False): lambda s: tuple(sorted(s)),
}
TOKEN_VIEWS = {  # where every token has a label: of the sequence and a place in it
    True: lambda s, place: (tuple(s), place),
    False: lambda s, place: (tuple(sorted(s)), s[place]),
}

tables = st.lists(
    st.tuples(
        st.lists(st.sampled_from("ab"), max_size=4), st.sampled_from("xyz"), st.integers(1, 3)
    ),
    min_size=1,
    max_size=30,
).filter(lambda table: any(sequence for sequence, _, _ in table))


@st.composite
def labelled_tokens(draw):
    """Rows with a label for every token."""
    rows = []
    for sequence, _, count in draw(tables):
        labels = st.lists(st.sampled_from("xyz"), min_size=len(sequence), max_size=len(sequence))
        rows.append((sequence, draw(labels), count))
    return rows


def predictions(table):
    """(sequence, place, label, count) of every token."""
    return [
        (sequence, place, label, count)
        for sequence, labels, count in table
        for place, label in enumerate(labels)
    ]


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
    monkeypatch.setattr(arrays, "BLOCK", 3)
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
    if any(sequence for sequence, _, _ in kept):
        assert resolve(data, found, "drop").sha256() == from_rows(kept).sha256()
    else:
        with pytest.raises(AssumptionError, match="A1 fails: every context .* leaves nothing"):
            resolve(data, found, "drop")


def test_resolve_keeps_vectors_that_occur():
    data = from_rows([([[1, 2]], 0), ([[1, 2]], 1), ([[3, 4]], 2), ([[0, 0]], 2)])
    resolved = resolve(data, contexts(data, True), "drop")
    assert (resolved.tokens.tolist(), resolved.label_names) == ([[0, 0], [3, 4]], (2,))


# where every token has a label


@pytest.mark.parametrize("positions", TOKEN_VIEWS)
@given(table=labelled_tokens())
def test_groups_tokens_like_a_dictionary(positions, table):
    view = TOKEN_VIEWS[positions]
    expected = numbered(view(sequence, place) for sequence, place, *_ in predictions(table))
    for last in (True, False):  # its own token is what counts
        found = contexts(from_rows(table), positions, last)
        assert found.group.tolist() == expected
        assert found.first.tolist() == [expected.index(i) for i in range(len(found))]


@pytest.mark.parametrize("positions", TOKEN_VIEWS)
@given(table=labelled_tokens())
def test_conflicts_of_tokens(positions, table):
    view, data = TOKEN_VIEWS[positions], from_rows(table)
    found = contexts(data, positions)
    labels = defaultdict(Counter)
    for sequence, place, label, count in predictions(table):
        labels[view(sequence, place)][label] += count
    best = {key: min(c, key=lambda name: (-c[name], name)) for key, c in labels.items()}
    assert found.conflicts(data).tolist() == [len(counter) > 1 for counter in labels.values()]
    assert [data.label_names[i] for i in found.majority(data)] == list(best.values())
    majority = [
        (sequence, [best[view(sequence, place)] for place in range(len(sequence))], count)
        for sequence, _, count in table
    ]
    resolved = resolve(data, found, "majority")
    assert resolved.sha256() == from_rows(majority).sha256()
    assert not contexts(resolved, positions).conflicts(resolved).any()
    if found.conflicts(data).any():
        with pytest.raises(AssumptionError, match="A1 fails.* on_conflict='drop'"):
            resolve(data, found, "drop")


def test_refusal_names_the_token():
    data = from_rows([(["a", "b", "b"], ["x", "y", "z"]), (["c"], ["x"])])
    with pytest.raises(AssumptionError) as caught:
        resolve(data, contexts(data, False))
    assert str(caught.value) == (
        "A1 fails: 1 context (2 tokens) with two labels or more, for example the token 'b' of "
        "('a', 'b', 'b') with the labels 'y' and 'z'; order distinguishes all of them, so use "
        "positions=True."
    )
    assert resolve(data, contexts(data, True)) is data
    data = from_rows([(["a"], ["x"]), (["a"], ["y"])])
    with pytest.raises(AssumptionError, match="use on_conflict='majority'.$"):
        resolve(data, contexts(data, True))


@given(table=st.one_of(tables, labelled_tokens()), chance=st.randoms(use_true_random=False))
def test_a_subset_keeps_numbers_and_order(table, chance):
    data = from_rows(table)
    kept = sorted(chance.sample(range(len(table)), chance.randint(1, len(table))))
    found = data.subset(np.array(kept))
    assert (found.tokens, found.label_names) == (data.tokens, data.label_names)
    assert (len(found), found.every) == (len(kept), data.every)
    assert [found.sequence(i) for i in range(len(kept))] == [table[k][0] for k in kept]
    lists = [table[k][1] if data.every else [table[k][1]] for k in kept]
    labels = [label for names in lists for label in names]
    assert [found.label(i) for i in range(len(found.labels))] == labels
    assert found.counts.tolist() == [table[k][2] for k in kept]


def test_dropping_all_but_the_empty_sequence_is_refused():
    data = from_rows([([], 1), (["a"], 1), (["a"], 2)])
    with pytest.raises(AssumptionError, match="leaves nothing"):
        resolve(data, contexts(data, False, False), "drop")


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
        "labels 'x' and 'y'; use on_conflict='majority' or on_conflict='drop', or "
        "method='one-layer', which stores distributions."
    )


def test_distributions_are_offered_where_they_can_be_stored():
    for tokens, offered in (([1], True), ([1.5], False), ([[1, 2]], False)):
        data = from_rows([(tokens, 1), (tokens, 2)])
        with pytest.raises(AssumptionError) as caught:
            resolve(data, contexts(data, True))
        assert ("method='one-layer'" in str(caught.value)) == offered


def test_refusal_offers_positions_where_order_helps():
    table = [(["a", "b", "c"], 1), (["b", "a", "c"], 2)]
    data = from_rows(table)
    with pytest.raises(AssumptionError, match="A1 fails: .* use positions=True"):
        resolve(data, contexts(data, False))
    assert resolve(data, contexts(data, True)) is data
    with pytest.raises(AssumptionError, match="use another method with positions=True"):
        resolve(data, contexts(data, False, False))  # multisets know no order
    data = from_rows([*table, (["d"], 1), (["d"], 2)])
    with pytest.raises(AssumptionError, match="2 contexts .4 sequences.* use on_conflict="):
        resolve(data, contexts(data, False))


def test_long_contexts_are_cut_in_messages():
    data = from_rows([(list(range(20)), 1), (list(range(20)), 2)])
    with pytest.raises(AssumptionError, match=r"\(\.\.\., 12, 13, 14, 15, 16, 17, 18, 19\)"):
        resolve(data, contexts(data, True))


def test_unknown_resolution():
    data = from_rows([(["a"], 1)])
    with pytest.raises(ByheartError, match="on_conflict must be one of refuse, majority, drop"):
        resolve(data, contexts(data, True), "ignore")
