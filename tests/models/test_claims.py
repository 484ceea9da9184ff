"""A model has a claim, and everything that depends on it is in the claim's own class."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import byheart
from byheart.claims.claim import Distributions, Draws, Labels, Recites
from byheart.constructions.hash_fold_retrieve import HashFoldRetrieve
from byheart.data.load import from_rows
from byheart.errors import ByheartError
from byheart.exact import kind as exact
from byheart.exact.kind import KIND as EXACT
from byheart.models import kinds

ROWS = [(["a", "b"], "x"), (["b", "b"], "y"), (["c"], "x")]
PACKAGE = Path(byheart.__file__).parent


@dataclass(frozen=True)
class Shouted(Labels):
    """A fourth claim: labels, answered in capital letters."""

    name = "shouted"
    sentence = "Labels, loud."

    def label(self, output):
        label = super().label(output)
        return label if label is None else label.upper()


@dataclass(frozen=True)
class Loud(HashFoldRetrieve):
    name = "loud"
    claim = Shouted

    def build(self, dataset, contexts, report):
        built = super().build(dataset, contexts, report)
        return replace(built, claim=Shouted(built.claim.labels, built.claim.unknown))

    @property
    def header(self):
        return HashFoldRetrieve().header


def read_loudly(path, text, certificate):
    model, digest = exact.store.read(path, text, certificate)
    return replace(model, claim=Shouted(model.claim.labels, model.claim.unknown)), digest


@pytest.fixture
def fourth(monkeypatch):
    """A kind in the list of kinds: nothing else knows it."""
    store = SimpleNamespace(**vars(exact.store))
    store.read = read_loudly
    show = SimpleNamespace(**vars(exact.show))
    show.facts = lambda claim, found: {"loud": True}
    kind = replace(EXACT, claim=Shouted, store=store, show=show)
    monkeypatch.setitem(sys.modules, "byheart.loud.kind", SimpleNamespace(KIND=kind))
    monkeypatch.setitem(kinds.KINDS, "shouted", "loud")


def test_a_fourth_kind_is_one_row(fourth, tmp_path):
    data = from_rows(ROWS)
    model = byheart.compile(data, Loud())
    assert isinstance(model.claim, Shouted) and model.verification.evidence == "proved"
    assert model.recall(["b", "b"]) == "Y"
    assert kinds.kind_of(model).show.facts(model.claim, None) == {"loud": True}
    model.save(tmp_path / "m")
    assert json.loads((tmp_path / "m" / "certificate.json").read_text())["claim"] == "shouted"
    opened = byheart.open(tmp_path / "m")
    assert opened.claim == model.claim and opened.recall(["c"]) == "X"
    assert byheart.verify(opened, data).evidence == "proved"


def test_the_sizes_of_a_model_are_attributes():
    model = byheart.compile(from_rows(ROWS))
    counts, bits = model.network.counts()
    assert model.parameters._asdict() == counts == model.record.parameters._asdict()
    assert {name: getattr(model.bits, name) for name in bits} == bits
    assert model.bits.encoded == model.record.bits.encoded
    assert model.bits.information == 3.0
    assert repr(model) == (
        f"<Model: hash-fold-retrieve, {counts['nonzero']} nonzero parameters, "
        f"proved on {model.record.data.sequences} sequences>"
    )


def test_html_is_escaped():
    model = byheart.compile(from_rows(ROWS))
    model = replace(model, record=replace(model.record, method="<script>"))
    assert "<script>" not in model._repr_html_() and "&lt;script&gt;" in model._repr_html_()


def test_labels_have_no_distribution():
    with pytest.raises(ByheartError, match="stores labels"):
        byheart.compile(from_rows(ROWS)).distribution(["a", "b"])


def test_a_model_continues_by_itself():
    model = byheart.compile(from_rows([(["a"], "b"), (["a", "b"], "c"), (["a", "b", "c"], "d")]))
    assert [answer.label for answer in model.continue_(["a"], 9)] == ["b", "c", "d"]
    assert [answer.label for answer in model.continue_(["a"], 2)] == ["b", "c"]


def test_every_kind_has_its_own_claim():
    for claim in (Labels, Distributions, Recites):
        assert kinds.kind_with(claim.name).claim is claim
    assert kinds.kind_with(Draws.name) is kinds.kind_with(Recites.name)
    assert kinds.KINDS.keys() == {x.name for x in (Labels, Distributions, Recites, Draws)}
