"""Context ids: one number by which a network distinguishes a token in its sequence from all others.

Paper: kajitsuka2025, Definition 4.1. The id is where the proof of Theorem 4.1 has it: the number in
the column once columns have met. That is lane 0 after the last layer where they meet or, if the
next layer projects the column to one scalar (as in bit-extraction, where a column is then a vector,
eq. (53)), that scalar, which the projection puts there.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice

from ..errors import ByheartError
from . import reference as exact
from .answer import batch_of
from .network import Embedding, HardAttention, Linear, Network, Relu, Sum, matrix, vector


def ids_of(network: Network, rows: Sequence[Sequence]) -> list[list[Fraction]]:
    """For each sequence of vectors the ids of its tokens; a deep set gives one per multiset."""
    cut = up_to_id(network)
    found = iter(exact.evaluate(cut, batch_of(network, rows)))
    return [list(islice(found, len(row) if cut.every else 1)) for row in rows]


def up_to_id(network: Network) -> Network:
    """The network cut off where the ids are; it returns them, one per token (a deep set: one)."""
    if not isinstance(network, Network):
        raise ByheartError("context ids are numbers in networks that store labels, not in others.")
    if not network.attentions:
        raise ByheartError("the network has no layer where columns meet, so there are no ids.")
    if compares(network):
        raise ByheartError(
            "the attention of this network compares scores, and no lane is known to hold an id."
        )
    layers = network.layers[: id_layer(network) + 1]
    widths = [x.weight.rows for x in layers if isinstance(x, Linear | Relu | Embedding)]
    read = Linear(matrix(1, widths[-1], {(0, 0): 1}), vector({}, 1), "id")
    together = any(isinstance(layer, Sum) for layer in layers)
    return Network(network.input, (*layers, read), every=not together)


def compares(network: Network) -> bool:
    """Whether hard attention with scores has a part in it, as in kim2023."""
    return any(isinstance(x, HardAttention) and x.uniform is None for x in network.layers)


def id_layer(network: Network) -> int:
    """The number of the layer after which lane 0 holds the id."""
    last = network.attentions[-1]
    return last + 1 if network.layers[last + 1].stage == "project" else last
