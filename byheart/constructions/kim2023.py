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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..exact.network import Layer, Number
from ..gadgets.attention_neurons import hard_attention
from ..gadgets.blocks import Block, feed_forward
from ..gadgets.switches import switches
from .base import STAGES, fixed
from .bit_extraction import Extraction
from .keyed import Keyed, Parts
from .vardi2022 import looked_up

if TYPE_CHECKING:
    from .keys import Numbered

LANES = ("z", "own", "one", "m", "s")


def sorting(read: "Numbered", weights: Sequence[int], width: int) -> Iterator[Layer]:
    """The rounds: lane s <- the sum of the tokens in decreasing order, times these weights."""
    names = [*LANES, *(f"lane {i}" for i in range(len(LANES), width))]
    lanes = {name: i for i, name in enumerate(names)}
    z, own, one, m, s = range(len(LANES))
    largest = 1 << int(read.rows.max()).bit_length()  # M
    yield read.embed(width)
    copy = Block("copy", [({"z": 1}, 0)], [("own", 0, 1)], {"one": 1})
    yield feed_forward(copy, lanes)
    for i, weight in enumerate(weights):
        yield hard_attention(width, [([{one: 1}], [{z: 1}], {z: 1}, {m: 1})])
        units: list = [({"m": 1}, 0)]
        writes: list = [("s", 0, weight)]
        if i < len(weights) - 1:
            units.append(({"z": 1 + largest, "m": -largest}, 0))  # D1
            writes += [("m", 0, -1), ("z", 1, -1)]
        yield feed_forward(Block("sort", units, writes), lanes)


def sorted_keys(read: "Numbered", seed: int) -> tuple[list[int], list[int]]:
    """Small weights, of the sorted tokens and the own one, for which all keys differ; the keys."""
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
            return weights, [int(key) for key in keys]
        size = size * 1.02 + 0.2


@dataclass(frozen=True)
class SmallKim(Keyed):
    name = "kim2023"
    form = "small"
    stages = {**Keyed.stages, **STAGES["SmallKim"]}

    attention: str = fixed("hard")

    def plan(
        self, keys: list[int], labels: list[int], classes: int, terms: Mapping[str, Number]
    ) -> Iterable[Layer]:
        """From the key, a sum of lanes, to the label."""
        places = {LANES.index(name): weight for name, weight in terms.items()}
        return switches(keys, labels, True, places, len(LANES))

    def parts(self, dataset: Dataset, contexts: Contexts) -> Parts:
        from .keys import numbered

        read = numbered(dataset, contexts, bool(self.positions), self.seed)
        weights, keys = sorted_keys(read, self.seed)
        terms = {"s": 1, "own": weights[-1]}
        plan = tuple(self.plan(keys, read.labels.tolist(), len(dataset.label_names), terms))
        width = next(iter(plan[0].tensors.values())).columns  # the lanes that it reads
        return read.spec, 1, (*sorting(read, weights[:-1], width), *plan)


@dataclass(frozen=True)
class FaithfulKim(SmallKim):
    form = "faithful"
    provable = Extraction.provable
    stages = {**Extraction.stages, **SmallKim.stages, "key": "Keys become 2 apart."}

    def plan(
        self, keys: list[int], labels: list[int], classes: int, terms: Mapping[str, Number]
    ) -> Iterable[Layer]:
        return looked_up(keys, labels, classes, 0, LANES, terms)
