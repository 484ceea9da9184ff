"""What differs between two models: parameters and bits, stage by stage, and answers."""

from ..claims.location import Difference
from ..claims.model import ModelData
from .kinds import kind_of


def difference(model: ModelData, other: ModelData) -> Difference | None:
    """What differs in the weights; None if the networks have different shapes."""
    kind = kind_of(model)
    if kind is not kind_of(other):
        return None
    return kind.differ.difference(model.network, other.network)
