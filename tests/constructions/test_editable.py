"""Editable networks: a structure that no label enters, and weights that are a function of it."""

import inspect
import random as chance
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart.api.configure import configured, prepare
from byheart.constructions.retrieval.editable import again, find, independent, unlabelled_inputs
from byheart.constructions.retrieval.folds import FoldPlan
from byheart.constructions.retrieval.plan import loads
from byheart.data.dataset import Dataset
from byheart.data.generate import multisets, random, tokens
from byheart.machine.watch import Watch

METHODS = {
    "hash-fold-retrieve": lambda: random(120, labels=3),
    "seq2seq": lambda: tokens(25, labels=3),
    "embedding": lambda: replace(random(80, dimension=1), kind="number"),
    "deep-sets": lambda: multisets(80, labels=5),
}


def made(method="hash-fold-retrieve", **options):
    return configured(method, None, 0, {"editable": True, **options})


def relabelled(data, seed, names=None):
    """The data with random labels, one for each context, all of which occur."""
    from byheart.data.contexts import contexts

    grouped = contexts(data, positions=False, last=data.every or data.lengths.min() > 0)
    count = len(names or data.label_names)
    drawn = np.random.default_rng(seed).integers(0, count, len(grouped))
    drawn[:count] = np.arange(count)
    names = data.label_names if names is None else names
    return replace(data, labels=drawn[grouped.group].astype(np.int32), label_names=names)


def structure_for(data, construction):
    prepared, grouped = prepare(construction, data, "refuse")
    posed = unlabelled_inputs(prepared, grouped, construction, 1)
    return posed, find(posed, "nonzero", 0, Watch())


# ---------------------------------------------------------------- the structure


def test_what_finds_a_structure_receives_no_labels():
    assert "labels" not in inspect.signature(find).parameters
    posed, _ = structure_for(random(30), made(positions=False))
    assert not hasattr(posed, "labels")


def test_labels_do_not_enter_the_structure():
    data = random(150)
    records = [
        structure_for(relabelled(data, seed), made(positions=False))[1].record for seed in range(3)
    ]
    assert records[0] == records[1] == records[2]


def test_a_structure_takes_any_labels():
    """Full row rank at every position, observed by storing random words; and injective."""
    posed, found = structure_for(random(200), made(positions=False))
    assert independent(found)
    assert len(np.unique(found.hashed.contexts)) == len(found.hashed.contexts)
    rng = np.random.default_rng(0)
    lengths = set()
    for _ in range(10):
        words = rng.integers(0, 2, len(found.hashes)).astype(np.uint64)
        storage = found.solved(words)
        lengths.add((storage.digits, storage.hash_unit))
    assert len(lengths) == 1  # neither depends on the labels


def test_dependent_equations_are_seen():
    """Two contexts with the same bits read the same numbers."""
    posed, found = structure_for(random(60), made(positions=False))
    hashes = found.hashes.copy()
    hashes[1] = hashes[0]
    twice = replace(found, hashes=hashes, terms=found.layout.terms(hashes))
    assert independent(found) and not independent(twice)


def test_the_fullest_position_by_hand():
    """Bit 0 of a hash is the column fold: it fires for 1 and 3, whose column is then 0."""
    hashes = np.array([0, 1, 2, 3, 3], np.uint64)
    plan = FoldPlan(2)
    column = plan.layout(plan.parts[1]).column_of(hashes)
    assert loads(column, np.full(5, 1), 2, 1).max() == 3
    assert loads(column, np.full(5, 2), 2, 2).max() == 5  # the position that both windows cover


def test_a_structure_is_found_again_from_its_record():
    posed, found = structure_for(random(100), made(positions=False))
    other = again(posed, found.record, 0)
    assert other is not None and np.array_equal(other.hashes, found.hashes)
    assert other.layout.folds == found.layout.folds


@pytest.mark.parametrize(
    "change",
    [
        {"plan": None},
        {"plan": {}},
        {"tables": "2"},
        {"tables": [5, 5]},
        {"tables": [2] * 100},
        {"unknowns": 0},
        {"unknowns": 10**9},
        {"attempt": -1},
        {"order": 1 << 40},
        {"order": True},
    ],
)
def test_a_strange_record_is_refused(change):
    posed, found = structure_for(random(60), made(positions=False))
    assert again(posed, {**found.record, **change}, 0) is None


@pytest.mark.parametrize("size", ["columns", "lanes", "gates", "token_folds", "top"])
def test_a_huge_plan_is_refused(size):
    posed, found = structure_for(random(60), made(positions=False))
    huge = {**found.record, "plan": {**found.record["plan"], size: (1 << 20) - 1}}
    assert again(posed, huge, 0) is None


# ---------------------------------------------------------------- the network


@pytest.mark.parametrize("method", METHODS)
def test_a_recorded_structure_gives_the_network_of_a_search(method):
    data = METHODS[method]()
    model = byheart.compile(data, method, editable=True)
    assert model.verification.evidence == "proved"
    record = model.record.search.structure
    other = relabelled(data, 1)
    if method == "deep-sets":
        other = data
    fast = byheart.compile(other, replace(made(method), structure=record))
    assert fast.network == byheart.compile(other, made(method)).network


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_rows_does_not_matter(method):
    data = METHODS[method]()
    order = np.random.default_rng(3).permutation(len(data))
    one, other = (byheart.compile(x, made(method)) for x in (data, data.subset(order)))
    assert one.network == other.network


@pytest.mark.parametrize(
    "options",
    [{"positions": True}, {"reject_unknown": 3}, {"minimise": "dense"}, {"attention": "hard"}],
)
def test_it_works_with_the_other_options(options):
    data = random(30, labels=3)
    model = byheart.compile(data, editable=True, **options)
    assert model.verification.evidence == "proved" and model.labels == data.label_names
    assert model.record.options["editable"] is True


def test_one_label_needs_no_structure():
    data = Dataset.from_rows([(["a"], "x"), (["b"], "x")])
    assert "structure" not in byheart.compile(data, editable=True).record.search


def test_a_word_of_too_many_bits_is_refused(monkeypatch):
    monkeypatch.setattr("byheart.constructions.retrieval.problem.LONGEST_WORD", 3)
    with pytest.raises(byheart.AssumptionError, match="do not fit into 3 bits"):
        byheart.compile(random(40), editable=True, reject_unknown=8)


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_weights_are_a_function_of_structure_and_labels(data):
    words = "abcde"
    keys = data.draw(
        st.lists(st.text(words, min_size=1, max_size=4), min_size=2, max_size=12, unique=True)
    )
    label = st.sampled_from("xyz")
    rows = [(list(key), data.draw(label)) for key in keys]
    order = data.draw(st.permutations(rows))
    one, other = (byheart.compile(Dataset.from_rows(x), editable=True) for x in (rows, order))
    assert one.network == other.network and one.verification.evidence == "proved"


def test_ordinary_networks_are_what_they_were():
    """The option changes nothing where it is not asked for."""
    data = random(300)
    assert "structure" not in byheart.compile(data).record.search
    chance.seed(0)
    assert byheart.compile(data).network == byheart.compile(data, editable=False).network
