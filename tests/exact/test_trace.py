"""How an answer comes about: values after each stage, and context ids (Definition 4.1)."""

import json
import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import byheart
from byheart.api.compile import compile
from byheart.claims.claim import Labels, Words
from byheart.constructions import ALL
from byheart.data.load import from_rows
from byheart.errors import ByheartError, DisagreementError
from byheart.exact.ids import id_layer
from byheart.exact.network import (
    Input,
    Linear,
    Network,
    Relu,
    Sum,
    UniformAttention,
    dyadic,
    matrix,
    vector,
)
from byheart.models.context_ids import contextual_mapping
from byheart.models.model import Model

PAPER = "kajitsuka2025"
SCORED = ("attention-neurons", "kim2023", "yun2020")  # attention compares: no lane holds an id
IDS = [c for c in ALL if c.name not in SCORED]
LABELS = [c for c in IDS if c.claim.name == "labels"]  # others: test_recall_distributions.py
each = pytest.mark.parametrize("construction", LABELS, ids=lambda c: f"{c.name}-{c.form}")


def context(construction, tokens, place, positions=False):
    """What an id may depend on."""
    if positions:
        return tuple(tokens), place
    return tuple(sorted(tokens)), tokens[place] if construction.last else None


def labelled(construction, sequences, labels, positions=False):
    """The sequences, each context with one label: its number, modulo `labels`."""
    numbers: dict = {}

    def label(tokens, place):
        key = context(construction, tokens, place, positions)
        return numbers.setdefault(key, len(numbers)) % labels

    if construction.every:
        return [(tokens, [label(tokens, i) for i in range(len(tokens))]) for tokens in sequences]
    return [(tokens, label(tokens, len(tokens) - 1)) for tokens in sequences]


def made(construction, sequences, labels, positions=False):
    """A dataset for the construction, and its model."""
    rows = labelled(construction, sequences, labels, positions)
    dataset = from_rows(rows)
    options = {"bits": 64} if "bits" in construction.options() else {}
    options |= {"positions": positions} if "positions" in construction.options() else {}
    return (
        dataset,
        compile(dataset, method=construction.name, form=construction.form, **options),
        rows,
    )


def drawn(seed, count=24, vocabulary=9, length=4):
    pick = random.Random(seed)
    return [[f"w{pick.randrange(vocabulary)}" for _ in range(length)] for _ in range(count)]


# --- Definition 4.1


def holds(construction, model, rows, mapping, positions=False):
    """The definition, pair by pair: where the model answers, ids and contexts correspond."""
    found = {}
    for (tokens, _), ids in zip(
        rows, byheart.context_ids(model, [t for t, _ in rows]), strict=True
    ):
        assert len(ids) == (len(tokens) if construction.last else 1)
        places = range(len(tokens)) if model.network.every else [len(tokens) - 1]
        for place in places:
            key = context(construction, tokens, place, positions)
            identity = ids[place] if construction.last else ids[0]
            assert isinstance(identity, Fraction)
            assert found.setdefault(key, identity) == identity
    r, delta = mapping
    assert delta > 0 and max(map(abs, found.values())) == r
    apart = [abs(a - b) for a, b in combinations(found.values(), 2)]
    assert not apart or min(apart) == delta


@each
@pytest.mark.parametrize("seed", range(2))
def test_contexts_with_labels_of_their_own_have_ids_of_their_own(construction, seed):
    dataset, model, rows = made(construction, drawn(seed), labels=1000)
    holds(construction, model, rows, contextual_mapping(model, dataset))


@pytest.mark.parametrize(
    "construction",
    [c for c in LABELS if "positions" in c.options() and c.form != "faithful"],
    ids=lambda c: f"{c.name}-{c.form}",
)
def test_with_positions_order_counts(construction):
    sequences = [*drawn(5, 12), ["a", "b", "c", "d"], ["d", "c", "b", "a"], ["a", "b", "d", "c"]]
    dataset, model, rows = made(construction, sequences, 1000, positions=True)
    holds(construction, model, rows, contextual_mapping(model, dataset), positions=True)


@pytest.mark.parametrize(
    "construction",
    [c for c in IDS if c.header.paper == PAPER and (c.form == "faithful" or "bit-" in c.name)],
    ids=lambda c: f"{c.name}-{c.form}",
)
@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6))
def test_the_papers_ids_are_two_apart_whatever_the_labels(construction, seed):
    """Lemma C.2: the projection keeps all contexts at least 2 apart, also those of one label."""
    dataset, model, rows = made(construction, drawn(seed), labels=2)
    mapping = contextual_mapping(model, dataset)
    assert mapping.separation >= 2
    holds(construction, model, rows, mapping)


def test_one_id_for_two_contexts_is_refuted():
    dataset = from_rows([(["a", "b"], "x"), (["b", "c"], "x")])  # one label: nothing is told apart
    with pytest.raises(DisagreementError, match="refuted.*sequence 1 and sequence 2"):
        contextual_mapping(compile(dataset), dataset)


def test_one_context_is_apart_from_nothing():
    dataset = from_rows([(["a", "b"], "x"), (["a", "b"], "x")])
    assert contextual_mapping(compile(dataset), dataset).separation == 1


def test_words_the_model_does_not_know_have_no_id():
    model = compile(from_rows([(["a"], "x"), (["b"], "y")]))
    with pytest.raises(ByheartError, match="outside"):
        byheart.context_ids(model, [["c"]])
    with pytest.raises(ByheartError, match="does not know"):
        contextual_mapping(model, from_rows([(["a"], "x"), (["c"], "y")]))
    assert byheart.context_ids(model, []) == []


# --- by hand


def by_hand(*layers, every=False, padding=True):
    spec = Input(1, 2, False, (dyadic(0),) if padding else None)
    return Model(Network(spec, layers, every), Words("number", None), Labels(tuple(range(40))))


ONE = Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1), "embed")
OUT = Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1), "output")
MEAN = UniformAttention(matrix(1, 1, {(0, 0): 1}), matrix(1, 1, {(0, 0): 4}))  # h + 2 sum
TWO = Relu(matrix(2, 1, {(0, 0): 1, (1, 0): -1}), vector({1: 12}, 2), "split")
BACK = Relu(matrix(1, 2, {(0, 0): 1, (0, 1): 1}), vector({}, 1), "join")


def test_ids_of_a_network_made_by_hand():
    """x + 2 (x + y): 1 + 6 and 2 + 6; one lane, then a relu layer of two rows."""
    model = by_hand(ONE, MEAN, TWO, BACK, OUT)
    assert id_layer(model.network) == 1
    assert byheart.context_ids(model, [[1, 2], [5]]) == [[7, 8], [15]]  # padded with 0
    found = model.trace([1, 2])
    assert [x.fraction for x in found.context_ids] == [7, 8]
    assert found.context_id == found.context_ids[-1]
    assert found.output.fraction == 12 and found.answer.label == 12  # 8 + relu(12 - 8)
    split = next(stage for stage in found.stages if stage.name == "split")
    assert (split.fired, split.units) == (2, 2)
    split = next(stage for stage in model.trace([5, 5]).stages if stage.name == "split")
    assert (split.fired, split.units) == (1, 2)  # 25 is above 12


def test_all_tokens_may_be_asked_for():
    """Where it answers, ids are 8 and 15; the token before the last has the id 7."""
    model, dataset = by_hand(ONE, MEAN, OUT), from_rows([([1, 2], 8), ([5], 15)])
    assert contextual_mapping(model, dataset) == (15, 7)
    assert contextual_mapping(model, dataset, every=True) == (15, 1)


def test_the_scalar_after_the_meeting_is_the_id():
    """If the next layer makes one scalar of the column, that is the id (bit-extraction)."""
    scalar = Relu(matrix(1, 1, {(0, 0): 3}), vector({0: 1}, 1), "project")
    model = by_hand(ONE, MEAN, scalar, OUT)
    assert id_layer(model.network) == 2
    assert byheart.context_ids(model, [[1, 2]]) == [[22, 25]]


def test_every_token_is_answered_and_has_its_id():
    model = by_hand(ONE, MEAN, OUT, every=True)
    found = model.trace([1, 2])
    assert found.answer.label == [7, 8] and [x.fraction for x in found.outputs] == [7, 8]
    said = "\n".join(found.lines())
    assert "7 of 1" in said and "8 of 2" in said
    assert len(found.json()["context_ids"]) == 2


def test_a_multiset_has_one_id_and_may_be_empty():
    """Words are numbers from 1 on."""
    numbers = by_hand(ONE, Sum(), OUT, padding=False)
    model = replace(numbers, words=Words("string", ("a", "b", "c")))
    assert byheart.context_ids(model, [["a", "c"], ["b"], []]) == [[4], [2], [0]]
    found = model.trace([])
    assert found.stages[0].lanes == {} and found.answer.label == 0
    assert found.json()["context_ids"] == [["0", 0]]


def test_a_network_whose_columns_never_meet_has_no_ids():
    model = by_hand(ONE, OUT)
    assert model.trace([3, 4]).context_id is None
    with pytest.raises(ByheartError, match="meet"):
        byheart.context_ids(model, [[3]])


# --- traces of every construction


@each
def test_a_trace_ends_at_the_answer(construction):
    dataset, model, rows = made(construction, drawn(2, 12), labels=3)
    for tokens, label in rows[:3]:
        found = model.trace(tokens)
        assert found.answer.label == label and model.recall(tokens) == label
        layers = [i for stage in found.stages for i in range(stage.first, stage.last + 1)]
        assert layers == list(range(len(model.network.layers)))
        assert all(0 <= stage.fired <= stage.units or not stage.units for stage in found.stages)
        assert found.stages[-1].lanes.get(0, dyadic(0)) == found.output
        ids = byheart.context_ids(model, [tokens])[0]
        assert [x.fraction for x in found.context_ids] == ids
        answer = json.loads(json.dumps(found.json()))
        assert answer["context_id"] == answer["context_ids"][-1]
        assert found.lines()[-1].startswith("output")
