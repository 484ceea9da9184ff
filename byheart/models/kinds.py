"""KINDS: the kinds of networks. A model is of the kind of its claim; a construction made it."""

from functools import cache
from importlib import import_module

from ..claims.kind import Kind
from ..claims.location import Difference
from ..claims.model import ModelData
from ..constructions import named
from ..constructions.base import Construction

# the name of a claim, and the room of the networks that make it; loaded when needed
KINDS = {"labels": "exact", "distributions": "softmax", "recites": "stock", "draws": "stock"}


def kind_of(model: ModelData) -> Kind:
    return kind_with(model.claim.name)


@cache
def kind_with(claim: str) -> Kind:
    """The kind of the networks that make a claim of this name."""
    return import_module(f"..{KINDS[claim]}.kind", __package__).KIND


def difference(model: ModelData, other: ModelData) -> Difference | None:
    """What differs in the weights of two models; None if their networks have different shapes."""
    kind = kind_of(model)
    same = kind is kind_of(other)
    return kind.differ.difference(model.network, other.network) if same else None


def made_by(model: ModelData) -> Construction | None:
    """The construction that built a model; None if it was trained or comes from elsewhere."""
    method, form = model.record.method, model.record.form
    return next((c for c in named(method or "") if c.form == form), None)
