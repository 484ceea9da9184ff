"""Statistics against counters and fractions, and by hand."""

import doctest
import json
import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.data import statistics
from byheart.data.contexts import contexts
from byheart.data.load import from_rows, load
from byheart.data.statistics import EPSILONS, count
from byheart.data.targets import targets
from byheart.errors import ByheartError

DATA = Path(__file__).parents[4] / "shared/data"

tables = st.lists(
    st.tuples(
        st.lists(st.sampled_from("ab"), max_size=3), st.sampled_from("xyz"), st.integers(1, 9)
    ),
    min_size=1,
    max_size=30,
).filter(lambda table: any(sequence for sequence, _, _ in table))


def test_by_hand():
    table = [(["a", "b"], "x", 3), (["a", "b"], "y", 1), (["b", "a"], "x", 4), (["c"], "z", 2)]
    answer = count(from_rows(table), epsilons=(0, 0.2, 0.25, 0.6, 1)).json()
    assert answer == {
        "sequences": 4,
        "tokens": 7,
        "contexts": 3,
        "multisets": 3,
        "vocabulary": 3,
        "labels": 3,
        "conflicts": {"contexts": 1, "sequences": 2, "multisets": 1},
        "best_accuracy": 0.9,
        "entropy": {
            "total": pytest.approx(3 * math.log(4 / 3) + math.log(4)),
            "per_token": pytest.approx((3 * math.log(4 / 3) + math.log(4)) / 10),
            # x 7 times, y once, z twice, of 10
            "labels": pytest.approx(7 * math.log(10 / 7) + math.log(10) + 2 * math.log(5)),
        },
        "separation": {"radius": 3.0, "distance": 1.0},
        # counts 4, 4, 2 of 10: 10, 8, 7.5, 4 and 0 must be reached
        "t_epsilon": [[0, 3], [0.2, 2], [0.25, 2], [0.6, 1], [1, 0]],
        "skipped": 0,
    }
    json.dumps(answer, allow_nan=False)


def test_a_label_a_token_by_hand():
    table = [(["a", "b"], ["x", "y"], 3), (["a", "b"], ["x", "x"], 1), (["b", "b"], ["z", "z"], 2)]
    answer = count(from_rows(table), epsilons=(0, 0.5)).json()
    assert (answer["sequences"], answer["tokens"], answer["labels"]) == (3, 6, 3)
    # ab: two places; bb: two places, or one token of one multiset
    assert (answer["contexts"], answer["multisets"]) == (4, 3)
    assert answer["conflicts"]["contexts"] == answer["conflicts"]["multisets"] == 1
    assert answer["best_accuracy"] == 11 / 12
    entropy = 3 * math.log(4 / 3) + math.log(4)
    assert answer["entropy"]["total"] == pytest.approx(entropy)
    assert answer["entropy"]["per_token"] == pytest.approx(entropy / 12)
    assert answer["t_epsilon"] == [[0, 4], [0.5, 2]]  # seen 4, 4, 2 and 2 times
    json.dumps(answer, allow_nan=False)


def by_context(table):
    labels = defaultdict(Counter)
    for sequence, label, times in table:
        labels[tuple(sequence)][label] += times
    return labels


@given(tables)
def test_entropy_and_best_accuracy(table):
    answer = count(from_rows(table)).json()
    labels, total = by_context(table).values(), sum(count for _, _, count in table)
    entropy = -sum(
        n * math.log(n / counter.total()) for counter in labels for n in counter.values()
    )
    assert answer["entropy"]["total"] == pytest.approx(entropy, abs=1e-9)
    assert answer["entropy"]["per_token"] == pytest.approx(entropy / total, abs=1e-9)
    assert answer["best_accuracy"] == sum(max(c.values()) for c in labels) / total


@given(tables, st.fractions(0, 1, max_denominator=20).map(float))
def test_t_epsilon_is_the_fewest(table, epsilon):
    counts = sorted((c.total() for c in by_context(table).values()), reverse=True)
    [[_, found]] = count(from_rows(table), epsilons=[epsilon]).json()["t_epsilon"]
    wanted = (1 - Fraction(str(epsilon))) * sum(counts)
    assert sum(counts[:found]) >= wanted
    assert found == 0 or sum(counts[: found - 1]) < wanted


@given(tables)
def test_t_0_counts_all_contexts(table):  # dana2024: "consistent with T_0 defined earlier"
    answer = count(from_rows(table)).json()
    assert answer["t_epsilon"][0] == [0.0, answer["contexts"]]
    assert [epsilon for epsilon, _ in answer["t_epsilon"]] == list(EPSILONS)


@pytest.mark.parametrize("epsilon", [-0.1, 1.5, math.nan])
def test_bad_epsilon(epsilon):
    with pytest.raises(ByheartError, match="epsilon must be a number from 0 to 1"):
        count(from_rows([(["a"], 1)]), epsilons=[epsilon]).json()


def separation(*tokens):
    answer = count(from_rows([(list(tokens), 0)])).json()["separation"]
    json.dumps(answer, allow_nan=False)
    return answer["radius"], answer["distance"]


def test_separation_by_hand():
    assert separation([3, 4], [0, 0], [3, 3]) == (5, 1)
    assert separation(-7, 2, 4) == (7, 2)
    assert separation([0, 0]) == (0, None)


def test_separation_at_the_edges_of_the_number_types():
    assert separation(2**60, 2**60 + 1)[1] == 1
    assert separation([2**60, 0], [2**60 + 1, 0])[1] == 1
    assert separation(-(2**63), 2**63 - 1) == (2.0**63, 2.0**64)
    assert separation([0.0, 0.0], [5e-324, 0.0])[1] == 5e-324
    assert separation([1e300, 0.0], [0.0, 1e300]) == (1e300, pytest.approx(1e300 * math.sqrt(2)))
    assert separation([1.7e308, 1.7e308], [0.0, 0.0]) == (None, None)


@given(st.lists(st.tuples(*[st.integers(-50, 50)] * 3), min_size=2, max_size=20, unique=True))
def test_separation_against_all_pairs(tokens):
    radius, distance = separation(*map(list, tokens))
    assert radius == pytest.approx(max(math.hypot(*token) for token in tokens))
    assert distance == pytest.approx(min(math.dist(a, b) for a, b in combinations(tokens, 2)))


@pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} is absent")
def test_real_data():
    answer = count(
        load(DATA / "mnli.tsv", input=("premise", "hypothesis"), label="label", length=8)
    ).json()
    assert answer["conflicts"]["contexts"] > 1000  # its README: "expect contradictory labels"
    assert answer["best_accuracy"] < 0.5
    stories = count(load(DATA / "tinystories.txt", length=10)).json()
    assert stories["contexts"] < stories["sequences"] == 9 * 1727


ANSWER = """Statistics
  sequences      4
  tokens         7
  contexts       3
  multisets      3
  vocabulary     3
  labels         3
  conflicts      contexts 1, sequences 2, multisets 1
  best_accuracy  0.9
  entropy        total 2.24934, per_token 0.224934, labels 8.01819
  separation     radius 3, distance 1
  t_epsilon      0: 3, 0.5: 2
  skipped        0"""


def test_statistics_are_objects_with_fields(tmp_path):
    table = [(["a", "b"], "x", 3), (["a", "b"], "y", 1), (["b", "a"], "x", 4), (["c"], "z", 2)]
    found = count(from_rows(table), epsilons=(0, 0.5))
    assert (found.contexts, found.conflicts.sequences, found.separation.radius) == (3, 2, 3.0)
    assert repr(found) == ANSWER and "<td>tokens</td><td>7</td>" in found._repr_html_()
    assert doctest.testmod(statistics).failed == 0


@given(tables)
def test_there_is_one_entropy(table):
    data = from_rows(table)
    assert count(data).entropy.total == targets(data, contexts(data, positions=True)).entropy
