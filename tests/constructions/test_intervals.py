"""A frequent label has an interval for its word: solver, networks of both forms, locate, notes."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile, compile_folder
from byheart.api.locate import locate
from byheart.constructions.retrieval.problem import label_code
from byheart.constructions.retrieval.solve import System, Terms, solve
from byheart.data.load import from_rows

DEFAULT = "the default answer: no parameter holds it alone"


def rows(count, shares, seed=0, words=100):
    """Random sequences of four words; label i has its share of them."""
    pick, found = random.Random(seed), {}
    while len(found) < count:
        found[tuple(f"w{pick.randrange(words)}" for _ in range(4))] = None
    names = [f"label {i}" for i in range(len(shares))]
    return [(list(x), pick.choices(names, shares)[0]) for x in found]


# --- the code


@pytest.mark.parametrize("objective", ["nonzero", "bits"])
def test_the_longest_interval_that_pays(objective):
    ones = [
        label_code([10_000 - rare, rare], 0, objective, True).interval
        for rare in (5000, 3400, 3000, 1000, 100)
    ]
    assert ones[:2] == [0, 0]  # more than a third: a bit each
    assert 2 <= ones[2] < ones[3] < ones[4]
    assert label_code([9900, 100], 8, objective, True).interval == 0  # with a fingerprint
    assert label_code([9900, 100], 0, objective).interval == 0  # where all labels are to be met


# --- the solver


@given(st.integers(0, 1 << 30), st.sampled_from([2, 4, 7]), st.sampled_from([3, 20, 90]))
@settings(max_examples=25, deadline=None)
def test_no_frequent_context_reads_ones_alone(seed, ones, columns):
    rng = np.random.default_rng(seed)
    unknowns, window, each = 60, ones + 1, 30
    column = np.repeat(np.arange(columns), each)
    units = np.array([rng.permutation(unknowns)[:9] for _ in column], np.int32)
    units = np.where(rng.random(units.shape) < 0.4, ~units, units).astype(np.int32)
    terms = Terms(np.arange(len(column) + 1) * 9, units.ravel())
    rare = rng.random(len(column)) < 0.1
    # words of c ones and a last digit, Gray coded; 0 for the others
    plain = np.where(rare, (1 << window) - 1 - rng.integers(0, 2, len(column)), 0).astype(np.uint64)
    lengths = np.where(rare, window, 0)
    gray = plain ^ plain >> np.uint64(1)
    system = System(columns, column, terms, gray, lengths, window, True, interval=ones)
    numbers = solve(system, unknowns)
    assert numbers is not None
    forced = 0
    for i in range(len(column)):
        total = sum(numbers[u] if u >= 0 else -numbers[~u] for u in units[i].tolist())
        bits = [total >> (columns + window - 1 - int(column[i]) - j) & 1 for j in range(window + 1)]
        word = [bits[0] ^ bit for bit in bits[1:]]
        if rare[i]:
            assert word == [int(plain[i]) >> window - 1 - j & 1 for j in range(window)]
        else:
            assert not all(word[:ones])
            forced += not any(word[:ones])
    expected = (~rare).sum() * 2.0 ** (1 - ones)
    assert abs(forced - expected) < 6 * expected**0.5 + 6  # as many equations as the code promises


# --- networks

CASES = {
    "readers": (700, [0.95, 0.05], {}),
    "readers, three labels": (700, [0.9, 0.06, 0.04], {}),
    "tables": (6000, [0.97, 0.03], {}),
    "tables, many labels": (6000, [0.9, *[0.1 / 20] * 20], {}),
    "one index lane": (700, [0.95, 0.05], {"minimise": "dense"}),
    "bits": (700, [0.95, 0.05], {"minimise": "bits"}),
    "hard attention": (700, [0.95, 0.05], {"attention": "hard"}),
    "few": (12, [0.9, 0.1], {}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_checker_agrees(name, checker, tmp_path):
    count, shares, options = CASES[name]
    dataset = from_rows(rows(count, shares))
    model = compile(dataset, **options)
    assert model.verification.evidence == "proved" and model.verification.holds
    model.save(tmp_path / "model", data=dataset)
    assert checker.failures(tmp_path / "model", tmp_path / "model" / "data.jsonl") == []


@pytest.mark.parametrize("count", [700, 6000])
def test_a_rare_label_needs_a_small_network(count):
    """A seventh of the information: about half of the parameters, and less of the bits."""
    rare, fair = (
        compile(from_rows(rows(count, shares))).record for shares in ([0.98, 0.02], [0.5, 0.5])
    )
    assert rare.parameters.nonzero < 0.6 * fair.parameters.nonzero
    assert rare.bits.total < 0.5 * fair.bits.total


def test_a_high_effort_surveys_hashes_of_many_contexts():
    data = from_rows(rows(6000, [0.99, 0.01]))
    normal, high = (compile(data, effort=effort) for effort in ("normal", "high"))
    assert high.record.parameters.nonzero < normal.record.parameters.nonzero
    assert high.verification.holds


@pytest.mark.parametrize("count", [700, 6000])
def test_locate_names_default_answers(count):
    """One frequent context in 2**(c - 1) has an equation, every rare one has some."""
    items = rows(count, [0.9, 0.1])
    model = compile(from_rows(items))
    notes = [
        (label, locate(model, tokens).location.note == DEFAULT) for tokens, label in items[:80]
    ]
    frequent = [default for label, default in notes if label == "label 0"]
    assert not any(default for label, default in notes if label == "label 1")
    assert 0.5 < sum(frequent) / len(frequent) < 1
    fair = rows(count, [0.5, 0.5])
    held = compile(from_rows(fair))
    assert all(locate(held, tokens).location.note != DEFAULT for tokens, _ in fair[:4])


@pytest.mark.parametrize("option", [{"editable": True}, {"reject_unknown": 6}])
def test_options_that_keep_an_equation_each_say_so(option, tmp_path):
    items = rows(300, [0.95, 0.05])
    (name,) = option
    told = compile_folder(from_rows(items), tmp_path / "model", **option).reading_notes
    assert any(f"{name}={option[name]}" in note and "bits of its own" in note for note in told)
    fair = compile_folder(from_rows(rows(100, [0.5, 0.5])), tmp_path / "fair", **option)
    assert not any("bits of its own" in note for note in fair.reading_notes)
