"""A transformer of ordinary doubles that is exact on every sequence, in any order of summation.

Paper        kajitsuka2025, Theorem 4.1 (B.1) in the regime of Theorem F.1: the same statement, but
             for the width (D5), and the same layers, eq. (3), (39), (43); another construction.
Statement    N labelled sequences can be memorised by E_in, a token-wise feed-forward part, one
             uniform attention layer, a second feed-forward part and E_out. With parameters of B
             bits, about N / B of them suffice; a double has 53.
Assumptions  A1  CONSISTENT
             A2  PADDED
             A3  Coordinates are doubles, 0 or from 2**-1000 to 2**1000 in absolute value, that
                 differ by at most about 2**50 units of their smallest digit: then the projected
                 tokens are doubles too.
Guarantee    G1  The output is the number of the sequence's label, exactly, for every sequence
                 (checked, not only argued).
             G2  Every weight is an IEEE double, and for every sequence every weighted sum has terms
                 that are multiples of some g and add up, in absolute value, to at most 2**53 g:
                 double arithmetic never rounds (proved for every sequence before it is returned).
             G3  The counts of retrieval/bounded.py: about I / 45 nonzero parameters and a few
                 hundred more, I = contexts x log2(labels).
Departures   D1  Not the paper's proof: limited-bits with a bound on the span of every sum instead
                 of the length of every parameter. Gates are 0 or 1, so that no sum mixes the hash
                 with stored numbers.
             D2  The hash is found by a bounded search over seeds; there is no worst-case theorem
                 for it.
             D3  The network's length is a power of two, so that the mean over it is exact.
             D4  If the network of hash-fold-retrieve is exact in doubles and smaller, as for a few
                 hundred sequences, it is returned.
             D5  The width grows with N, also with minimise = "dense".
Notation     N sequences, n length, C labels, I information, H the context's number, K bit
             positions.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..claims.claim import Labels
from ..data.contexts import Contexts
from ..data.dataset import Dataset, beyond_float
from ..errors import AssumptionError, ByheartError
from ..exact.batch import Batch
from ..exact.float64.engine import prove
from ..exact.float64.spans import DIGITS, UNSIZED, sized
from ..machine.watch import Watch
from .base import Built, fixed, input_of
from .retrieval import Retrieval

INSTEAD = (
    "use hash-fold-retrieve, or coordinates with fewer binary digits (0.1 has 53: multiply by 10, "
    "or round to multiples of a power of two)"
)
ATTEMPTS, STEP = 4, 1_000_003  # seeds that are tried, and how far apart


@dataclass(frozen=True)
class Float64(Retrieval):
    name = "float64"
    reject_unknown: int = fixed(0)
    effort: str = fixed("normal")
    editable: bool = fixed(False)
    attention: str = fixed("uniform")

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        from .retrieval.limits import Double, case, size  # numba is slow to import

        vectors = dataset.vectors
        if vectors.dtype.kind == "i" and beyond_float(vectors):
            raise AssumptionError(f"A3 fails: a coordinate of a token is not a double; {INSTEAD}.")
        if not sized(vectors.astype(np.float64)).all():
            raise AssumptionError(
                f"A3 fails: a coordinate of a token is {UNSIZED}; use hash-fold-retrieve, or "
                "multiply the coordinates by a power of two."
            )
        spec = input_of(dataset, bool(self.positions))
        spec = replace(spec, length=1 << (spec.length - 1).bit_length())  # D3
        prepared = case(dataset, contexts, spec)
        found = prepared.alternatives(self, watch, DIGITS)
        reason = ""
        for attempt in range(ATTEMPTS):
            seeded = replace(self, seed=self.seed + attempt * STEP)
            if (one := prepared.build(Double(), seeded, watch)) is not None:
                found.append(one)
            for built in sorted(found, key=lambda x: size(x, self.minimise)):
                try:  # G2
                    prove(built.network, Batch(dataset.vectors, dataset.ids, dataset.starts))
                except ByheartError as error:
                    reason = str(error).removesuffix(".")
                else:
                    claim = Labels(built.claim.labels or (), arithmetic="float64")
                    return replace(built, claim=claim)
            found = []
            watch.note(reason or "no hash of the tokens within 53 bits")
        raise AssumptionError(
            f"A3 fails: {reason or 'no hash within 53 bits was found'}; {INSTEAD}."
        )
