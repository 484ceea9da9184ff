"""Hidden layers of about sqrt(N) ReLU units: few units, but still about N parameters.

Paper        yun2019, after its result that networks of three layers memorise with sqrt(N) units.
Statement    Two hidden layers of about sqrt(N) units each memorise N points: capacity grows with
             the number of weights, about N of them.
Assumptions  A1  CONSISTENT
             A2  PADDED
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  For S places where the label changes between neighbouring keys: 4 sqrt(S) units
                 and 4 S + 10 sqrt(S) parameters, rounded up, in the faithful form; 5 sqrt(S) units
                 and 2 S + 12 sqrt(S) parameters in the small one, beside the reader.
Departures   D1  The paper's text was not at hand: the proof (byheart/gadgets/switches.py) is ours.
             D2  Small form: a third hidden layer joins the two units of each switch, which halves
                 the weights.
             D3  Contexts become whole numbers by the reader of hash-fold-retrieve, single tokens by
                 a projection: the paper has points.
Notation     N points, S label changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..exact.network import Layer
from ..gadgets.switches import switches
from .keyed import Hashed


@dataclass(frozen=True)
class SmallThreeLayer(Hashed):
    name = "three-layer"
    form = "small"
    between: ClassVar[bool] = True

    def plan(self, keys: list[int], labels: list[int], classes: int) -> Iterator[Layer]:
        return switches(keys, labels, self.between)


@dataclass(frozen=True)
class FaithfulThreeLayer(SmallThreeLayer):
    form = "faithful"
    between = False
