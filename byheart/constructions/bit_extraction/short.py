"""Theorem F.1 and Lemma F.1: no parameter has more than B bits.

Departures   D1  B is the largest number of bits of any parameter in plain binary notation, E_in and
                 E_out included. In the paper it is that number up to constants and logarithms.
             D2  The paper's keys take log R bits, R about N^5: B could not go below that. Here the
                 directions of Lemma C.2 and the values of Lemma B.2 are the shortest ones that a
                 search finds, and R is the largest key.
             D3  There are ceil(N / points) of the F_i; x stays in its lane. The index of (140) runs
                 to N / B^2 instead of N / B^2 + 1, and B^2 need not divide N.
             D4  The lane F of eq. (50) is that x, so it needs no lane of its own: width 12, not 15.
             D5  A part has k^2 max(rho, c) keys, k per group: selecting then is as deep as reading.
                 The paper's k^2 log B is less, with more parts, and none for B = 1.
"""

from collections.abc import Iterator
from itertools import count
from random import Random

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...exact.network import Network
from ...gadgets.blocks import Block, feed_forwards
from ...gadgets.key_values import Table, group_size, split_lookup, table
from ...gadgets.multisets import distinct, marked, values
from ...gadgets.projection import Projection, shortest
from ..base import Built, input_of
from . import Extraction
from .known import known_columns
from .transformer import LANES, built, context_points, embed, label_bits, rest, token_table

TRIES = 16  # random values of each size


def build(dataset: Dataset, contexts: Contexts, options: Extraction, bits: int) -> Built:
    """The network of Theorem F.1, whose parameters have at most `bits` bits each."""
    spec = input_of(dataset, bool(options.positions))
    seen = known_columns(dataset, contexts, spec, options.separation)
    random = Random(options.seed)
    tokens = shortest(seen.points, seen.exponent, random, _cost)
    multisets, _ = distinct(seen.rows)
    chosen = marked(multisets)
    phi, value_bits = next(  # Lemma B.2 with values of as few bits as a search finds
        (phi, size)
        for size in count(1)
        for _ in range(TRIES)
        if (phi := values(multisets, chosen, (1 << size) - 1, random)) is not None
    )
    ids = shortest(*context_points(seen, tokens, phi), random, _cost)
    first = token_table(tokens, phi, chosen, tokens.key_bits, value_bits)
    second = table(ids.keys(), seen.labels, ids.key_bits, label_bits(dataset))
    needed = (tokens.weight_bits, ids.weight_bits, spec.length.bit_length())
    least = max(*needed, _least(first), _least(second))
    if bits < least:
        raise AssumptionError(
            f"A3 fails: `bits={bits}` is too few for this data; the smallest is `bits={least}`.",
            smallest=least,
        )
    part = feed_forwards(_split("x", first, "phi", bits), LANES)
    end = rest(spec.length, options.attention, ids, _split("x", second, "label", bits))
    network = Network(spec, (embed(tokens), *part, *end), dataset.every)
    return built(network, dataset, tokens.tries + ids.tries)


def _cost(projection: Projection) -> int:
    """The bits that the weights and a table of the keys take."""
    return max(projection.weight_bits, projection.key_bits + 2)


def _least(table: Table) -> int:
    """The bits of a lookup with one key per group: k keys, their labels, and the gate."""
    return max(table.key_bits + 2, table.label_bits + 3)


def _split(lane: str, table: Table, output: str, bits: int) -> Iterator[Block]:
    """Lemma F.1: groups as large as the bits allow."""
    longest = max(table.key_bits, table.label_bits)
    size = min((bits - 2) // longest, group_size(len(table)))
    return split_lookup(lane, table, output, size, size**2 * longest)  # D5
