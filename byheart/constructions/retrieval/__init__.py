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

from dataclasses import dataclass

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...machine.kernels import interpreted
from ...machine.watch import Watch
from ..base import Built
from .network import Settings

FEW = 12  # contexts: up to here, loading kernels takes longer than running them as Python functions


@dataclass(frozen=True)
class Retrieval(Settings):
    """Labels by a hash of the context, stored numbers and their bits (hash-fold-retrieve)."""

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        if self.editable and self.effort == "high":
            raise ByheartError(
                "`effort='high'` searches for a network that suits the labels, but with "
                "`editable=True` they decide nothing but stored numbers; leave one of the two out."
            )
        if self.editable:
            from .editable import build
        else:
            from .build import build

        with interpreted(len(contexts) <= FEW):
            return build(dataset, contexts, self, watch)
