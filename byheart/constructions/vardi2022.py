"""A feed-forward network of about sqrt(N log N) parameters: the ancestor of Theorem 4.1.

Paper        vardi2022, after its optimal memorisation; as kajitsuka2025, Lemma C.1, tells it.
Statement    N points that are separated become keys; about sqrt(N log N) groups of keys are packed
             into two long numbers each, of keys and of labels; a deep narrow part finds the group,
             reads its keys bit by bit and compares.
Assumptions  A1  CONSISTENT
             A2  PADDED
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  The counts of Lemma C.1 (byheart/theory/kajitsuka2025/sizes.py) for N keys, and
                 three parameters that make keys 2 apart, beside the reader.
Departures   D1  The paper's text was not at hand: the network is Lemma C.1 of kajitsuka2025, which
                 repeats its proof.
             D2  Faithful form: keys are as long as the proof allows, R = 20 r N^2 sqrt(pi d) /
                 delta. Small form: as long as the search for short keys needs.
             D3  Contexts become whole numbers by the reader of hash-fold-retrieve, which are points
                 with d = 1 and delta = 1; single tokens by a projection.
Notation     N points of dimension d, of length r at most and delta apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..exact.network import Layer, Linear, Number, matrix, vector
from ..gadgets.blocks import Block, feed_forwards
from ..gadgets.key_values import TABLE, lookup, table
from ..theory.kajitsuka2025.sizes import token_key_bits
from .bit_extraction import Extraction
from .keyed import Hashed


def looked_up(
    keys: list[int],
    labels: list[int],
    classes: int,
    key_bits: int = 0,
    lanes: Sequence[str] = ("key",),
    terms: Mapping[str, Number] | None = None,
) -> Iterator[Layer]:
    """A table of the keys 2 k + 2, which are 2 apart, and labels from 1 on.

    k is the sum of these terms, of the first lanes of the stream; the others are 0. Keys have
    `key_bits`, or as many as they need.
    """
    doubled = [2 * key + 2 for key in keys]
    needed = max(key_bits, max(doubled).bit_length())
    contents = table(doubled, [x + 1 for x in labels], needed, classes.bit_length())
    every = (*lanes, "x", "label", *TABLE)
    key = Block("key", [(terms or {lanes[0]: 1}, 0)], [("x", 0, 2)], {"x": 2})
    yield from feed_forwards([key, *lookup("x", contents, "label")], every)
    answer = matrix(1, len(every), {(0, every.index("label")): 1})
    yield Linear(answer, vector({0: -1}, 1), "output")


@dataclass(frozen=True)
class SmallVardi(Hashed):
    name = "vardi2022"
    form = "small"
    provable = Extraction.provable
    long_keys: ClassVar[bool] = False
    stages = {**Extraction.stages, **Hashed.stages, "key": "Keys become 2 apart."}

    def plan(self, keys: list[int], labels: list[int], classes: int) -> Iterator[Layer]:
        # those of the proof: R for points on a line, whole numbers up to r
        key_bits = token_key_bits(len(keys), 1, max(max(keys), 1), 1) if self.long_keys else 0
        return looked_up(keys, labels, classes, key_bits)


@dataclass(frozen=True)
class FaithfulVardi(SmallVardi):
    form = "faithful"
    long_keys = True
