"""limited-bits, small form: cases by hand, A1 to A3, G1 to G3."""

import math
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from nasty import NASTY, SIZES, datasets, labelled

from byheart.constructions.base import input_of
from byheart.constructions.limited_bits import SmallLimitedBits
from byheart.constructions.retrieval import search as searching
from byheart.constructions.retrieval.bounded import Digit, DigitPlan, cost, fold_sizes, spell
from byheart.constructions.retrieval.build import build as plain_build
from byheart.constructions.retrieval.limits import Double, Short, case
from byheart.constructions.retrieval.plan import loads
from byheart.constructions.retrieval.solve import System, solve
from byheart.data import generate
from byheart.data.contexts import contexts
from byheart.data.load import from_rows
from byheart.errors import AssumptionError
from byheart.exact.batch import Batch
from byheart.exact.evaluate import evaluate
from byheart.machine.watch import SILENT

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)


def build(dataset, positions=False, **options):
    grouped = contexts(dataset, positions)
    construction = SmallLimitedBits(positions=positions, **options)
    return construction.build(dataset, grouped, SILENT)


def right(built, dataset):
    """Whether the reference evaluator gives every label."""
    batch = Batch(dataset.vectors, dataset.ids, dataset.starts)
    outputs = evaluate(built.network, batch, "exact")
    return [built.claim.label(y) for y in outputs] == names_of(dataset)


def names_of(dataset):
    """The label of every sequence."""
    return [dataset.label(i) for i in range(len(dataset))]


def longest(built):
    return built.network.counts()[1]["largest"]


# --- by hand


def test_digits_by_hand():
    # base 5: [0, 5) is folded at 3, [0, 3) at 2, [0, 2) at 1; 3 -> 2 -> 1 -> 0 fires three times
    assert fold_sizes(5) == [3, 2, 1]
    assert [fold.weight for fold in spell([Digit("column", 0, 5)])[0]] == [2, 1, 1]
    plan = DigitPlan(5, clean=True)
    layout = plan.layout(plan.parts[1])
    # 4 -> 1 -> 0: 2 + 1
    assert layout.column_of(np.arange(5)).tolist() == [0, 1, 2, 4, 3]


@given(st.lists(st.integers(2, 9), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_digits_tell_all_values_apart(bases):
    """Rows and the column of every value: all combinations, each once."""
    plan = DigitPlan(bases[0], tuple(bases[1:]), clean=True)
    layout = plan.layout(plan.parts[1])
    assert plan.top_value == math.prod(bases)
    hashes = np.arange(plan.top_value)
    rows = [layout.counted("row", layout.bits(hashes), table) for table in range(len(bases) - 1)]
    digits = np.stack([layout.column_of(hashes), *rows], axis=1)
    assert set(map(tuple, digits.tolist())) == set(product(*(range(base) for base in bases)))


def solved(layout, hashes, words):
    """The numbers for words of one bit."""
    ones, terms = np.ones(len(words), np.int64), layout.terms(hashes)
    column = layout.column_of(hashes)
    system = System(layout.plan.columns, column, terms, np.array(words), ones, 1)
    return solve(system, layout.unknowns)


def test_solve_by_hand():
    # One number of one bit, the sum's bit 0; the label is bit 0 xor the 0 below.
    alone = DigitPlan(1).layout(())
    assert solved(alone, np.zeros(1, np.int64), [1]) == [1]
    assert solved(alone, np.zeros(1, np.int64), [0]) == [0]
    assert solved(alone, np.zeros(2, np.int64), [0, 1]) is None
    # A gate that fires for the second context switches the other lane off for it.
    gated = DigitPlan(1, lanes=2, gates=1)
    layout, hashes = gated.layout(gated.parts[1]), np.array([0, 1])
    assert layout.counted("gate", layout.bits(hashes)).tolist() == [0, 1]
    assert solved(layout, hashes, [0, 1]) == [1, 1]
    dataset = from_rows([(["a"], 0), (["b"], 1)])
    problem = case(dataset, contexts(dataset, False), input_of(dataset, False)).problem
    stored = Double().store(problem, None, layout, layout.terms(hashes), [1, 1])
    assert stored.digits == 2  # 1 + 1 = 2, and 1


def test_loads_by_hand():
    # words of two bits and of one, two shifts: positions 0, 1, 2 from the top
    assert loads(np.array([0, 0, 1, 1]), np.array([1, 2, 2, 2]), 2, 2).tolist() == [2, 3, 2]


# --- G1, G2


@given(datasets(), st.integers(0, 3), st.sampled_from([24, 32, 64, 100]))
@settings(max_examples=40, deadline=None, phases=QUICK)
def test_every_label_is_returned_within_the_limit(case, seed, bits):
    rows, positions = case
    dataset = from_rows(rows)
    built = build(dataset, positions, seed=seed, bits=bits)
    assert longest(built) <= bits
    assert right(built, dataset)


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("name", [name for name in NASTY if name != "floats"])
def test_nasty_data(name, positions):
    dataset = from_rows(NASTY[name])
    bits = 64 if "huge" in name else 40
    built = build(dataset, positions, bits=bits)
    assert longest(built) <= bits and right(built, dataset)


@pytest.mark.parametrize("name", ["all words, many labels", "huge vectors", "skewed"])
def test_nasty_data_with_many_bits(name):
    dataset = from_rows(NASTY[name])
    built = build(dataset, bits=150)
    assert longest(built) <= 150 and right(built, dataset)


def test_long_fractions_take_long_weights():
    """Doubles that are no short fractions: their digits go into the token folds' thresholds."""
    rows = labelled(([1e-3 * i, 2.5e7 + j / 10] for i in range(5) for j in range(5)), 3)
    dataset = from_rows(rows)
    with pytest.raises(AssumptionError, match="at least") as refusal:
        build(dataset, bits=64)
    bits = int(re.search(r"at least (\d+) bits", str(refusal.value))[1])
    built = build(dataset, bits=bits)
    assert 64 < longest(built) <= bits and right(built, dataset)


# --- A3


def small():
    return generate.random(30, seed=3, labels=3)


def test_every_limit_from_the_smallest_to_64():
    dataset = small()
    grouped = contexts(dataset, False)
    least = case(dataset, grouped, input_of(dataset, False)).least_bits(SmallLimitedBits())
    for bits in range(least, 65):
        built = build(dataset, bits=bits)
        assert longest(built) <= bits and right(built, dataset), bits
    for bits in (1, 2, least // 2, least - 1):
        with pytest.raises(AssumptionError, match=f"A3 fails: .* at least {least} bits"):
            build(dataset, bits=bits)


@pytest.mark.parametrize("size", [20, 300])
def test_the_smallest_limit_is_about_two_logarithms(size):
    dataset = generate.random(size)
    grouped = contexts(dataset, False)
    least = case(dataset, grouped, input_of(dataset, False)).least_bits(SmallLimitedBits())
    assert least <= 2 * math.log2(size) + 2
    assert right(build(dataset, bits=least), dataset)
    with pytest.raises(AssumptionError, match=f"at least {least} bits"):
        build(dataset, bits=least - 1)


def test_the_default_is_64_bits():
    dataset = small()
    assert build(dataset).network == build(dataset, bits=64).network


# --- G3


@pytest.fixture
def captured(monkeypatch):
    """Problem and Found of the last search."""
    kept, original = {}, searching.search

    def search(problem, *rest):
        kept.update(problem=problem, found=original(problem, *rest))
        return kept["found"]

    monkeypatch.setattr("byheart.constructions.retrieval.limits.search", search)
    return kept


def vanishing(layout, values):
    """Second differences of tables and constants of lanes that are 0: no weight is there."""
    plan = layout.plan
    count = sum(values[lane] == 0 for lane in range(plan.lanes))
    for table, lane in product(range(len(plan.tables)), range(plan.lanes)):
        line = [0, *layout.values(table, lane, values)]
        count += sum(a - 2 * b + c == 0 for a, b, c in zip(line, line[1:], line[2:], strict=False))
    return count


@pytest.mark.parametrize("limits", [Short(32), Short(64), Double()], ids=str)
@pytest.mark.parametrize("name", [*SIZES, "two sequences"])
def test_predicted_counts_are_the_built_ones(name, limits, captured):
    dataset = from_rows({**NASTY, **SIZES}[name])
    prepared = case(dataset, contexts(dataset, False), input_of(dataset, False))
    built = prepared.build(limits, SmallLimitedBits(), SILENT)
    problem, found = captured["problem"], captured["found"]
    storage = found.storage
    predicted = cost(found.plan, problem.task, storage.digits, found.hashed.offset != 0)
    parameters, _ = built.network.counts()
    # an offset that cancels the bias, or that goes into a bias which is there already
    hashed = found.hashed
    merged = not hashed.token_thresholds and hashed.offset and hashed.bias
    zeros = vanishing(storage.layout, storage.numbers) + bool(merged)
    assert parameters["nonzero"] == predicted.nonzero - zeros
    assert parameters["dense"] == predicted.dense


def test_hash_fold_retrieve_where_it_keeps_to_the_limit():
    dataset = generate.random(100)
    grouped = contexts(dataset, False)
    silent = SILENT  # noqa: E731
    plain = plain_build(dataset, grouped, SmallLimitedBits(), silent, tables_only=True)
    assert longest(plain) <= 64
    built = build(dataset, bits=64)
    assert built.network.counts()[0]["nonzero"] <= plain.network.counts()[0]["nonzero"]


@pytest.mark.parametrize("minimise", ["dense", "bits"])
def test_other_objectives(minimise):
    dataset = generate.random(300)
    built = build(dataset, bits=32, minimise=minimise)
    assert longest(built) <= 32 and right(built, dataset)


# --- when the search fails


@pytest.mark.parametrize("patch", ["hash_contexts", "solve"])
def test_the_search_ends(patch, monkeypatch):
    """A hash that never fits, a system that is never solvable: None after bounded attempts."""
    calls = []
    monkeypatch.setattr(searching, patch, lambda *_: calls.append(1))
    dataset = from_rows([([1, 2], 0), ([2, 3], 1), ([3, 4], 0)])
    prepared = case(dataset, contexts(dataset, False), input_of(dataset, False))
    assert prepared.build(Short(64), SmallLimitedBits(), SILENT) is None
    assert 1 <= len(calls) <= 1000


@pytest.mark.slow
@pytest.mark.parametrize("bits, most", [(33, 3500), (64, 2100), (128, 1550)])
def test_a_hundred_thousand(bits, most):
    dataset = generate.random(100_000)
    built = build(dataset, bits=bits)
    assert longest(built) <= bits and built.network.counts()[0]["nonzero"] <= most
    batch = Batch(dataset.vectors, dataset.ids, dataset.starts)
    outputs = np.array(evaluate(built.network, batch, "limbs"), dtype=np.int64)
    assert [built.claim.labels[int(y)] for y in outputs] == names_of(dataset)
