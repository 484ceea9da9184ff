"""A transformer whose every parameter is short: at most B bits in plain binary notation.

Paper        kajitsuka2025, Theorem F.1 (Lemma F.1): in the faithful form as it is proved; in the
             small form the same statement, but for the width (D7), and the same layers, eq. (3),
             (39), (146).
Statement    N labelled sequences can be memorised by E_in, a token-wise feed-forward part, one
             uniform attention layer, a second feed-forward part and E_out whose parameters have at
             most B bits each, B <= sqrt(N), with about N / B parameters up to logarithms.
Assumptions  A1  CONSISTENT
             A2  PADDED
             A3  B is at least what the hash (the keys) of the contexts takes, about 2 log2(N)
                 bits; a smaller B is refused, and the refusal names the smallest that works.
Guarantee    G1  The output is the number of the sequence's label, exactly, for every sequence
                 (checked, not only argued).
             G2  Every parameter, E_in and E_out included, has at most B bits.
             G3  Small form: the counts of retrieval/bounded.py, about 1.1 I / (B - 1) nonzero
                 parameters and a few hundred more, I = contexts x log2(labels); from B of about
                 sqrt(I) on, as many as hash-fold-retrieve takes. Faithful form: limited_bits_size
                 of theory/kajitsuka2025/sizes.py, about N / B times logarithms.
Departures   D1  Small form: not the paper's proof. Instead of N / B**2 networks for B**2 items
                 each, one network: a table cell of B - 1 bits serves many contexts, each of which
                 reads one bit position of a sum of cells (linear systems over GF(2)).
             D2  The bound is on B itself, not up to the factors of eq. (145); the smallest B is
                 about 2 log2(N), and B may exceed sqrt(N).
             D3  The hash is found by a bounded search over seeds; there is no worst-case theorem
                 for it. The smallest B is the smallest for which this search finds a network.
             D4  1/n is not dyadic: W_O is 2n, so that W_O W_V mean = 2 sum exactly.
             D5  If hash-fold-retrieve happens to keep to B bits with fewer parameters, its network
                 is returned.
             D6  The faithful form is the paper's, its keys and directions as short as a search
                 finds them. Eq. (140) of Lemma F.1 runs its index to N / B^2 instead of
                 N / B^2 + 1, and B^2 need not divide N (bit_extraction/short.py).
             D7  The width of the small form grows with N, also with minimise = "dense".
Notation     N sequences, n length, C labels, I information, B bits, H the context's number, K bit
             positions.
"""

from dataclasses import dataclass

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..machine.watch import Watch
from .base import Built, fixed, option
from .bit_extraction import Extraction
from .retrieval import Retrieval

BITS = 64


def longest() -> int | None:
    return option(None, f"Maximum bits per parameter [{BITS}].", metavar="B", least=1)


@dataclass(frozen=True)
class SmallLimitedBits(Retrieval):
    name = "limited-bits"
    form = "small"
    bits: int | None = longest()
    reject_unknown: int = fixed(0)
    effort: str = fixed("normal")
    editable: bool = fixed(False)
    attention: str = fixed("uniform")

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        from .retrieval.limits import build  # numba is slow to import

        return build(dataset, contexts, self, watch, self.bits or BITS)


@dataclass(frozen=True)
class FaithfulLimitedBits(Extraction):
    name = "limited-bits"
    form = "faithful"
    every = None
    bits: int | None = longest()

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        from .bit_extraction import short

        return short.build(dataset, contexts, self, self.bits or BITS)

    def predict(self, dataset: Dataset, contexts: Contexts) -> None:
        """A search finds the shortest keys, and with them the size."""
