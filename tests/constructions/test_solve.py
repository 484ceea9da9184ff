"""The stored numbers: systems over GF(2), full positions, and the balance of the columns."""

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.constructions.retrieval import solve as solving
from byheart.constructions.retrieval.balance import Counts, _most_independent, climb
from byheart.constructions.retrieval.folds import FoldPlan
from byheart.constructions.retrieval.gf2 import ZERO, common_zero, factored
from byheart.constructions.retrieval.hashing import Sums, conflicts
from byheart.constructions.retrieval.plan import equations, loads, required
from byheart.constructions.retrieval.solve import Patience, System, Terms, expected_trials, solve


def packed(bits):
    """[rows, unknowns] of 0 and 1 as words of 64, the first unknown lowest."""
    rows, unknowns = bits.shape
    wide = np.zeros((rows, -(-unknowns // 64) * 64), np.uint8)
    wide[:, :unknowns] = bits
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint64).copy()


def unpacked(words, unknowns):
    return np.unpackbits(words.view(np.uint8), bitorder="little")[:unknowns]


# --- factors


@given(st.integers(0, 1 << 30), st.sampled_from([1, 7, 64, 65, 200]), st.floats(0.02, 0.5))
@settings(max_examples=60, deadline=None)
def test_any_choice_of_free_unknowns_solves(seed, unknowns, density):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, unknowns + 5))
    matrix = (rng.random((count, unknowns)) < density).astype(np.uint8)
    right = matrix @ rng.integers(0, 2, unknowns) % 2
    factors = factored(packed(matrix), unknowns)
    assert factors.rank + len(factors.free) == unknowns
    assert factors.rank + factors.dependent == count
    reduced, solution = np.zeros((2, -(-unknowns // 64)), np.uint64)
    assert factors.reduced(right.astype(np.uint64), reduced) == 0
    chosen = [int(u) for u in factors.free if rng.integers(2)]
    for unknown in chosen:
        solution[unknown >> 6] |= np.uint64(1) << np.uint64(unknown & 63)
    factors.solution(reduced, solution)
    bits = unpacked(solution, unknowns)
    assert [u for u in factors.free if bits[u]] == chosen
    assert (matrix @ bits.astype(np.int64) % 2 == right).all()


@given(st.integers(0, 1 << 30))
@settings(max_examples=30, deadline=None)
def test_circuits_are_sums_of_rows_that_vanish(seed):
    rng = np.random.default_rng(seed)
    unknowns = int(rng.integers(2, 150))
    matrix = (rng.random((unknowns + int(rng.integers(0, 9)), unknowns)) < 0.2).astype(np.int64)
    factors = factored(packed(matrix), unknowns)
    right = rng.integers(0, 2, len(matrix)).astype(np.uint64)
    if factors.dependent > 63:
        return
    circuits, met = factors.circuits(), 0
    for e in range(factors.dependent):
        rows = (circuits >> np.uint64(e) & np.uint64(1)).astype(bool)
        assert rows.any() and not (matrix[rows].sum(axis=0) % 2).any()
        met |= int(right[rows].sum() % 2) << e
    assert factors.reduced(right, np.zeros(-(-unknowns // 64), np.uint64)) == met


@given(st.integers(0, 1 << 30))
@settings(max_examples=30, deadline=None)
def test_the_solution_does_not_depend_on_the_order_of_the_rows(seed):
    """The pivots are those of the reduced echelon form: what editable models rely on."""
    rng = np.random.default_rng(seed)
    unknowns, count = int(rng.integers(2, 150)), int(rng.integers(1, 150))
    matrix = (rng.random((count, unknowns)) < 0.1).astype(np.uint8)
    right = (matrix @ rng.integers(0, 2, unknowns) % 2).astype(np.uint64)
    order, found = rng.permutation(count), []
    for rows, values in ((matrix, right), (matrix[order], right[order])):
        factors = factored(packed(rows), unknowns)
        reduced, solution = np.zeros((2, -(-unknowns // 64)), np.uint64)
        factors.reduced(values, reduced)
        factors.solution(reduced, solution)
        found.append((sorted(factors.pivots[: factors.rank].tolist()), solution.tolist()))
    assert found[0] == found[1]


@given(st.integers(0, 1 << 30), st.sampled_from([7, 65, 300]))
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_columns_changes_no_rank(seed, unknowns):
    """Blocks of rows that share few columns; any free unknowns complete to a solution."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, unknowns + 5))
    matrix = (rng.random((count, unknowns)) < 0.2).astype(np.uint8)
    group = rng.integers(0, 4, (count, 1)) == rng.integers(0, 5, (1, unknowns))
    matrix *= group
    order = rng.permutation(unknowns)
    factors = factored(packed(matrix), unknowns, order)
    assert factors.rank == factored(packed(matrix), unknowns).rank
    right = matrix @ rng.integers(0, 2, unknowns) % 2
    reduced, solution = np.zeros((2, -(-unknowns // 64)), np.uint64)
    assert factors.reduced(right.astype(np.uint64), reduced) == 0
    chosen = sorted(int(u) for u in factors.free if rng.integers(2))
    for unknown in chosen:
        solution[unknown >> 6] |= np.uint64(1) << np.uint64(unknown & 63)
    factors.solution(reduced, solution)
    bits = unpacked(solution, unknowns)
    assert sorted(u for u in factors.free.tolist() if bits[u]) == chosen
    assert (matrix @ bits.astype(np.int64) % 2 == right).all()
    # the pivots are those of the echelon form with the columns in this order
    plain = factored(packed(matrix[:, order]), unknowns)
    assert sorted(factors.free.tolist()) == sorted(order[plain.free].tolist())


def test_elimination_names_every_number_once_and_rows_stay_together():
    plan = FoldPlan(8, (4, 8), 3, 2, top=4, low=3)
    layout = plan.layout(plan.parts[1])
    order = layout.elimination.tolist()
    assert sorted(order) == list(range(plan.unknowns))
    # the larger table first: row 1 of every lane, then row 2
    rows = [[layout.cells(1, lane)[row - 1] for lane in range(3)] for row in range(1, 8)]
    assert order[:21] == [cell for row in rows for cell in row]
    assert order[-1] == layout.table_start[0] - 1


def test_tables_of_both_widths():
    """Four bits for few rows, eight for many, and rows longer than one tile."""
    rng = np.random.default_rng(0)
    for count, unknowns in ((40, 300), (700, 2300)):
        matrix = (rng.random((count, unknowns)) < 0.02).astype(np.uint8)
        secret = rng.integers(0, 2, unknowns)
        factors = factored(packed(matrix), unknowns)
        reduced, solution = np.zeros((2, -(-unknowns // 64)), np.uint64)
        right = matrix.astype(np.int64) @ secret % 2
        assert factors.reduced(right.astype(np.uint64), reduced) == 0
        factors.solution(reduced, solution)
        assert (matrix.astype(np.int64) @ unpacked(solution, unknowns) % 2 == right).all()
        # two equal rows with different right-hand sides
        twice = factored(packed(np.concatenate([matrix, matrix[:1]])), unknowns)
        assert twice.reduced(np.append(right, 1 - right[0]).astype(np.uint64), reduced) != 0


# --- quadratic forms


def test_common_zero_by_hand():
    # 1 + x + y, xy: zero at (1, 0) and (0, 1)
    linear = np.array([0b01, 0b01], np.uint64)
    square = np.array([[0, 0b10], [0b10, 0]], np.uint64)
    assert common_zero(np.uint64(0b01), linear, square) in (0b01, 0b10)
    # 1 + x + y, 1 + xy: (1, 1) gives 1 and 0, the others 0 or 1 and 1
    assert common_zero(np.uint64(0b11), linear, square) == -1


@given(st.integers(0, 1 << 30), st.integers(1, 7), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_common_zero_agrees_with_trying_all(seed, variables, forms):
    rng = np.random.default_rng(seed)
    constant = int(rng.integers(0, 1 << forms))
    linear = rng.integers(0, 1 << forms, variables).astype(np.uint64)
    square = np.triu(rng.integers(0, 1 << forms, (variables, variables)), 1).astype(np.uint64)
    square += square.T

    def value(point):
        total = constant
        for i in range(variables):
            if point >> i & 1:
                total ^= int(linear[i])
                for j in range(i):
                    total ^= int(square[i, j]) * (point >> j & 1)
        return total

    found = common_zero(np.uint64(constant), linear, square)
    zeros = [point for point in range(1 << variables) if value(point) == 0]
    assert found in zeros if zeros else found == -1


# --- the numbers


def problem(seed, columns, window, unknowns, loads_of, terms=9):
    """Contexts with random terms: as many in each column as asked for."""
    rng = np.random.default_rng(seed)
    column = np.repeat(np.arange(columns), loads_of)
    count = len(column)
    units = np.array([rng.permutation(unknowns)[:terms] for _ in range(count)], np.int32)
    units = np.where(rng.random(units.shape) < 0.4, ~units, units).astype(np.int32)
    starts = np.arange(count + 1) * units.shape[1]
    words = rng.integers(0, 1 << window, count).astype(np.uint64)
    lengths = rng.integers(1, window + 1, count)
    return column, Terms(starts.astype(np.int64), units.ravel()), words, lengths


def holds(numbers, columns, column, terms, words, lengths, window, lowest):
    """Every word, read from the sums as Python integers."""
    for i in range(len(column)):
        units = terms.units[terms.starts[i] : terms.starts[i + 1]].tolist()
        total = sum(numbers[u] if u >= 0 else -numbers[~u] for u in units)
        total = total if lowest else 2 * total
        for digit in range(int(lengths[i])):
            place = columns + window - 1 - int(column[i]) - digit
            bit = (total >> place ^ total >> (place - 1)) & 1
            if bit != int(words[i]) >> (window - 1 - digit) & 1:
                return False
    return True


@given(st.integers(0, 1 << 30), st.sampled_from([1, 2, 5]), st.sampled_from([3, 70, 150]))
@settings(max_examples=25, deadline=None)
def test_every_word_is_in_the_sums(seed, window, columns):
    unknowns = 40
    parts = problem(seed, columns, window, unknowns, max(1, 36 // window))
    found = solve(System(columns, *parts, window, lowest=True), unknowns)
    assert found is not None
    assert holds(found, columns, *parts, window, True)
    assert all(0 <= x < 1 << (columns + window) for x in found)


def test_full_positions_use_what_is_free_below(monkeypatch):
    """Every other column has more contexts than there are numbers."""
    unknowns, columns = 60, 40
    full = np.tile([68, 44], columns // 2)
    parts = problem(1, columns, 1, unknowns, full)
    system = System(columns, *parts, 1, lowest=True)
    found = solve(system, unknowns)
    assert found is not None and len(found) == unknowns
    assert holds(found, columns, *parts, 1, True)
    # with all free unknowns 0 there is no solution
    assert solve(system, unknowns, canonical=True) is None
    monkeypatch.setattr(solving.Search, "_changed", lambda *_: False)
    assert solve(system, unknowns, patience=Patience(returns=0)) is None


def test_patience_solves_fuller_positions():
    """Every position is full: only going back often finds a solution."""
    unknowns, columns, found = 12, 5, []
    for seed in range(12):
        parts = problem(seed, columns, 1, unknowns, np.full(columns, 13), terms=6)
        system = System(columns, *parts, 1, lowest=True)
        hasty = solve(system, unknowns, patience=Patience(returns=0, missing=0))
        patient = solve(system, unknowns, patience=Patience(400, 400, 16, 12))
        assert patient is None or holds(patient, columns, *parts, 1, True)
        found.append((hasty is not None, patient is not None))
    assert (False, True) in found and (True, False) not in found


def as_terms(rows):
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Terms(starts, np.array([u for row in rows for u in row], np.int32))


def test_expected_trials_by_hand():
    def expect(rows, columns, column):
        count = len(rows)
        words, ones = np.zeros(count, np.uint64), np.ones(count, np.int64)
        system = System(columns, np.array(column), as_terms(rows), words, ones, 1)
        return expected_trials(system, 2)

    assert expect([[0], [1]], 1, [0, 0]) == 0.0  # the first try
    assert expect([[0], [1], [0, 1]], 1, [0, 0, 0]) == 1.0  # one of two right-hand sides
    # two positions, the lower one (column 1) with a free unknown: one and two tries
    assert expect([[0], [0, 1], [1], [0]], 2, [0, 0, 0, 1]) == pytest.approx(np.log2(3))
    # there is but one number that matters, and four right-hand sides for its two bits
    assert expect([[0]] * 4, 1, [0] * 4) == np.inf


def test_numbers_come_in_where_there_is_no_solution():
    unknowns, columns = 60, 12
    parts = problem(2, columns, 1, unknowns, np.full(columns, 52))
    column, terms, words, lengths = parts
    assert solve(System(columns, *parts, 1, lowest=True), 40) is None
    for order in (None, np.random.default_rng(0).permutation(unknowns)):
        system = System(columns, *parts, 1, lowest=True, elimination=order)
        found = solve(system, 40, most=unknowns)
        assert found is not None and 40 < len(found) <= unknowns
        padded = found + [0] * (unknowns - len(found))
        assert holds(padded, columns, *parts, 1, True)


def test_the_number_of_threads_does_not_matter(monkeypatch):
    unknowns, columns = 60, 40
    parts = problem(3, columns, 2, unknowns, np.tile([44, 25], columns // 2))
    found = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(solving.os, "cpu_count", lambda cores=cores: cores)
        monkeypatch.setattr(solving, "THREADED", 1)
        found.append(solve(System(columns, *parts, 2, lowest=True), unknowns))
    assert found[0] is not None and found[0] == found[1] == found[2]


@pytest.mark.parametrize("position", [64, 100, 129, 190])
@pytest.mark.parametrize("low", ["ones", "zeros", "one"])
def test_carries_from_far_below(position, low):
    """Bits below the last 63 that are all 1 or all 0: every carry runs through all of them."""
    rng = np.random.default_rng(position)
    unknowns = 12
    below = {"ones": (1 << position) - 1, "zeros": 0, "one": 1}[low]
    numbers = [below] * unknowns
    units = np.array([rng.permutation(unknowns)[:7] for _ in range(200)], np.int32)
    units = np.where(rng.random(units.shape) < 0.5, ~units, units).astype(np.int32)
    terms = Terms(np.arange(201) * 7, units.ravel())
    words = np.zeros(200, np.uint64)
    system = System(position + 1, np.zeros(200, np.int64), terms, words, np.ones(200), 1)
    search = solving.Search(system, unknowns, unknowns)
    for u, number in enumerate(numbers):
        for limb in range(search.numbers.shape[1]):
            search.numbers[u, limb] = number >> (64 * limb) & (2**64 - 1)
        search.recent[u] = number >> max(0, position - 63)
    right = search._right(position, system.factors(position, unknowns))
    sums = [sum(numbers[u] if u >= 0 else -numbers[~u] for u in row) for row in units.tolist()]
    assert right.tolist() == [(s >> position ^ s >> (position - 1)) & 1 for s in sums]


@given(st.integers(0, 1 << 30), st.sampled_from([3, 64, 90]))
@settings(max_examples=40, deadline=None)
def test_forms_say_what_a_change_below_does(seed, position):
    """Any directions taken together, against the right-hand sides of the changed numbers."""
    rng = np.random.default_rng(seed)
    unknowns, contexts = 70, 30
    units = np.array([rng.permutation(unknowns)[:9] for _ in range(contexts)], np.int32)
    units = np.where(rng.random(units.shape) < 0.5, ~units, units).astype(np.int32)
    wanted = rng.integers(0, 2, contexts).astype(np.uint64)
    system = System(
        position + 1,
        np.zeros(contexts, np.int64),
        Terms(np.arange(contexts + 1) * 9, units.ravel()),
        wanted,
        np.ones(contexts, np.int64),
        1,
    )
    search = solving.Search(system, unknowns, unknowns)
    for place in range(position):
        bits = packed(rng.integers(0, 2, (1, unknowns)).astype(np.uint8))[0]
        solving._append(search.numbers, search.recent, place, bits)
    directions = packed((rng.random((11, unknowns)) < 0.3).astype(np.uint8))
    circuits = rng.integers(0, 1 << 6, contexts).astype(np.uint64)

    def met():
        right = np.zeros(contexts, np.uint64)
        solving._right(*search._equations(position), right)
        return int(np.bitwise_xor.reduce(circuits[right == 1], initial=np.uint64(0)))

    constant, linear, square = solving._forms(*search._equations(position), directions, circuits)
    assert met() == constant
    assert (square == square.T).all()
    for _ in range(10):
        chosen = np.flatnonzero(rng.integers(0, 2, 11))
        for i in chosen:
            solving._flip(search.numbers, search.recent, position - 1, directions[i])
        pairs = [square[i, j] for i in chosen for j in chosen if j < i]
        assert met() == int(constant) ^ int(np.bitwise_xor.reduce([*linear[chosen], *pairs, ZERO]))
        for i in chosen:
            solving._flip(search.numbers, search.recent, position - 1, directions[i])


# --- balance


def test_required_by_hand():
    # a hundred equal positions: no fewer numbers than equations, up to what can be searched for
    even = required(np.full(100, 100))
    assert 100 <= even <= 105
    # one position with 15 more, above one with 40 fewer
    assert required(np.array([*[90] * 20, 115, 60, *[90] * 20])) < 108
    # the same two the other way round: nothing is free below the full one
    assert required(np.array([*[90] * 20, 60, 115, 115, *[90] * 20])) >= 111
    # too full for any search
    assert required(np.array([90, 190, 20])) >= 190 - 26


def test_equations_for_many_layouts_at_once():
    rng = np.random.default_rng(0)
    shift, lengths = rng.integers(0, 6, (4, 50)), rng.integers(1, 4, 50)
    table = np.zeros((6, 3, 4), np.int64)
    for layout, column in product(range(4), range(50)):
        table[shift[layout, column], lengths[column] - 1, layout] += 1
    together = equations(table)
    for layout in range(4):
        assert together[:, layout].tolist() == loads(shift[layout], lengths, 6, 3).tolist()


@pytest.mark.parametrize("columns", [8, 12])
def test_a_pass_judges_every_place(columns):
    plan = FoldPlan(columns, (4, 4), 3, 2, top=4, low=3)
    rng, pick = np.random.default_rng(0), random.Random(0)
    hashes = plan.read(rng.integers(0, plan.top_value, 3000))
    lengths = rng.integers(1, 3, 3000)
    layout, numbers = climb(plan, hashes, (lengths, 2, 0.0), 12, pick)
    assert sorted(map(repr, layout.folds)) == sorted(map(repr, plan.folds))
    counts = loads(layout.column_of(hashes), lengths, columns, 2)
    assert numbers == required(counts)
    # the counts of a layout, and of all layouts in which its last column fold has moved
    uses = [(t, f.weight) for t, f in enumerate(layout.folds[::-1]) if f.role == "column"]
    fixed = [use for use in uses if use[0] >= len(plan.parts[1])]
    (place, weight), *others = [use for use in uses if use not in fixed]
    contexts = Counts(columns, hashes, (lengths, 2, 0.0), fixed)
    assert (equations(contexts.table([(place, weight), *others])[::-1]) == counts).all()
    scores = contexts.moved(others, weight)
    for free in set(range(len(plan.parts[1]))) - {p for p, _ in others}:
        table = contexts.table([(free, weight), *others])
        moved = equations(table[::-1])
        steepness = 0.3 * moved.mean() ** 0.5
        assert np.isclose(scores[free], np.exp((moved - moved.mean()) / steepness).sum())


def test_poor_folds_are_left_to_data():
    """The last fold never fires: as a digit of a row it would leave half of a table unread."""
    plan = FoldPlan(4, (4, 4), 5, 3, top=3, low=2)
    rest = sorted(plan.parts[1], key=lambda fold: fold.role == "data")
    data_last, row_last = plan.layout(rest), plan.layout(rest[::-1])
    assert row_last.folds[-1].role == "row"
    count = 4 * plan.unknowns
    bits = np.random.default_rng(0).integers(0, 1 << len(plan.folds), count).astype(np.uint64)
    bits &= ~np.uint64(1)
    # the same columns in both, as in the layouts that are compared
    moved = [*row_last.folds]
    columns = [t for t, fold in enumerate(data_last.folds) if fold.role == "column"]
    others = iter(fold for fold in moved if fold.role != "column")
    folds = [data_last.folds[t] if t in columns else next(others) for t in range(len(moved))]
    row_last = replace(row_last, folds=tuple(folds))
    assert (row_last.column_of(bits) == data_last.column_of(bits)).all()
    assert row_last.folds[-1].role == "row" and data_last.folds[-1].role == "data"
    for layouts in ([row_last, data_last], [data_last, row_last]):
        assert _most_independent(layouts, bits) is data_last


# --- hashes that meet


@given(
    st.integers(0, 1 << 30), st.sampled_from([1, 3, 40, 3000]), st.sampled_from([8, 1000, 1 << 60])
)
@settings(max_examples=60, deadline=None)
def test_conflicts_agree_with_sorting_all(seed, count, top):
    rng = np.random.default_rng(seed)
    hashes, labels = rng.integers(0, top, count), rng.integers(0, 3, count)
    order = np.argsort(hashes, kind="stable")
    pairs = zip(order, order[1:], strict=False)
    wanted = sum(hashes[i] == hashes[j] and labels[i] != labels[j] for i, j in pairs)
    assert conflicts(hashes, labels) == wanted


def test_sums_by_hand():
    # two sequences of three columns; the second one is a context twice, with another own column
    indices = np.array([[0, 1, 1], [2, 0, 1]], np.int32)
    which, phi = np.array([0, 1, 1]), np.array([1, 10, 100])
    own = Sums(indices, which, np.array([1, 1, 0]), 7, True)
    assert own(phi).tolist() == [2 * 21 + 10, 2 * 111 + 10, 2 * 111 + 1]
    # column 2 stands for no column
    alone = Sums(indices, which, None, 3, False)
    assert alone(phi[:2]).tolist() == [21, 11, 11]


def test_small_terms_are_the_same(monkeypatch):
    plan = FoldPlan(8, (4, 4), 3, 2, top=4, low=3)
    hashes = plan.read(np.random.default_rng(0).integers(0, plan.top_value, 1000))
    layout = plan.layout(plan.parts[1])
    alone = layout.terms(hashes)
    monkeypatch.setattr(solving, "MANY", 1000)
    parts = layout.terms(hashes)
    assert (alone.units.dtype, parts.units.dtype) == (np.int32, np.int16)
    assert parts.starts.tolist() == alone.starts.tolist()
    assert parts.units.tolist() == alone.units.tolist()
