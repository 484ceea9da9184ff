"""A deep set, rho(sum of phi(x)), that returns the label of every multiset.

Paper        kajitsuka2025, Theorem D.1.
Statement    N labelled multisets of vectors can be memorised by two feed-forward networks: one
             acts on every element, the results are added, the other one reads the sum; about
             sqrt(N) parameters up to logarithms.
Assumptions  A1  Equal multisets carry equal labels: order counts for nothing, not even the last
                 element.
             A2  Multisets are finite; one may be empty, then its sum is 0.
Guarantee    G1  The output is the number of the multiset's label, exactly (checked, not only
                 argued).
             G2  Small form: the counts of hash-fold-retrieve for as many multisets, less the
                 attention layer; faithful form: those of Lemma C.1 for phi and rho.
Departures   D1  The theorem adds, it does not average: multisets of different cardinality are not
                 padded, and {x} differs from {x, x}.
             D2  The small form is not the paper's proof: see hash-fold-retrieve. The faithful form
                 uses the repaired Lemma B.2: see bit-extraction.
             D3  "The correspondence of sums and labels is injective" (before eq. (119)) should say
                 that the sums of different multisets differ; labels may repeat.
Notation     N multisets, phi and rho the two networks.
"""

from dataclasses import dataclass

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..machine.watch import Watch
from .base import Built, Predicted, fixed
from .families import Extraction
from .retrieval import Retrieval


@dataclass(frozen=True)
class SmallDeepSet(Retrieval):
    name = "deep-sets"
    form = "small"
    last = False
    empty = True
    positions: bool | None = fixed(False)
    attention: str = fixed("sum")


@dataclass(frozen=True)
class FaithfulDeepSet(Extraction):
    name = "deep-sets"
    form = "faithful"
    last = False
    empty = True
    positions: bool | None = fixed(False)
    attention: str = fixed("sum")

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        from .bit_extraction import multisets

        return multisets.build(dataset, contexts, self)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted:
        from .bit_extraction import multisets

        return multisets.predict(dataset, contexts, self)
