"""Two blocks of columns: the lemma, the solved numbers, and whole networks."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty import labelled

from byheart.compiler.compiling import compile
from byheart.constructions.hash_fold_retrieve import build as building
from byheart.constructions.hash_fold_retrieve import two_blocks as parting
from byheart.constructions.hash_fold_retrieve.balance import Counts
from byheart.constructions.hash_fold_retrieve.layout import SHARES, FoldPlan
from byheart.constructions.hash_fold_retrieve.plan import candidates
from byheart.constructions.retrieval import search as searching
from byheart.constructions.retrieval.plan import loads
from byheart.constructions.retrieval.problem import Task
from byheart.constructions.retrieval.solve import Terms
from byheart.data.load import from_rows
from byheart.gadgets.prefix_code import PrefixCode
from byheart.models.locating import with_value
from byheart.models.verification import verify

GATES = {"upper": -(1 << 200), "lower": 0}


def after(storage, value, block):
    """Lane v after the blocks of `part`, in plain fractions."""
    lanes = {"v": Fraction(value), "q": Fraction(GATES[block])}
    for layer in parting.part(storage):
        units = [
            max(Fraction(0), sum(lanes[lane] * w for lane, w in weights.items()) + bias)
            for weights, bias in layer.units
        ]
        for lane, unit, weight in layer.writes:
            lanes[lane] += units[unit] * weight
        for lane, constant in layer.constants.items():
            lanes[lane] += constant
    return lanes["v"]


def stored(unit, folded, lift, bare=0):
    one = Fraction(1)
    return parting.BlockStorage(None, (), 0, 1, Fraction(unit), one, 0, folded, lift, bare)


# --- the lemma


@pytest.mark.parametrize(
    ("above", "result"),
    [
        (0, 7),  # no fold fires
        (1, 5 - 7),  # fold 0: B becomes e_0 - B
        (3, -3 - 7),  # fold 1 leaves A = 0
        (2, 5 - (-3 - 7)),  # fold 1 leaves A = 1, then fold 0
    ],
)
def test_by_hand(above, result):
    """S = 64, e = (5, -3), B = 7: A goes, and B is reflected."""
    storage = stored(64, (5, -3), 128)
    assert after(storage, 64 * above + 7, "lower") == 64 * (result + 128) + 32
    assert after(storage, 64 * above + 7, "upper") == 64 * (above + 128) + 7 + 32


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_the_upper_sum_is_folded_away(data):
    """As the terms say: e_t if bits t and t + 1 of A differ, negative if bits t and 0 do."""
    folds = data.draw(st.integers(1, 12))
    size = data.draw(st.integers(folds + 3, folds + 9))
    unit = 1 << size
    numbers = st.integers(-unit // 4 // (folds + 2), unit // 4 // (folds + 2))
    folded = data.draw(st.lists(numbers, min_size=folds, max_size=folds))
    above, below = data.draw(st.integers(0, 2**folds - 1)), data.draw(numbers)
    lift = unit << data.draw(st.integers(0, 3))
    wanted = -below if above & 1 else below
    for t in range(folds):
        if above >> t & 1 != above >> (t + 1) & 1:
            wanted += folded[t] if above >> t & 1 == above & 1 else -folded[t]
    storage = stored(unit, folded, lift)
    if above or below > 0:  # relu(v + q) is v: the constant sees to it that A is positive
        lower = after(storage, above * unit + below, "lower")
        assert lower == unit * (wanted + lift) + Fraction(unit, 2)
    upper = after(storage, above * unit + below, "upper")
    assert upper == unit * (above + lift) + below + Fraction(unit, 2)


@pytest.mark.parametrize(
    ("above", "below"),
    [
        (1, 7),  # neither fires
        (3, -7),  # fold 1 leaves 4 - 3
        (5, 7),  # fold 2 leaves 8 - 5 = 3, fold 1 leaves 1
        (7, -7),  # fold 2 leaves 8 - 7
    ],
)
def test_folds_without_numbers_by_hand(above, below):
    """S = 64, B = 7: two folds leave A = 1 and B with some sign, then e_0 = 5."""
    storage = stored(64, (5,), 128, bare=2)
    assert after(storage, 64 * above + 7, "lower") == 64 * (5 - below + 128) + 32
    assert after(storage, 64 * above + 7, "upper") == 64 * (above + 128) + 7 + 32


@given(st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_what_folds_without_numbers_leave(seed):
    """By the network's blocks and by the kernel, which refuses sums that end in zeros."""
    pick = random.Random(seed)
    held = pick.randrange(1, 130)
    bare = pick.randrange(1, 70)
    sums = [pick.randrange(1 << held + bare) for _ in range(5)]
    words = -(-(held + bare) // 64)
    limbs = np.array([[x >> 64 * q & (1 << 64) - 1 for q in range(words)] for x in sums], np.uint64)
    left = limbs.copy()
    if any(x % (1 << held) == 0 for x in sums):
        assert not parting._nearest(limbs, held, left)
        return
    assert parting._nearest(limbs, held, left)
    unit = 1 << held + bare + 3
    storage = stored(unit, [0] * held, unit, bare)
    for x, row in zip(sums, left, strict=True):
        distance = min(x % (2 << held), -x % (2 << held))
        assert sum(int(limb) << 64 * q for q, limb in enumerate(row)) == distance
        sign = (-1) ** ((x >> held & 1) + (distance & 1))
        assert after(storage, x * unit + 3, "lower") == unit * (3 * sign + unit) + unit // 2


@given(st.integers(0, 1 << 30))
@settings(max_examples=30, deadline=None)
def test_sums_of_long_numbers(seed):
    pick = random.Random(seed)
    bits = pick.randrange(1, 200)
    numbers = [pick.getrandbits(bits) - (pick.random() < 0.3) * (1 << bits) for _ in range(20)]
    numbers[0] += 20 << bits
    units = [[0, *(pick.choice([u, ~u]) for u in pick.sample(range(1, 23), 6))] for _ in range(30)]
    terms = Terms(np.arange(31) * 7, np.array(units, np.int32).ravel())
    known = [*numbers, 0, 0, 0]  # those that are left out are 0
    sums = [sum(known[u] if u >= 0 else -known[~u] for u in row) for row in units]
    found = parting.upper_sums(terms, numbers, bits + 6)
    assert [int.from_bytes(row.tobytes(), "little") for row in found] == sums
    low, high = parting.extremes(terms, numbers, 1 << bits)
    assert low == pytest.approx(min(sums) / 2**bits) and high == pytest.approx(max(sums) / 2**bits)


# --- whole networks


@pytest.mark.parametrize("labels", [2, 5])
def test_every_label(labels, two_blocks, memorised, failures, predicted):
    pick = random.Random(labels)
    rows = labelled(([pick.randrange(30) for _ in range(4)] for _ in range(400)), labels)
    with two_blocks():
        model = memorised(rows)
    assert {"block gate", "block shift", "block fold"} <= {x.stage for x in model.network.layers}
    predicted(model)
    assert failures(model, rows) == []


@given(st.integers(0, 1 << 30))
@settings(max_examples=5, deadline=None)
def test_any_small_dataset(two_blocks, seed):
    pick = random.Random(seed)
    length, words = pick.randrange(1, 5), pick.randrange(20, 200)
    sequences = ([pick.randrange(words) for _ in range(length)] for _ in range(200))
    rows = labelled(sequences, pick.choice([2, 3, 5]))
    with two_blocks():
        model = compile(from_rows(rows), seed=seed)
    assert model.about["verification"].evidence == "proved"
    assert "block fold" in {layer.stage for layer in model.network.layers}


def test_a_changed_threshold_is_found(two_blocks):
    """Each fold between the blocks that fires holds data: other bits in it give other labels."""
    pick = random.Random(5)
    rows = labelled(([pick.randrange(30) for _ in range(4)] for _ in range(300)), 2)
    with two_blocks():
        model = compile(from_rows(rows))
    (shift,) = (layer for layer in model.network.layers if layer.stage == "block shift")
    unit = shift.tensors["W2"][0, 0] + 1
    folds = [p for p in model.network.parameters() if p.tensor == "b1"]
    folds = [p for p in folds if model.network.layers[p.layer].stage == "block fold"]
    for place in folds[len(folds) // 2 :]:  # the first ones hardly fire
        value = place.value.fraction + unit * (1 << pick.randrange(1, 3))
        network = with_value(model.network, place, value)
        assert verify(replace(model, network=network), from_rows(rows)).evidence == "refuted"


# --- the plans


def test_loads_of_two_blocks():
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 1 << 12, 3000).astype(np.uint64)
    lengths = rng.integers(1, 3, 3000)
    counts = Counts(8, hashes, lengths, 2, [(11, 8)], [5, 0])
    table = counts.table([(0, 1), (3, 2), (7, 4)])
    fired = sum(
        (hashes >> np.uint64(p) & np.uint64(1)) * np.uint64(w) for p, w in ((0, 1), (3, 2), (7, 4))
    )
    column, upper = 7 - fired.astype(np.int64), hashes >> np.uint64(11) & np.uint64(1) == 1
    found = counts._equations(table)
    for block, known in zip((~upper, upper), found, strict=True):
        assert (known == loads(column[block], lengths[block], 8, 2)).all()


@pytest.mark.parametrize("upper", [1500, 1900, 2047])
def test_the_share_of_the_upper_block(upper):
    """Of evenly spread hashes the block bit takes its share, and all folds lead to 0."""
    plan = FoldPlan(24, (4, 4), 5, 4, top=4, low=3, upper=upper, above=30)
    hashes = np.linspace(0, plan.top_value - 1, 50_001).astype(np.int64)
    layout = plan.layout(plan.parts[1])
    share = layout.upper_of(plan.read(hashes)).mean()
    assert share == pytest.approx(upper / SHARES, abs=1e-3)


def task(contexts, marks=0):
    return Task(contexts, contexts * (1 + marks), PrefixCode((1, 1)), 1, 2, marks, 17, "uniform")


def test_large_data_have_two_blocks():
    assert candidates(task(857_023), "nonzero", 0.41, 0, 0)[0].upper
    assert not any(plan.upper for plan in candidates(task(8_000), "nonzero", 0.29, 0, 0))


@pytest.mark.parametrize(
    ("marks", "objective"), [(8, "nonzero"), (0, "dense")], ids=["fingerprint", "dense"]
)
def test_what_excludes_two_blocks(marks, objective):
    assert not any(plan.upper for plan in candidates(task(100_000, marks), objective, 0.41, 0, 0))


def test_the_search_ends(two_blocks, monkeypatch):
    """A block without solution is a failure with its remedy, not an endless loop."""
    calls = []
    monkeypatch.setattr(parting, "solve", lambda *_, **__: calls.append(1))
    few = replace(searching.effort_for(300), attempts=120)
    monkeypatch.setattr(searching, "effort_for", lambda _: few)
    pick = random.Random(1)
    rows = labelled(([pick.randrange(30) for _ in range(4)] for _ in range(300)), 2)
    with two_blocks(), pytest.raises(building.ByheartError, match="no hash"):
        compile(from_rows(rows))
    assert 1 <= len(calls) <= 120
