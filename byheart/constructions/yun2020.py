"""A transformer that numbers sequences by selective shifts: a layer for every token number.

Paper        yun2020, after its contextual mapping by selective shifts.
Statement    For every value v that a token can have, one attention layer with two heads shifts the
             tokens equal to v by a multiple of the largest minus the smallest token; after all of
             them the largest token identifies the sequence. Depth grows with the vocabulary.
Assumptions  A1  CONSISTENT
             A2  PADDED
             A3  The tokens of a sequence differ (with positions they always do).
             A4  There are at most 1,024 different tokens (with positions: pairs of token and
                 position): each is a layer.
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  The reader: E_in, 10 parameters for each of the V values, and 6 more; ids have
                 about n log V bits. Then the counts of the small form of three-layer.
Departures   D1  The paper's text was not at hand: the proof is ours, on finite data, where V is the
                 vocabulary; the paper has a grid of (1 / delta)^(d n) values. The heads have the
                 queries z - (v - 1/2) and z - (v + 1/2) and the key z: between the two only z = v
                 changes sign, so that the first reads the largest and the second the smallest.
                 For z < v both read the smallest, for z > v both the largest: they cancel.
             D2  Hard attention in place of softmax. That ids differ is checked, not argued.
             D3  The label is read from the id by the step function of three-layer.
Notation     n length, V values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..errors import AssumptionError
from ..exact.network import Layer
from ..gadgets.attention_neurons import Head, hard_attention
from ..gadgets.blocks import Block, feed_forward
from ..gadgets.switches import switches
from .base import STAGES, fixed
from .keyed import Keyed, Parts

if TYPE_CHECKING:
    from .keys import Numbered

LANES = {"z": 0, "one": 1, "s": 2}
MOST = 1024  # values
FACTORS = 64  # of s in the key, that are tried
HALF = Fraction(1, 2)


def shifting(read: "Numbered", values: Sequence[int]) -> Iterator[Layer]:
    """For each of the values in order a layer that shifts it; lane s <- the largest number."""
    z, one, s = LANES.values()
    shift = values[-1]
    yield read.embed(len(LANES))
    yield feed_forward(Block("one", [({}, 1)], [("one", 0, 1)]), LANES)
    for v in values:
        above: Head = [{z: 1, one: -(v - HALF)}], [{z: 1}], {z: 1}, {z: shift}
        below: Head = [{z: 1, one: -(v + HALF)}], [{z: 1}], {z: 1}, {z: -shift}
        yield hard_attention(len(LANES), [above, below])
    yield hard_attention(len(LANES), [([{one: 1}], [{z: 1}], {z: 1}, {s: 1})])


def shifted(read: "Numbered") -> tuple[list[int], int, list[int]]:
    """The values in order, the factor of the largest number, and the keys factor * s + own."""
    values = sorted({int(x) for x in read.rows.ravel()})
    if len(values) > MOST:
        raise AssumptionError(
            f"A4 fails: the data has {len(values):,} different tokens (or pairs of token and "
            f"position), and each is a layer; at most {MOST:,}."
        )
    z = read.rows.copy()
    for v in values:
        moved = values[-1] * (z.max(axis=1) - z.min(axis=1))
        z = z + np.where(z == v, moved[:, None], 0)
    largest, own = z.max(axis=1), z[:, -1]
    for factor in range(1, FACTORS + 1):
        keys = [factor * int(a) + int(b) for a, b in zip(largest, own, strict=True)]
        if len(set(keys)) == len(keys):
            return values, factor, keys
    raise AssumptionError(
        "A3 fails: selective shifts give two contexts of this data one number; use kim2023."
    )


@dataclass(frozen=True)
class Yun2020(Keyed):
    name = "yun2020"
    stages = {**Keyed.stages, **STAGES["Yun2020"]}

    attention: str = fixed("hard")

    def parts(self, dataset: Dataset, contexts: Contexts) -> Parts:
        from .keys import numbered

        read = numbered(dataset, contexts, bool(self.positions), self.seed)
        values, factor, keys = shifted(read)
        terms = {LANES["s"]: factor, LANES["z"]: 1}
        plan = switches(keys, read.labels.tolist(), True, terms, len(LANES))
        return read.spec, 1, (*shifting(read, values), *plan)
