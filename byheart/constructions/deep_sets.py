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
from fractions import Fraction
from random import Random

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..exact.network import Input, Network, Sum
from ..gadgets.blocks import feed_forwards
from ..gadgets.key_values import lookup, table
from ..gadgets.multisets import identified
from ..gadgets.projection import project
from ..machine.watch import Watch
from ..theory.kajitsuka2025.sizes import deep_sets_size, largest_value, sum_key_bits, token_key_bits
from .base import Built, Predicted, fixed
from .bit_extraction import Extraction, transformer
from .bit_extraction.known import known_multisets
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
    """Theorem D.1: phi on every element, their sum, rho on it (eq. (112)).

    Departures   D1  Lemma B.3 is used with random integers (see bit_extraction, D1).
                 D2  The empty multiset has the sum 0. Lemma C.1 wants keys from 2 on, so Stage I of
                     rho shifts: its bias is not 0.
    """

    name = "deep-sets"
    form = "faithful"
    last = False
    empty = True
    positions: bool | None = fixed(False)
    attention: str = fixed("sum")

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        seen = known_multisets(dataset, contexts, self.separation)
        (N, M), d, random = seen.rows.shape, seen.points.shape[1], Random(self.seed)
        tokens = project(seen.points, seen.exponent, N * M, seen.separation, random)
        largest = largest_value(N, N)
        chosen, phi = identified(seen.rows, largest, random)
        sums = phi[seen.rows].sum(axis=1).astype(object)
        ids = project(sums[:, None], 0, N, Fraction(1), random)  # eq. (119)
        key_bits = token_key_bits(N * M, d, seen.radius, seen.separation)
        first = transformer.token_table(tokens, phi, chosen, key_bits, largest.bit_length())
        second = table(ids.keys(), seen.labels, sum_key_bits(N, M), transformer.label_bits(dataset))
        stage = transformer.stage_one({"phi": ids.weights[0]}, ids.bias)
        part = feed_forwards(lookup("x", first, "phi"), transformer.LANES)
        end = feed_forwards([stage, *lookup("x", second, "label")], transformer.LANES)
        reads, last = Input(d, M, False, None), transformer.output()
        network = Network(reads, (transformer.embed(tokens), *part, Sum(), *end, last))
        return transformer.built(network, dataset, tokens.tries + ids.tries)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted:
        seen = known_multisets(dataset, contexts, self.separation)
        (N, M), d = seen.rows.shape, seen.points.shape[1]
        labels, marked = len(dataset.label_names), len(seen.marked)
        size = deep_sets_size(N, M, d, labels, seen.radius, seen.separation, marked)
        return transformer.predicted(size, d + 1)
