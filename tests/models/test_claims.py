"""A model has a claim, and everything that depends on it is in the claim's own class."""

import ast
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import byheart
from byheart.constructions.hash_fold_retrieve import HashFoldRetrieve
from byheart.data.load import from_rows
from byheart.errors import ByheartError
from byheart.models.claim import Claim
from byheart.models.claims import CLAIMS, Distributions, Labels

ROWS = [(["a", "b"], "x"), (["b", "b"], "y"), (["c"], "x")]
PACKAGE = Path(byheart.__file__).parent


@dataclass(frozen=True)
class Shouted(Labels):
    """A third claim: labels, answered in capital letters."""

    name = "shouted"
    sentence = "Labels, loud."

    def label(self, output):
        label = super().label(output)
        return label if label is None else label.upper()

    def facts(self, found):
        return {"loud": True}

    @classmethod
    def stored_in(cls, given):
        return "loud" in given.values

    def config(self, model):
        return {**super().config(model), "loud": True}


@dataclass(frozen=True)
class Loud(HashFoldRetrieve):
    name = "loud"
    stores = "shouted"

    @property
    def header(self):
        return HashFoldRetrieve().header


@pytest.fixture
def third(monkeypatch):
    """The claim in the list of claims: nothing else knows it."""
    others = dict(CLAIMS)
    CLAIMS.clear()
    CLAIMS.update({"shouted": Shouted, **others})
    yield
    CLAIMS.clear()
    CLAIMS.update(others)


def test_a_third_claim_is_one_class(third, tmp_path):
    data = from_rows(ROWS)
    model = byheart.compile(data, Loud())
    assert isinstance(model.claim, Shouted) and model.verification.evidence == "proved"
    assert model.recall(["b", "b"]) == "Y" and model.claim.facts(None) == {"loud": True}
    model.save(tmp_path / "m")
    assert json.loads((tmp_path / "m" / "certificate.json").read_text())["claim"] == "shouted"
    opened = byheart.open(tmp_path / "m")
    assert opened.claim == model.claim and opened.recall(["c"]) == "X"
    assert byheart.verify(opened, data).evidence == "proved"


def test_nothing_else_asks_which_claim_a_model_has():
    """Apart from what is about one claim only: probabilities, traces, context ids, the gap."""
    asking = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                kinds = ast.unparse(node.args[1])
                if kinds in ("Labels", "Distributions", "Decoder", "Network"):
                    asking.setdefault(path.relative_to(PACKAGE).as_posix(), []).append(kinds)
    assert sum(map(len, asking.values())) <= 27, asking
    assert not any(path.startswith(("cli/", "lab/", "models/folder/")) for path in asking), asking


def test_the_sizes_of_a_model_are_attributes():
    model = byheart.compile(from_rows(ROWS))
    counts, bits = model.network.counts()
    assert model.parameters._asdict() == counts == model.about["parameters"]
    assert {name: getattr(model.bits, name) for name in bits} == bits
    assert model.bits.encoded == model.about["bits"]["encoded"]
    assert model.bits.information == 3.0
    assert repr(model) == f"<Model: hash-fold-retrieve, {counts['nonzero']} nonzero parameters>"


def test_html_is_escaped():
    model = byheart.compile(from_rows(ROWS))
    model.about["method"] = "<script>"
    assert "<script>" not in model._repr_html_() and "&lt;script&gt;" in model._repr_html_()


def test_labels_have_no_distribution():
    with pytest.raises(ByheartError, match="stores labels"):
        byheart.compile(from_rows(ROWS)).distribution(["a", "b"])


def test_a_model_continues_by_itself():
    model = byheart.compile(from_rows([(["a"], "b"), (["a", "b"], "c"), (["a", "b", "c"], "d")]))
    assert [answer.label for answer in model.continue_(["a"], 9)] == ["b", "c", "d"]
    assert [answer.label for answer in model.continue_(["a"], 2)] == ["b", "c"]


def test_every_claim_has_its_own_name():
    assert (
        {claim.name for claim in CLAIMS.values()}
        == set(CLAIMS)
        == {"labels", "distributions", "recites"}
    )
    assert all(issubclass(claim, Claim) for claim in (Labels, Distributions))
