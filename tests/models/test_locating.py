"""locate: the parameters that an answer reads, for every method."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest

import byheart
from byheart.claims.location import Place
from byheart.constructions import ALL
from byheart.data.dataset import Dataset
from byheart.exact.locate import with_value
from byheart.models.kinds import kind_of, made_by
from byheart.models.locating import reverse

CITIES = {"france": "paris", "italy": "rome", "spain": "madrid", "peru": "lima", "japan": "tokyo"}
ROWS = [(["capital", "of", country], city) for country, city in CITIES.items()]
SLOW = ("attention-only", "one-layer-smooth")


def data(every=False):
    rows = [(tokens, [word[0] for word in tokens]) for tokens, _ in ROWS] if every else ROWS
    return Dataset.from_rows(rows)


@pytest.mark.parametrize(
    "construction",
    [c for c in ALL if c.name not in SLOW and c.claim.name != "recites"],
    ids=lambda c: f"{c.name}-{c.form}",
)
def test_every_method_says_where_its_answers_are(construction):
    every = bool(construction.every)
    model = byheart.compile(data(every), construction.name, construction.form)
    found = model.locate(["capital", "of", "peru"])
    assert found.answer.label == (["c", "o", "p"] if every else "lima")
    assert found.read
    assert all(kind_of(model).locate.exists(model.network, place) for place in found.read)
    assert len(found.read) <= found.of and found.note
    told = found.json()
    assert told["read"] == [list(place) for place in found.read] and told["of"] == found.of


@pytest.mark.slow
@pytest.mark.parametrize("method", SLOW)
def test_where_every_weight_enters_every_answer_it_is_said(method):
    model = byheart.compile(data(), method)
    found = model.locate(["capital", "of", "peru"])
    assert f"spread over all {len(found.read):,}" in found.note and not found.changes


def test_a_change_that_suffices_does_alter_the_answer():
    model = byheart.compile(data(), editable=True)
    found = model.locate("capital of peru")
    assert found.bits and found.changes
    for change in found.changes:
        assert change.evidence == "proved" and change.label != "lima"
        assert set(change.places) <= set(found.read)


def test_what_is_not_read_does_not_matter():
    """A stored number that an answer does not read can be anything: its answer stays."""
    model = byheart.compile(data(), editable=True)
    tokens = ["capital", "of", "peru"]
    held = partial(kind_of(model).locate.held, model, made_by=made_by(model))
    own = held(tokens)
    stored = {place for row, _ in ROWS for place in held(row).read}
    unread = sorted(stored - set(own.read))
    assert unread
    for place in unread:
        now = model.network.layers[place.layer].tensors[place.tensor][place.row, place.column]
        moved = with_value(model.network, place, now + Fraction(2) ** own.bits[0])
        assert replace(model, network=moved).recall(tokens) == "lima"


def test_the_reverse_map_is_the_map_reversed():
    for method in ("hash-fold-retrieve", "one-layer"):
        model = byheart.compile(data(), method)
        for tokens, _ in ROWS[:2]:
            place = model.locate(tokens).read[0]
            expected = [
                row
                for row, _ in ROWS
                if place in kind_of(model).locate.held(model, row, made_by(model)).read
            ]
            assert reverse(model, data(), place) == expected and tokens in expected


def test_the_neurons_of_a_context_are_those_an_edit_touches():
    model = byheart.compile(data(), "one-layer")
    changed = byheart.edit(model, data(), change=[("capital of peru", "rome")])
    found = model.locate("capital of peru")
    if changed.difference is not None:  # the vocabulary is the same
        touched = {place.column for place in changed.difference.places}
        assert touched <= set(found.neurons)


def test_no_such_parameter_and_no_such_word():
    model = byheart.compile(data())
    with pytest.raises(byheart.ByheartError, match="no nonzero parameter"):
        reverse(model, data(), Place(99, "b1", 0, 0))
    with pytest.raises(byheart.ByheartError, match="outside the model's vocabulary"):
        model.locate("capital of mars")
