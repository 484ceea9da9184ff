"""What all encoders share: merging, measuring, the best of them, and the sweep."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.encoder import encoder
from byheart.constructions.base import parse_header
from byheart.data.load import from_rows
from byheart.encoders import (
    best,
    candidates,
    circle_encoder,
    exact_encoder,
    look_up_encoder,
    optimal_encoder,
)
from byheart.encoders.curve import steps, sweep
from byheart.encoders.encoder import divergences, measured, merged
from byheart.errors import AssumptionError, ByheartError

GAP = 1e-9
quick = settings(max_examples=50, deadline=None)
MODULES = [sys.modules[f"byheart.encoders.{x}"] for x in ("circle", "exact", "look_up", "optimal")]


@st.composite
def counts(draw, tokens=6, contexts=8):
    shape = draw(st.integers(1, contexts)), draw(st.integers(2, tokens))
    rows = draw(
        st.lists(
            st.lists(st.integers(0, 5), min_size=shape[1], max_size=shape[1]).filter(any),
            min_size=shape[0],
            max_size=shape[0],
        )
    )
    return np.array(rows)


def test_equal_distributions_are_one(table):
    rows = merged(table([[1, 3, 0], [0, 1, 0], [2, 6, 0], [0, 5, 0], [3, 1, 0]]))
    assert rows.group.tolist() == [0, 1, 0, 1, 2]
    assert rows.targets.counts.tolist() == [3, 9, 6, 3, 1]
    assert rows.targets.tokens.tolist() == [0, 1, 1]
    assert rows.likeliest.tolist() == [1, 1, 0]
    assert rows.share.tolist() == pytest.approx([12 / 22, 6 / 22, 4 / 22])


def test_of_equally_likely_tokens_the_first(table):
    assert merged(table([[0, 2, 2], [1, 0, 1]])).likeliest.tolist() == [1, 0]


@quick
@given(counts())
def test_merging_keeps_all_that_was_seen(table, values):
    targets = table(values)
    rows = merged(targets)
    total = np.zeros((len(rows.targets), values.shape[1]), int)
    np.add.at(total, rows.group, values)
    assert (table(total).counts == rows.targets.counts).all()
    assert len({tuple(row / row.sum()) for row in total}) == len(total)


@quick
@given(counts(), st.integers(0, 9))
def test_divergences_are_those_of_the_definition(table, kullback, values, seed):
    random = np.random.default_rng(seed)
    targets = table(values)
    rows = merged(targets)
    w = random.normal(0, 2, (values.shape[1], 3))
    e = random.normal(0, 2, (len(rows.targets), 3))
    encoder = measured("any", w, e, rows, False)
    found = kullback(values, encoder)
    assert encoder.embeddings.shape == (len(targets), 3)
    assert encoder.divergence == pytest.approx(np.average(found, weights=values.sum(1)), abs=1e-13)
    assert encoder.largest == pytest.approx(found.max(), abs=1e-13)


def test_a_divergence_beyond_the_softmax_is_a_number(table):
    # logits 0 and 5000: KL = 0.5 log 0.5 + 0.5 (log 0.5 + 5000)
    w, e = np.array([[0.0], [5000.0]]), np.ones((2, 1))
    found = divergences(w, e, table([[1, 1], [3, 0]]))
    assert found.tolist() == pytest.approx([2500 - np.log(2), 5000])


# --- best


@settings(max_examples=12, deadline=None)
@given(counts(tokens=5, contexts=6), st.integers(1, 5))
def test_best_is_at_least_as_good_as_its_parts(table, values, dimension):
    targets = table(values)
    found = best(targets, dimension, GAP)
    for part in (circle_encoder, look_up_encoder, optimal_encoder):
        try:
            other = part(targets, dimension, GAP)
        except AssumptionError:
            continue
        # a closed form is taken without asking the others: it is within the gap of 0
        assert found.divergence <= other.divergence + (GAP if found.exact else 0)
    assert not found.exact or found.largest <= GAP


def test_closed_forms_come_first(table):
    several, one = [[1, 2, 3], [3, 2, 1], [1, 1, 0]], [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 1]]
    assert best(table(several), 2, GAP).name == "exact"
    assert best(table(several), 1, GAP).name == "optimal"
    assert best(table(one), 2, GAP).name == "circle"
    five = table(np.eye(5, 6, dtype=int))
    assert best(five, 3, GAP).name == "sphere" and best(five, 5, GAP).name == "exact"
    names = [e.name for e in candidates(table(np.eye(4) + 1), 2, GAP)]
    assert names == ["look-up, eq. (6)", "look-up", "optimal"]


def test_one_seed_one_encoder(table):
    values = np.random.default_rng(3).integers(0, 4, (9, 7)) + np.eye(9, 7, dtype=int)
    for part in (look_up_encoder, optimal_encoder, best):
        one, two = part(table(values), 3, GAP, 5), part(table(values), 3, GAP, 5)
        assert (one.embeddings == two.embeddings).all()
        assert (one.unembedding == two.unembedding).all()
    sphere = circle_encoder(table(np.eye(9, dtype=int)), 3, GAP, 5)
    again = circle_encoder(table(np.eye(9, dtype=int)), 3, GAP, 5)
    assert (sphere.unembedding == again.unembedding).all()
    other = circle_encoder(table(np.eye(9, dtype=int)), 3, GAP, 6)
    assert (sphere.unembedding != other.unembedding).any()


# --- the sweep


def test_more_dimensions_are_never_worse(table):
    """By itself the optimiser may miss what it found with less room; a sweep keeps it."""
    random = np.random.default_rng(1)
    targets = table(random.integers(0, 6, (20, 8)) + np.eye(20, 8, dtype=int))
    rows = list(sweep(targets, [7, 1, 3, 5], GAP))
    assert [row.dimension for row in rows] == [1, 3, 5, 7]
    values = [row.divergence for row in rows]
    assert values == sorted(values, reverse=True)
    alone = [best(targets, d, GAP).divergence for d in (1, 3, 5)]
    assert all(b <= 1.05 * a for a, b in zip(alone, alone[1:], strict=False))  # what it may miss
    assert [row.exact for row in rows] == [False] * 3 + [True] and values[-1] <= GAP
    assert all(min(row.tried.values()) == row.divergence for row in rows)


def test_a_worse_find_gives_way_to_a_smaller_encoder(table, monkeypatch):
    targets = table(np.random.default_rng(0).integers(1, 9, (9, 6)))
    module = sys.modules["byheart.encoders.curve"]
    small = best(targets, 2, GAP)
    monkeypatch.setattr(module, "candidates", lambda rows, d, *_: [look_up_encoder(rows, d, GAP)])
    monkeypatch.setattr(module, "nearest", lambda tried: small if len(tried) == 1 else tried[1])
    rows = list(sweep(targets, [2, 3], GAP))
    assert rows[1].encoder == f"{small.name}, dimension 2"
    assert rows[1].divergence == small.divergence


def test_padding_changes_nothing(table):
    targets = table([[1, 2, 3, 1], [3, 1, 1, 2], [2, 2, 1, 4]])
    small = look_up_encoder(targets, 2, GAP)
    large = small.padded(5)
    assert large.unembedding.shape == (4, 5) and large.embeddings.shape == (3, 5)
    same = divergences(large.unembedding, large.embeddings, targets)
    assert same.tolist() == pytest.approx(
        divergences(small.unembedding, small.embeddings, targets).tolist(), rel=1e-12
    )
    assert large.padded(6).name == large.name == "look-up, dimension 2"


def test_steps_end_where_nothing_is_lost(table):
    assert steps(table([[1, 2], [2, 1]])) == [1]
    assert steps(table([[1, 2, 3], [2, 1, 1], [1, 1, 1]])) == [1, 2]
    assert steps(table(np.eye(50, dtype=int) + 1)) == [2, 3, 6, 10, 17, 29, 49]
    assert steps(table(np.eye(3, 50, dtype=int) + 1)) == [2, 3]  # three distributions
    assert steps(table(np.eye(400, dtype=int) + 1))[-1] == 256


# --- the curve of a dataset


def test_the_curve_says_what_the_sweep_found():
    data = from_rows([([f"<k{i % 5}>"], f"v{(i * i + i // 5) % 6}") for i in range(40)])
    curve = encoder(data, [5, 2], GAP)
    assert (curve.sequences, curve.contexts, curve.vocabulary, curve.length) == (40, 5, 11, 1)
    assert [point.dimension for point in curve.points] == [2, 5]
    answer = curve.json()
    assert list(answer) == ["dataset", "entropy", "vanishing", "gap", "seed", "rows", "picture"]
    assert [row["divergence"] for row in answer["rows"]] == [x.divergence for x in curve.points]
    assert json.loads(json.dumps(answer)) == answer
    assert repr(curve).count("\n") == 3 and "upper bound" in repr(curve)
    assert curve._repr_html_().count("<tr>") == 3
    named = replace(curve, points=(replace(curve.points[0], encoder="<b>&"),))
    assert "&lt;b&gt;&amp;" in named._repr_html_() and "<b>" not in named._repr_html_()


@pytest.mark.parametrize("gap", [0, -1, 11, float("nan"), float("inf")])
def test_gaps_out_of_range(gap):
    with pytest.raises(ByheartError, match="gap must be a number of nats from 1e-15"):
        encoder(from_rows([(["a"], "x"), (["b"], "y")]), gap=gap)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([([[0.5, 1.0], [2.0, 3.0]], 1), ([[1.5, 1.0]], 2)], "words or integers"),
        ([(["a", "b"], ["x", "y"]), (["b"], ["y"])], "every token has a label"),
    ],
)
def test_data_without_distributions(rows, message):
    with pytest.raises(AssumptionError, match=message):
        encoder(from_rows(rows))


# --- refusals and headers


@pytest.mark.parametrize(
    "part", [circle_encoder, look_up_encoder, optimal_encoder, best, exact_encoder]
)
def test_bad_input(table, part):
    with pytest.raises(AssumptionError, match="1 or more, not 0"):
        part(table([[1, 0], [0, 1]]), 0, GAP)
    with pytest.raises(AssumptionError, match="two different tokens"):
        part(table([[1], [2]]), 2, GAP)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_headers_are_complete(module):
    header = parse_header(module.__doc__)
    assert header.paper == "dana2024" and header.summary.endswith(".")
    assert header.assumptions.startswith("A1") and header.guarantee.startswith("G1")
    assert header.departures.startswith("D1")
