"""Sweeps: a bisection finds the smallest, in few trials, from whatever rows are there."""

import json
from dataclasses import replace
from math import ceil, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import ByheartError
from byheart.lab.protocol import protocol
from byheart.lab.sweeps import axes
from byheart.lab.sweeps.sweep import Sweep
from byheart.lab.trial import Criterion

FAST = protocol("madden2024", "fast")
increasing = st.lists(st.integers(1, 500), min_size=1, max_size=40, unique=True).map(
    lambda found: tuple(sorted(found))
)


def sweep(values=(4, 8, 16), sequences=(), seeds=1, find=False, architecture="madden2024", **given):
    other = (("sequences", tuple(sequences)),) if sequences else ()
    name = {"madden2024": "neurons", "dana2024": "heads"}[architecture]
    given = {"sizes": {}, "data": {"sha256": "x", "sequences": 1000}, **given}
    return Sweep(
        architecture, axes=(*other, (name, tuple(values))), protocol=FAST,
        criterion=Criterion("gap", 0.01), seeds=seeds, find=find, **given,
    )  # fmt: skip


def answer(question, outcome, rows=None, order=lambda wanted: wanted[0]):
    """Run trials one at a time until nothing is wanted; `outcome` says whether one memorises."""
    rows = dict(rows or {})
    limit = len(question.trials())
    ran = []
    while wanted := question.wanted(rows):
        trial = order(wanted)
        assert trial.key not in rows
        ran.append(trial)
        assert len(ran) <= limit, "it runs more trials than there are"
        rows[trial.key] = {"reached": outcome(trial)}
    return rows, ran


def smallest(question, rows, seed=0):
    value = [
        trial.sizes["neurons"]
        for trial in question.trials()
        if trial.seed == seed and trial.key in rows and rows[trial.key]["reached"]
    ]
    return min(value, default=None)


@given(increasing, st.integers(0, 501), st.integers(1, 3))
def test_a_bisection_finds_the_smallest_in_few_trials(values, threshold, seeds):
    question = sweep(values, seeds=seeds, find=True)
    rows, ran = answer(question, lambda trial: trial.sizes["neurons"] >= threshold + trial.seed)
    for seed in range(seeds):
        expected = min((v for v in values if v >= threshold + seed), default=None)
        assert smallest(question, rows, seed) == expected
        count = sum(trial.seed == seed for trial in ran)
        assert count <= ceil(log2(len(values) + 1))


@given(increasing, st.integers(0, 501))
def test_what_it_finds_is_bracketed(values, threshold):
    """The value before the smallest was tried in vain; without a smallest, the largest was."""
    question = sweep(values, find=True)
    rows, ran = answer(question, lambda trial: trial.sizes["neurons"] >= threshold)
    found = smallest(question, rows)
    before = values[-1] if found is None else max((v for v in values if v < found), default=None)
    tried = {trial.sizes["neurons"] for trial in ran}
    assert before is None or before in tried


@given(increasing, st.data())
def test_outcomes_that_are_not_monotone_end_in_as_few_trials(values, data):
    reached = {value: data.draw(st.booleans()) for value in values}
    question = sweep(values, find=True)
    rows, ran = answer(question, lambda trial: reached[trial.sizes["neurons"]])
    assert len(ran) <= ceil(log2(len(values) + 1))
    found = smallest(question, rows)
    assert reached[found] if found else not all(reached.values())


@settings(max_examples=50)
@given(increasing, st.sets(st.integers(1, 5), max_size=3), st.booleans(), st.data())
def test_it_resumes_from_any_subset_of_its_own_rows(values, sequences, find, data):
    """In whatever order the missing trials run, the rows become the same."""
    outcome = _arbitrary(data.draw(st.integers(0, 2**30)))
    question = sweep(values[:12], sorted(sequences), seeds=2, find=find)
    whole, _ = answer(question, outcome)
    kept = {key: row for key, row in whole.items() if data.draw(st.booleans())}
    place = data.draw(st.integers(0, 100))
    again, ran = answer(question, outcome, kept, lambda wanted: wanted[place % len(wanted)])
    assert again == whole
    assert {trial.key for trial in ran} == set(whole) - set(kept)


def _arbitrary(salt):
    """Outcomes without any order, the same for the same trial."""
    return lambda trial: (int(trial.key[:8], 16) & salt).bit_count() % 2 == 1


@settings(max_examples=25)
@given(increasing, st.integers(0, 501))
def test_the_total_only_shrinks_and_ends_as_what_was_done(values, threshold):
    question = sweep(values, (1, 2), seeds=2, find=True)
    rows, totals = {}, [question.total({})]
    assert totals[0] == 4 * ceil(log2(len(values) + 1))
    while wanted := question.wanted(rows):
        rows[wanted[0].key] = {"reached": wanted[0].sizes["neurons"] >= threshold}
        totals.append(question.total(rows))
        assert question.done(rows) == len(rows)
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] == len(rows)


def test_a_grid_wants_everything_in_order():
    question = sweep((4, 8), (10, 20), seeds=2)
    trials = question.trials()
    assert [(t.data["sequences"], t.sizes["neurons"], t.seed) for t in trials] == [
        (10, 4, 0), (10, 4, 1), (10, 8, 0), (10, 8, 1),
        (20, 4, 0), (20, 4, 1), (20, 8, 0), (20, 8, 1),
    ]  # fmt: skip
    assert question.wanted({}) == trials
    rows = {trials[3].key: {"reached": True}, "of another sweep": {"reached": False}}
    assert question.wanted(rows) == trials[:3] + trials[4:]
    assert (question.total(rows), question.done(rows)) == (8, 1)


@settings(max_examples=30)
@given(increasing, st.integers(1, 3))
def test_keys_are_unique_and_the_same_in_every_sweep_that_has_the_trial(values, seeds):
    question = sweep(values, (3, 5), seeds=seeds)
    keys = {trial.key for trial in question.trials()}
    assert len(keys) == len(values) * 2 * seeds
    larger = sweep((*values, 501), (3, 4, 5), seeds=seeds + 1, find=True)
    assert keys < {trial.key for trial in larger.trials()}
    one = sweep(values[:1], data={"sha256": "x", "sequences": 3})
    assert one.trials()[0].key in keys


def test_sizes_that_nobody_gave_are_those_of_the_papers():
    assert sweep().trials()[0].sizes == {"dimension": 16, "neurons": 4}
    heads = sweep((3,), architecture="dana2024")
    assert heads.trials()[0].sizes == {"dimension": 10, "heads": 3, "head_dimension": 10}
    given = replace(heads, sizes={"head_dimension": 2})
    assert given.trials()[0].sizes["head_dimension"] == 2
    both = replace(heads, axes=(("dimension", (4, 6)), *heads.axes))
    assert [trial.sizes["head_dimension"] for trial in both.trials()] == [4, 6]


def test_the_configuration_has_everything_but_the_rows():
    found = sweep((4, 8), (10,), seeds=2, find=True).json()
    assert found["sizes"] == {"dimension": 16}
    assert found["axes"] == [
        {"name": "sequences", "values": [10]},
        {"name": "neurons", "values": [4, 8], "find": True},
    ]
    assert found["protocol"]["name"] == "fast" and found["seeds"] == 2
    assert json.loads(json.dumps(found)) == found
    assert found["data"] == {"sha256": "x", "sequences": 1000}
    heads = sweep((3,), architecture="dana2024")
    both = replace(heads, axes=(("dimension", (4, 6)), *heads.axes))
    assert both.json()["sizes"] == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"axes": ()}, "no axis"),
        ({"axes": (("neurons", ()),)}, "must increase"),
        ({"axes": (("neurons", (0, 4)),)}, "must increase"),
        ({"axes": (("neurons", (4, 4)),)}, "must increase"),
        ({"axes": (("neurons", (4,)), ("neurons", (8,)))}, "given twice"),
        ({"sizes": {"neurons": 8}}, "fixed as well"),
        ({"seeds": 0}, "seeds must be 1 or more"),
        ({"axes": (("neurons", (4,)), ("sequences", (8,))), "find": True}, "cannot be the last"),
    ],
)
def test_impossible_sweeps(change, words):
    with pytest.raises(ByheartError, match=words):
        replace(sweep(), **change)


# --- as a person writes them


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("4,8,16", (4, 8, 16)),
        ("16, 4,8,4", (4, 8, 16)),
        ("1-5", (1, 2, 3, 4, 5)),
        ("4-40x2", (4, 8, 16, 32)),
        ("100-250+50,7", (7, 100, 150, 200, 250)),
        ("3-3x2", (3,)),
    ],
)
def test_values(text, values):
    assert axes.values(text) == values


@given(st.integers(1, 200), st.integers(0, 300), st.integers(1, 40), st.integers(2, 5))
def test_ranges_stay_within_their_ends(first, more, step, factor):
    last = first + more
    sums, products = axes.values(f"{first}-{last}+{step}"), axes.values(f"{first}-{last}x{factor}")
    assert sums == tuple(v for v in range(first, last + 1) if (v - first) % step == 0)
    assert products[0] == first and products[-1] <= last < products[-1] * factor


ALLOWED = "whole numbers from 1 to 999,999,999,999"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0", f"the axis width takes {ALLOWED}, not 0."),
        ("4,-1", f"the axis width takes {ALLOWED}, not -1."),
        ("0-8", f"the axis width takes {ALLOWED}, not 0."),
        ("1-9+0", f"the axis width takes {ALLOWED}, not 0."),
        ("4-8x0", f"the axis width takes {ALLOWED}, not 0."),
        ("1000000000000", f"the axis width takes {ALLOWED}, not 1000000000000."),
        ("9" * 9999, f"the axis width takes {ALLOWED}, not {'9' * 40}...."),
        ("5-4", "the axis width: the range 5-4 ends below its beginning."),
        ("4-8x1", "the axis width: the factor of the range 4-8x1 must be 2 or more."),
        *((text, "the axis width takes numbers and ranges such as 4,8,16 or 1-31 or 4-512x2, not ")
          for text in ("", ",", "a", "4,", "1.5", "4:8", "²", "4-8+", "--4", "x" * 9999)),
    ],
)  # fmt: skip
def test_values_that_are_none(text, words):
    with pytest.raises(ByheartError) as error:
        axes.values(text, "the axis width")
    said = str(error.value)
    assert said.startswith(words) and said.endswith(".") and len(said) < 150


def test_the_ends_of_what_is_allowed():
    assert axes.values("1,999999999999") == (1, 999_999_999_999)
    assert axes.values("0" * 9999 + "7") == (7,)


def test_an_axis_is_not_endless():
    with pytest.raises(ByheartError, match="the axis width has at most 10,000 values; '1-9"):
        axes.values("1-999999999999", "the axis width")
    assert len(axes.values("1-10000")) == 10_000


def named(texts):
    return axes.parsed(texts, "axis", "4,8,16")


def test_axes_of_an_architecture():
    assert axes.axes("madden2024", named(["width=8,4"])) == (("neurons", (4, 8)),)
    assert axes.axes("madden2024", {"width": [8, 4, 8]}) == (("neurons", (4, 8)),)
    assert axes.axes("dana2024-mlp", {"width": 4}) == (("width", (4,)),)
    found = axes.axes("dana2024", named(["head-dimension=4", "heads=1-3", "sequences=9"]))
    assert [name for name, _ in found] == ["sequences", "head_dimension", "heads"]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([], "must be a size of madden2024: dimension, neurons"),
        (["sequences=10"], "must be a size"),
        (["heads=4"], "has no axis 'heads'; it has dimension, neurons, sequences"),
        (["vocabulary=4"], "has no axis 'vocabulary'"),
        (["width"], "has no values"),
        (["width="], "has no values"),
        (["width=a"], "the axis width takes numbers and ranges .* not 'a'"),
        (["width =0"], f"the axis width takes {ALLOWED}, not 0"),
    ],
)
def test_impossible_axes(texts, words):
    with pytest.raises(ByheartError, match=words):
        axes.axes("madden2024", named(texts))


def test_fixed_sizes():
    assert axes.fixed("madden2024", {"width": 8, "dimension": "4"}) == {
        "neurons": 8,
        "dimension": 4,
    }
    for texts, words in (
        (["heads=4"], "has no size 'heads'"),
        (["sequences=4"], "has no size 'sequences'"),
        (["dimension=0"], f"the size dimension takes {ALLOWED}, not 0"),
        (["width=-1"], f"the size width takes {ALLOWED}, not -1"),
        (["dimension=" + "9" * 9999], f"the size dimension takes {ALLOWED}, not 999"),
        (["dimension=4.5"], f"the size dimension takes {ALLOWED}, not 4.5"),
        (["dimension"], "the size dimension has no values"),
        (["dimension=4", "dimension=5"], "twice"),
        (["width=4", "neurons=5"], "twice"),
    ):
        with pytest.raises(ByheartError, match=words):
            axes.fixed("madden2024", axes.parsed(texts, "size", "16"))


def test_sizes_that_are_missing():
    axes.check_complete("madden2024", {}, ["neurons"])
    axes.check_complete("dana2024", {}, ["heads"])
    axes.check_complete("kajitsuka2025", {}, ["layers"])  # coordinates may be left out
    axes.check_complete("kajitsuka2025", {}, ["layers", "coordinates"])
    with pytest.raises(ByheartError, match="dana2024 needs heads as well"):
        axes.check_complete("dana2024", {}, ["head_dimension"])
    with pytest.raises(ByheartError, match="madden2024 needs neurons as well"):
        axes.check_complete("madden2024", {}, ["dimension"])
