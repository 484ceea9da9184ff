"""The paper's own transformer: keys and labels in long numbers, read bit by bit.

Paper        kajitsuka2025, Theorem 4.1 (B.1); Lemmas B.1 to B.3, C.1, C.2 and G.1 to G.6.
Statement    N labelled sequences can be memorised by E_in, a token-wise feed-forward part, one
             uniform attention layer, a second feed-forward part and E_out, with about sqrt(N)
             parameters up to logarithms and width 14.
Assumptions  A1  CONSISTENT
             A2  Tokens lie in a ball of radius r >= 1 and are delta <= 1 apart. Both are measured;
                 a separation that is asked for and fails is refused.
             A3  Sequences are no longer than the network's length; shorter ones are padded at the
                 front, with one more known token.
Guarantee    G1  The output is the number of the sequence's label, exactly, for every sequence.
             G2  The size is bit_extraction_size (theory/kajitsuka2025/sizes.py) to the digit, for N
                 contexts and the paper's R = 400 sqrt(3 d) n^3 r N^5 pi / delta; width 12.
             G3  Known tokens outside the marked set A give exactly 0 in the first part.
Departures   D1  Lemma B.2 as proved is wrong: f = h + shift adds the shift once per element, so
                 sums of multisets of different sizes may coincide (and Lemma B.3 uses it for the
                 restrictions to A, which differ in size). f is a random integer in the same range
                 here, and the sums are checked. Existence in Lemma G.1 likewise: random directions,
                 checked (D12).
             D2  Lemma G.6 mixes up rho and c: (153) must read BIN_(cj+1):c(j+1)(w), and Lemma C.1
                 needs rho for keys and c for labels. LEN(u) is at most rho n, not equal.
             D3  The state of Lemma G.6 lacks the lane of what was found.
             D4  Labels 1, ..., C take C.bit_length() bits (C = 2: two), keys as many as floor(R). 0
                 is kept for "not in the table", so E_out subtracts 1.
             D5  Groups: sqrt(N log N) is rounded, a group has the same number k of places, and
                 groups without a member are dropped. N = 1 is allowed.
             D6  Lemma G.4 says i < j; i = j (labels of one bit) is needed. Bits are gathered by
                 A <- 2 A + bit, else its "n + 2 bits" fails.
             D7  Lemma G.6 without skip connections is 3 n max(rho, c) + 3 n + 2 layers deep, not
                 + 2 n; with them it is 2 n max(rho, c) + 3 n + 1.
             D8  A lane that is written again is erased as x - relu(x), so keys and sums must not be
                 negative: keys start at 2, as the bias of F_1 in Lemma C.1 has it.
             D9  1/n in the attention is dyadic for n = 2^a only: W_O W_V is n, the third lane the
                 sum instead of the mean; R_2 stays as it is.
             D10 (47) lacks the multiplicities of Lemma B.3; phi is 0 outside A; F_j of (152) is
                 R^3 -> R^3.
             D11 Selectors are neither 0 nor 1 on gaps of length 1/2: unknown tokens that fall there
                 give arbitrary output. Nothing is promised for unknown sequences.
             D12 Lemma C.2 rounds away from 0 and keeps the bias off 0, so that sizes do not depend
                 on the data.
             D13 The proof assumes that feed-forward layers have no skip connection and calls the
                 modification straightforward. Here all layers are blocks of eq. (3): lanes that
                 stay cost nothing, and the outer relu of what is not negative is left out. Twelve
                 lanes and eight units suffice, so width 14 holds with skip connections, too; there
                 are about half as many parameters as without.
Notation     N contexts, n length, d dimension, C labels, r radius, delta separation; A the marked
             tokens; R the largest key, k keys per group, rho bits per key, c bits per label.
"""

from dataclasses import dataclass

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...exact.network import Layer, Relu
from ...machine.watch import Watch
from ..base import STAGES, Built, Predicted, option
from ..families import Labelled


@dataclass(frozen=True)
class Extraction(Labelled):
    """The paper's own constructions (bit-extraction)."""

    provable = 10_000
    stages = {**Labelled.stages, **STAGES["Extraction"]}

    separation: float | None = option(
        None,
        "Refuse data whose tokens are closer than this.",
        metavar="DISTANCE",
        least=0.0,
        above=True,
    )

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        from .transformer import build

        return build(dataset, contexts, self, self.separation)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted | None:
        from .transformer import predict

        return predict(dataset, contexts, bool(self.positions), self.separation)

    def traced_stage(self, layer: Layer) -> str:
        """Bits are read and keys compared in turns: they are shown as one stage."""
        reads = isinstance(layer, Relu) and layer.stage == "compare"
        return "read" if reads else super().traced_stage(layer)


@dataclass(frozen=True)
class BitExtraction(Extraction):
    name = "bit-extraction"
