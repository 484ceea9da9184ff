"""The engine of the constructions that retrieve labels from stored numbers by a hash.

problem   dataset to contexts, labels and their code words
hashing   a context to one integer, its hash
plan      what a plan, its layout and its solved numbers have in common; their counts and balance
gf2       linear systems over GF(2), factored
solve     the stored numbers: a linear system over GF(2) per bit position
search    plan, hash and stored numbers within limits
network   the parts of a network that all of them share, its stages, and where it keeps its answers
build     dataset to network, in the form that makes it smallest
editable  a structure from the inputs alone, then numbers for the labels

The forms differ in what the folds of the hash do:

folds     tables: which fold does what, and which stored number stands where
tables    their plans, counts and weights
balance   which folds choose the column
readers   folds that read kept bits instead of tables: layout, plans, counts and weights
survey    many hashes, and how many numbers each of them needs
reading   the search for the smallest network with readers
bounded   digits of the hash, for short parameters and for doubles: layout, counts and weights
limits    what limited-bits and float64 keep to, and the search within it
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...exact.network import FeedForward, Layer, Network
from ...machine.watch import Watch
from ..base import Built, Lanes, Stored, option
from ..families import Labelled
from .network import FOLDS, STAGES, stored


@dataclass(frozen=True)
class Retrieval(Labelled):
    """Labels by a hash of the context, stored numbers and their bits (hash-fold-retrieve).

    embeds     whether tokens are ids of an embedding matrix
    structure  of an editable network: the record with which it is found without a search
    """

    embeds: ClassVar[bool] = False
    stages = {**Labelled.stages, **STAGES}

    reject_unknown: int = option(
        0,
        "Detect unknown inputs; false-accept rate 2^-BITS.",
        metavar="BITS",
        least=0,
        most=40,
    )
    minimise: str = option("nonzero", "What to minimise.", choices=("nonzero", "dense", "bits"))
    effort: str = option(
        "normal",
        "How long to search for a small network: high takes ten times as long or more.",
        choices=("normal", "high"),
    )
    editable: bool = option(
        False, "Let labels decide nothing but stored numbers, so that items can be edited."
    )
    structure: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        if self.editable and self.effort == "high":
            raise ByheartError(
                "`effort='high'` searches for a network that suits the labels, but with "
                "`editable=True` they decide nothing but stored numbers; leave one of the two out."
            )
        # numba is slow to import
        if self.editable:
            from .editable import build
        else:
            from .build import build

        return build(dataset, contexts, self, watch)

    @property
    def edits(self) -> bool:
        return self.editable

    def traced_stage(self, layer: Layer) -> str:
        """Folds for different purposes take turns: they are shown as one stage."""
        folds = isinstance(layer, FeedForward) and layer.stage in FOLDS
        return "fold" if folds else super().traced_stage(layer)

    def stored(
        self, network: Network, streams: Sequence[Lanes], fired: Sequence[list[int]]
    ) -> Stored | None:
        return stored(network, streams, fired)
