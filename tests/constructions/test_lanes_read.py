"""Tables whose lanes are read by gates: hash-fold-retrieve with very many contexts."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nasty import NASTY, labelled

from byheart.api.compile import compile
from byheart.constructions.retrieval import build as building
from byheart.constructions.retrieval import tables as planning
from byheart.constructions.retrieval.folds import FoldPlan
from byheart.constructions.retrieval.plan import needed
from byheart.constructions.retrieval.problem import Task
from byheart.constructions.retrieval.tables import candidates, cost, guard
from byheart.data.generate import random as generate
from byheart.data.load import from_rows
from byheart.exact.network import matrix
from byheart.gadgets.prefix_code import prefix_code
from byheart.models.verification import verify


@pytest.fixture(autouse=True)
def of_any_words(monkeypatch):
    """These plans also for words of several bits, for which they do not pay."""
    monkeypatch.setattr(planning, "PAYS", 64)
    planning.candidates.cache_clear()
    yield
    planning.candidates.cache_clear()


@pytest.fixture
def reading(monkeypatch):
    """Only plans that read lanes; called with True, only those with lanes of two gates."""

    def only(pairs):
        def some(*needs):
            plans = [plan for plan in candidates(*needs) if plan.reads]
            return tuple(plan for plan in plans if (plan.lanes > plan.gates + 1) == pairs)

        monkeypatch.setattr(building, "candidates", some)

    return only


def test_terms_by_hand():
    # Folds: row, data, row, then gates 0 and 1; from the last, bit 0 is gate 1 and bit 4 the first
    # row. Numbers: 0 all, 1 gate 1, 2 gate 0, 3 data, then a cell of each lane for either table.
    plan = FoldPlan(1, (2, 2), lanes=4, gates=2, top=1, reads=True)
    assert [fold.role for fold in plan.folds] == ["row", "data", "row", "gate", "gate"]
    assert plan.masks == (0, 0b01, 0b10, 0b11)
    assert plan.conditions == ((0, 0), (0, 0b01), (0, 0b10), (0b01, 0b10))
    layout = plan.layout(plan.parts[1])
    assert layout.table_start == [4, 8] and plan.unknowns == 12

    def read(bits):
        terms = layout.terms(np.array([bits], np.uint64))
        assert terms.starts.tolist() == [0, len(terms.units)]
        return sorted(terms.units.tolist())

    # both rows 1, no gate: the main lane only
    assert read(0b10100) == sorted([0, 4, 8])
    # gate 1 fires, gate 0 does not: its own lane, and that of both gates; the main lane is folded
    assert read(0b10101) == sorted([0, 1, ~4, ~8, 6, 10, 7, 11])
    # gate 0 fires: its own lane alone
    assert read(0b10110) == sorted([0, 2, ~4, ~8, 5, 9])
    # both: gate 1 flips what gate 0 added, and the main lane is flipped twice
    assert read(0b10111) == sorted([0, 1, ~2, 4, 8, ~5, ~9, 6, 10])
    # the data fold fires, then two more; row 1 of the second table only
    assert read(0b01101) == sorted([0, 1, 3, ~8, 10, 11])


def test_numbers_that_may_be_negative():
    plan = FoldPlan(1, (2, 2), lanes=4, gates=2, top=1, reads=True)
    layout = plan.layout(plan.parts[1])
    assert sorted(layout.signed) == [1, 2, 3, 4, 5, 6, 8, 9, 10]  # not those of both gates: 7, 11
    without = FoldPlan(1, (2, 2), lanes=4, gates=2, top=1)
    assert sorted(without.layout(without.parts[1]).signed) == [1, 2, 3]


@given(st.integers(2, 12), st.integers(0, 40))
def test_lanes_of_two_gates_are_closed_before_they_join(gates, pairs):
    half = gates // 2
    most = half * (gates - half)
    plan = FoldPlan(4, (4, 4), lanes=1 + gates + min(pairs, most), gates=gates, reads=True)
    assert len(set(plan.masks)) == plan.lanes
    for idle, fires in plan.conditions[1 + gates :]:
        assert idle.bit_count() == fires.bit_count() == 1
        assert idle < 1 << half <= fires


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("labels", [2, 5])
def test_predicted_counts_are_the_built_ones(pairs, labels, reading, predicted, captured, failures):
    reading(pairs)
    pick = random.Random(labels)
    rows = labelled(([pick.randrange(40) for _ in range(4)] for _ in range(500)), labels)
    model = compile(from_rows(rows))
    predicted(model)
    plan = captured["found"].plan
    assert plan.reads and (plan.lanes > plan.gates + 1) == pairs
    assert model.record.verification.evidence == "proved"
    assert failures(model, rows) == []  # judged by other code


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(NASTY)))
def test_every_label_is_returned(seed, name):
    rows = NASTY[name]
    original, search = building.candidates, building.reading.search
    building.candidates = lambda *needs: tuple(p for p in candidates(*needs) if p.reads)
    building.reading.search = lambda *_: None
    try:
        dataset = from_rows(rows)
        model = compile(dataset, seed=seed, on_conflict="majority")
    finally:
        building.candidates, building.reading.search = original, search
    assert verify(model, dataset, "exact").holds or name == "conflicts"


@pytest.mark.parametrize("marks", [0, 6])
def test_holders_hold_the_sum_and_nothing_else_does(marks, reading, captured):
    reading(True)
    pick = random.Random(12)
    rows = labelled(([pick.randrange(30) for _ in range(4)] for _ in range(400)), 7)
    model = compile(from_rows(rows), reject_unknown=marks)
    tokens = rows[0][0]
    found = model.trace(tokens)
    assert found.answer.label == rows[0][1]

    def after(parameter, change):
        layer = model.network.layers[parameter.layer]
        tensor = layer.tensors[parameter.tensor]
        values = {(r, c): v.fraction for r, c, v in tensor.entries}
        values[parameter.row, parameter.column] += change
        new = replace(layer, **{parameter.tensor: matrix(tensor.rows, tensor.columns, values)})
        layers = [new if i == parameter.layer else x for i, x in enumerate(model.network.layers)]
        return replace(model, network=replace(model.network, layers=tuple(layers))).trace(tokens)

    stages = {model.network.layers[holder.layer].stage for holder in found.holders}
    assert {"gate", "select"} <= stages
    for holder in found.holders:
        assert after(holder, Fraction(4)).stored != found.stored, holder
    others = [
        p
        for p in model.network.parameters()
        if p not in set(found.holders)
        and (model.network.layers[p.layer].stage, p.tensor)
        in (("store", "b1"), ("gate", "b1"), ("select", "W2"))
    ]
    for other in pick.sample(others, 20):
        assert after(other, Fraction(1)).stored == found.stored, other


def test_sums_are_as_long_as_expected(reading, captured):
    for pairs in (False, True):
        reading(pairs)
        compile(generate(3000, seed=2))
        found = captured["found"]
        above = found.storage.digits - found.storage.positions
        assert abs(guard(found.plan, captured["problem"].task.contexts) - above) <= 1


def test_very_many_contexts_have_lanes_that_are_read():
    contexts = 857_000
    task = Task(contexts, contexts, prefix_code([contexts // 2] * 2, 1), 2, 2, 0, 9)
    plans = candidates(task, "nonzero", 0.41, 0, 0)
    numbers = needed(task, 512, 0.41, 0)
    first = {reads: next(p for p in plans if p.reads == reads) for reads in (False, True)}
    told = {reads: cost(plan, task, numbers).nonzero for reads, plan in first.items()}
    assert plans[0].reads and told[True] + 30 <= told[False]


def test_sums_of_many_tokens_are_folded_before_rows_are_chosen():
    def first(total):
        task = Task(30_000, 30_000, prefix_code([15_000] * 2, 1), 2, 2, 0, total)
        return next(plan for plan in candidates(task, "nonzero", 0.29, 0, 0) if plan.reads)

    assert first(61).top == 4
    assert any(fold.ternary for fold in first(9).folds) or first(9).top == 1


def test_words_of_several_bits_are_not_read_by_gates(monkeypatch):
    code = prefix_code([1000] * 256, 8)
    task = Task(300_000, 2_400_000, code, 2, 2, 0, 9)
    assert any(plan.reads for plan in candidates(task, "nonzero", 0.41, 0, 0))
    monkeypatch.setattr(planning, "PAYS", 1)
    planning.candidates.cache_clear()
    plans = candidates(task, "nonzero", 0.41, 0, 0)
    assert plans and not any(plan.reads for plan in plans)
