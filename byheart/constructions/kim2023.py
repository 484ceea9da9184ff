"""A transformer that sorts its tokens by n rounds of hard attention, then looks up the sequence.

Paper        kim2023, after its contextual mapping by n attention layers.
Statement    n layers of attention take the largest token out of a sequence, one after another; a
             weighted sum of them is a number of the sequence, from which a feed-forward part (that
             of vardi2022) gets the label: about n + sqrt(n N log N) parameters.
Assumptions  A1  CONSISTENT
             A2  PADDED
             A3  The tokens of a sequence differ (with positions they always do): equal ones leave
                 together, and their number is forgotten.
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  The reader: E_in, 3 parameters that copy the token and make a constant, 4 per
                 attention layer and 6 per block after it, 2 in the last; kajitsuka2025 does with
                 one attention layer what these n do. Then the counts of three-layer (small) or
                 vardi2022 (faithful).
Departures   D1  The paper's text was not at hand: the proof is ours. With z whole numbers and m the
                 largest, z <- z - relu((1 + M) z - M m) takes out the largest (z = m gives 0) and
                 leaves the others (z <= m - 1 and z <= M give a negative number in relu).
             D2  Hard attention in place of softmax near it.
             D3  Small form: the step function of three-layer in place of the look-up.
             D4  The weights of the sorted tokens are small whole numbers that a search finds.
Notation     N sequences, n length, M at least the largest token number.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..exact.network import HardAttention, Input, Layer, Number, matrix
from ..gadgets.blocks import Block, feed_forward
from ..gadgets.switches import switches
from .base import fixed
from .bit_extraction.transformer import Extraction
from .keyed import Keyed, Plan
from .vardi2022 import looked_up

if TYPE_CHECKING:
    from .keys import Numbered

LANES = {"z": 0, "own": 1, "one": 2, "m": 3, "s": 4}
Form = Mapping[int, Number]
Head = tuple[Form, Form, Form, Form]


def heads_of(width: int, *heads: Head) -> HardAttention:
    """Heads of dimension 1: query, key, value and what they write, each as weights by lane."""
    count = len(heads)
    sides = [
        {(i, lane): w for i, head in enumerate(heads) for lane, w in head[side].items()}
        for side in range(3)
    ]
    written = {(lane, i): w for i, head in enumerate(heads) for lane, w in head[3].items()}
    query, key, value = (matrix(count, width, side) for side in sides)
    return HardAttention(query, key, value, matrix(width, count, written), count)


@dataclass(frozen=True)
class Sorted:
    """The rounds: weights of the sorted tokens and of the own one, and the keys that they make."""

    read: "Numbered"
    weights: tuple[int, ...]
    keys: list[int]
    tries: ClassVar[int] = 1

    @property
    def spec(self) -> Input:
        return self.read.spec

    def layers(self, width: int) -> Iterator[Layer]:
        *ranks, _ = self.weights
        largest = 1 << int(self.read.rows.max()).bit_length()  # M
        yield self.read.embed(width)
        copy = Block("copy", [({"z": 1}, 0)], [("own", 0, 1)], {"one": 1})
        yield feed_forward(copy, LANES)
        for i, weight in enumerate(ranks):
            yield heads_of(width, ({2: 1}, {0: 1}, {0: 1}, {3: 1}))
            units: list = [({"m": 1}, 0)]
            writes: list = [("s", 0, weight)]
            if i < len(ranks) - 1:
                units.append(({"z": 1 + largest, "m": -largest}, 0))  # D1
                writes += [("m", 0, -1), ("z", 1, -1)]
            yield feed_forward(Block("sort", units, writes), LANES)


def sorted_keys(read: "Numbered", seed: int) -> Sorted:
    """Small weights for which the keys of all contexts differ."""
    rows = np.sort(read.rows, axis=1)[:, ::-1]
    for i in range(1, rows.shape[1]):  # the padding leaves together
        rows[:, i:][(rows[:, i:] == rows[:, [i - 1]]) & (rows[:, [i - 1]] > 0)] = 0
        rows[:, i:] = np.sort(rows[:, i:], axis=1)[:, ::-1]
    numbers = np.concatenate([rows, read.rows[:, -1:]], axis=1)
    longest = int(numbers.max()).bit_length() + numbers.shape[1].bit_length()
    pick, size = Random(seed), 2.0
    while True:
        weights = [pick.randint(1, int(size)) for _ in range(numbers.shape[1])]
        short = longest + int(size).bit_length() < 62
        dtype = np.dtype(np.int64 if short else object)
        keys = numbers.astype(dtype) @ np.array(weights, dtype)
        if len(np.unique(keys)) == len(keys):
            return Sorted(read, tuple(weights), [int(key) for key in keys])
        size = size * 1.02 + 0.2


@dataclass(frozen=True)
class SmallKim(Keyed):
    name = "kim2023"
    form = "small"
    stages = {
        **Keyed.stages,
        ("hard_attention", "attend"): "Each column reads the largest token number left.",
        "copy": "Each column keeps its own token number and a constant.",
        "sort": "That number joins the number of the sequence and is taken out.",
    }

    attention: str = fixed("hard")

    def retrieval(self, found: Sorted, classes: int) -> Plan:
        """From the key, a sum of lanes, to the label."""
        labels = found.read.labels.tolist()
        terms = {LANES["s"]: 1, LANES["own"]: found.weights[-1]}
        return switches(found.keys, labels, True, terms, width=len(LANES))

    def parts(self, dataset: Dataset, contexts: Contexts) -> tuple[Sorted, Plan]:
        from .keys import numbered

        read = numbered(dataset, contexts, bool(self.positions), self.seed)
        found = sorted_keys(read, self.seed)
        return found, self.retrieval(found, len(dataset.label_names))


@dataclass(frozen=True)
class FaithfulKim(SmallKim):
    form = "faithful"
    provable = Extraction.provable
    stages = {**Extraction.stages, **SmallKim.stages, "key": "Keys become 2 apart."}

    def retrieval(self, found: Sorted, classes: int) -> Plan:
        terms = {LANES["s"]: 1, LANES["own"]: found.weights[-1]}
        labels = found.read.labels.tolist()
        return looked_up(found.keys, labels, classes, terms=terms, width=len(LANES))
