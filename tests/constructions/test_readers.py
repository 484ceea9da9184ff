"""The form with readers of hash-fold-retrieve: by hand, counts, solver, trace, other settings."""

import importlib
import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty import datasets, labelled

from byheart.api.compile import compile
from byheart.constructions.retrieval import build as building
from byheart.constructions.retrieval import readers
from byheart.constructions.retrieval.plan import read_bits
from byheart.constructions.retrieval.problem import Inputs, Task
from byheart.constructions.retrieval.readers import ReaderLayout, ReaderPlan, cost, pairs_of
from byheart.constructions.retrieval.survey import required
from byheart.data.generate import random as generate
from byheart.data.load import from_rows
from byheart.errors import ByheartError
from byheart.exact.evaluate import evaluate
from byheart.exact.network import matrix
from byheart.exact.prove import batch_of_data
from byheart.gadgets.blocks import digit_order
from byheart.gadgets.prefix_code import prefix_code

searching = importlib.import_module("byheart.constructions.retrieval.reading")


@pytest.fixture
def found(monkeypatch):
    """Problem and Found of the last search of this form."""
    kept, original = {}, building.reading.search

    def search(problem, *rest):
        kept.update(problem=problem, found=original(problem, *rest))
        return kept["found"]

    monkeypatch.setattr(building.reading, "search", search)
    return kept


def reads(model):
    """Whether the model has this form."""
    return any(layer.stage == "zigzag" for layer in model.network.layers)


# --- by hand


def test_bits_by_hand():
    # two folds, at 6 and at 3, leave three cells: 3 -> 2, 4 -> 1, 5 -> 0, 6 -> 5 -> 0, 11 -> 0
    fired, cell = read_bits(np.arange(12), [6, 3])
    assert cell.tolist() == [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0]
    assert fired.tolist() == [0, 0, 0, 1, 1, 1, 3, 3, 3, 2, 2, 2]


def test_terms_by_hand():
    # a creator (number 1), then a data fold (number 2) that reads its bit (number 3)
    layout = ReaderLayout(ReaderPlan(2, 0, 0, 1, 1, 1), (), ((1, 0),))
    terms = layout.terms(np.array([0b00, 0b10, 0b01, 0b11], np.uint64))
    read = [terms.units[a:b].tolist() for a, b in pairwise(terms.starts.tolist())]
    # the second fold flips the sign of what the first one added
    assert read == [[0], [0, 1], [0, 2], [0, 2, 3, ~1]]


def test_terms_of_tables_by_hand():
    # a row bit of a table with two rows, then a data fold that adds its lane
    layout = ReaderLayout(ReaderPlan(2, 0, 0, 0, 1, 0, rows=(2,)), (), ())
    assert layout.unknowns == 4  # shared, in the fold, and a row in the main lane and in the fold's
    terms = layout.terms(np.array([0b00, 0b10, 0b01, 0b11], np.uint64))
    read = [terms.units[a:b].tolist() for a, b in pairwise(terms.starts.tolist())]
    assert read == [[0], [0, 2], [0, 1], [0, 1, ~2, 3]]


def test_required_by_hand():
    # without luck the fullest position decides; with 2 bits of it, two equations may be too many
    loads = np.array([3, 5, 4])
    assert required(loads, 0.0)[0] == 5
    assert required(loads, 2.0)[0] == 4  # one too many at 5, one still to pay at 4: 1 + 1 trials


# --- networks


def test_a_high_effort_finds_a_smaller_network(failures):
    dataset = generate(100, seed=2)
    normal, high = (compile(dataset, effort=effort) for effort in ("normal", "high"))
    assert high.record.parameters.nonzero < normal.record.parameters.nonzero
    assert failures(high, dataset) == []


@given(datasets(more=(), repeat=True), st.sampled_from(["uniform", "hard"]))
@settings(max_examples=8, deadline=None)
def test_predicted_counts_are_the_built_ones(case, attention):
    rows, positions = case
    kept, original = {}, building.reading.search

    def search(problem, *rest):
        kept.update(problem=problem, found=original(problem, *rest))
        return kept["found"]

    building.reading.search = search
    try:
        model = compile(from_rows(rows), positions=positions, attention=attention)
    finally:
        building.reading.search = original
    if reads(model):
        solution = kept["found"].solution
        told = cost(solution.layout.plan, kept["problem"].task, solution.guard)
        built, _ = model.network.counts()
        units = [unit for read in solution.layout.read.values() for _, unit in read]
        zeros = sum(solution.numbers[unit] == 0 for unit in units)
        assert told.dense == built["dense"]
        assert told.nonzero == built["nonzero"] + zeros
        assert (told.width, told.depth) == (model.network.width, model.network.depth)


def test_counts_with_tables(found, monkeypatch):
    monkeypatch.setattr(readers, "structures", with_tables)
    model = compile(generate(3000, seed=1))
    solution = found["found"].solution
    assert solution.layout.plan.rows and reads(model)
    told = cost(solution.layout.plan, found["problem"].task, solution.guard)
    assert told.nonzero == model.record.parameters.nonzero
    assert told.dense == model.record.parameters.dense
    assert model.record.verification.evidence == "proved"


def with_tables(task, objective, luck, extra_bits, token_folds):
    plan = ReaderPlan(4, 3, 2, 0, 14, 0, token_folds, (4, 4), 2)
    return [plan]


@pytest.mark.parametrize(("sequences", "most"), [(100, 82), (1000, 206)])
def test_random_data_is_as_small_as_promised(sequences, most, checker, tmp_path):
    dataset = generate(sequences, seed=1)
    model = compile(dataset)
    assert reads(model) and model.record.parameters.nonzero <= most
    model.save(tmp_path / "model", data=dataset)
    assert checker.failures(tmp_path / "model", tmp_path / "model" / "data.jsonl") == []


@pytest.mark.parametrize("method", ["seq2seq", "embedding", "sparse-attention", "deep-sets"])
def test_other_settings_have_it_too(method):
    pick = random.Random(5)
    rows = labelled(([pick.randrange(20) for _ in range(3)] for _ in range(60)), 2)
    if method == "seq2seq":
        rows = [(tokens, [label] * len(tokens)) for tokens, label in rows]
    model = compile(from_rows(rows), method, on_conflict="majority")
    assert reads(model) and model.record.verification.evidence == "proved"


def test_left_to_tables():
    rows = labelled([[i, i * i % 7] for i in range(12)], 2)
    for options in ({"reject_unknown": 5}, {"editable": True}):
        assert not reads(compile(from_rows(rows), **options))
    with pytest.raises(ByheartError, match="leave one of the two out"):
        compile(from_rows(rows), editable=True, effort="high")


def test_many_equations_are_left_to_tables():
    task = Task(6000, 6000, prefix_code([3000] * 2, 1), 2, 2, 0, 9)
    many, few = Inputs(task, None, None), Inputs(replace(task, equations=5000), None, None)
    assert not searching.applies(many, "nonzero") and searching.applies(few, "nonzero")
    words = Inputs(replace(task, contexts=4000, equations=16_000), None, None)
    assert not searching.applies(words, "bits") and searching.applies(words, "dense")


def test_the_other_objectives_are_no_worse_than_with_tables(monkeypatch):
    rows = labelled([[i, i * i % 7] for i in range(30)], 2)
    for objective in ("bits", "dense"):
        both = building.size(compile(from_rows(rows), minimise=objective), objective)
        with monkeypatch.context() as patch:
            patch.setattr(building.reading, "search", lambda *_: None)
            alone = building.size(compile(from_rows(rows), minimise=objective), objective)
        assert both <= alone


# --- trace


@pytest.fixture(scope="module", params=["bits", "tables"])
def traced(request):
    """A model with kept bits and several labels, and one with tables."""
    if request.param == "bits":
        pick = random.Random(12)
        rows = labelled(([pick.randrange(30) for _ in range(4)] for _ in range(400)), 7)
        dataset = from_rows(rows)
        model = compile(dataset)
    else:
        dataset = generate(3000, seed=1)
        original, readers.structures = readers.structures, with_tables
        try:
            model = compile(dataset)
        finally:
            readers.structures = original
    assert reads(model)
    return model, [(dataset.sequence(i), dataset.label(i)) for i in range(30)]


def changed(network, parameter, value):
    layer = network.layers[parameter.layer]
    tensor = layer.tensors[parameter.tensor]
    values = {(r, c): v.fraction for r, c, v in tensor.entries}
    values[parameter.row, parameter.column] = value
    new = replace(layer, **{parameter.tensor: matrix(tensor.rows, tensor.columns, values)})
    layers = [*network.layers]
    layers[parameter.layer] = new
    return replace(network, layers=tuple(layers))


def test_stored_bits_spell_the_label(traced):
    model, rows = traced
    for tokens, label in rows:
        found = model.trace(tokens)
        assert found.answer.label == label
        total = found.stored.fraction.__floor__()
        gray = [(total >> place ^ total >> (place + 1)) & 1 for place in found.bits]
        if len(model.labels) == 2:
            rank = digit_order(2).index(model.labels.index(label))
            assert gray == [rank]


def test_holders_hold_the_sum(traced):
    model, rows = traced
    every = set(model.network.parameters())
    found = model.trace(rows[0][0])
    assert found.holders and set(found.holders) <= every
    assert len(set(found.holders)) == len(found.holders)
    for holder in random.Random(1).sample(found.holders, min(25, len(found.holders))):
        network = changed(model.network, holder, holder.value.fraction + 4)
        after = replace(model, network=network).trace(rows[0][0])
        assert after.stored != found.stored, holder


def test_a_changed_number_is_noticed(traced):
    model, rows = traced
    dataset = from_rows(rows)
    batch, wanted = batch_of_data(model, dataset)
    numbers = [
        p
        for p in model.network.parameters()
        if model.network.layers[p.layer].stage in ("store", "keep bit", "zigzag", "strip")
    ]
    noticed = 0
    for parameter in random.Random(2).sample(numbers, 12):
        network = changed(model.network, parameter, parameter.value.fraction * Fraction(9, 8))
        noticed += list(evaluate(network, batch, "exact")) != wanted.tolist()
    assert noticed >= 9


def test_pairs_are_of_folds_after_their_creators():
    layout = ReaderLayout(ReaderPlan(2, 1, 1, 2, 3, 0), (2,), ())
    folds = layout.folds
    assert len(folds) == 6 and all(fold > 1 for fold, _ in pairs_of(folds))
    assert len(pairs_of(folds)) == 4
