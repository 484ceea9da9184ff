"""A transformer of hard attention alone: every neuron of the smallest network is a head.

Paper        huben2023, after its idea that a neuron is an attention head; hard attention is ours.
Statement    Attention layers can stand in for neurons: a masked head that sees its own column and
             one extra column computes an activation function. With hard attention it computes ReLU
             exactly, in dimension 2.
Assumptions  A1  CONSISTENT Only the last column is asked.
             A2  Tokens are ids: words, or integers from 0 to 2^20 - 2.
             A3  The network to convert has blocks, relu layers and averaging attention only, and
                 sequences are no longer than its length.
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  No neuron: embedding, hard attention, output. A unit with k nonzero weights and
                 bias, written to j lanes, is a head with 2 k + j + 4 parameters (before columns
                 meet 2 k + j + 9); the lanes of the heads take one parameter per id and three
                 more, an average 5 and its outputs, squares of positions 6 (n - 1).
             G3  About three times the parameters of `embedding`, of which sqrt(N log N) hold
                 labels: dana2024 counts this way as strictly worse than its own, for softmax.
Departures   D1  The paper has softmax, where a head computes SiLU up to an error. Its text was not
                 at hand: the proof (byheart/gadgets/attention_neurons.py) is ours.
             D2  One extra column is put before the sequence; the paper has one as well.
             D3  The network that is converted is `embedding` in its small form: see
                 hash-fold-retrieve.
Notation     N sequences, n length.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..exact.network import Layer, Network
from ..machine.watch import Watch
from .base import STAGES, Built, Lanes, Stored, fixed
from .embedding import check_ids
from .families import Labelled
from .retrieval import Retrieval


@dataclass(frozen=True)
class AttentionNeurons(Retrieval):
    name = "attention-neurons"
    embeds = True
    stages = {**Retrieval.stages, **STAGES["AttentionNeurons"]}

    attention: str = fixed("uniform")
    reject_unknown: int = fixed(0)

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        from ..gadgets.attention_neurons import attention_alone

        check_ids(dataset)
        made = [super().build(dataset, contexts, watch)]
        if not self.editable:  # folds that read many lanes are long heads: tables may be smaller
            from .retrieval.build import build

            made.append(build(dataset, contexts, self, watch, tables_only=True))
        padding = made[0].network.input.padding
        ids = {int(x) for x in dataset.vectors[:, 0].tolist()} | {int(padding[0].fraction)}
        alone = [replace(x, network=attention_alone(x.network, ids)) for x in made]
        return min(alone, key=lambda built: built.network.counts()[0]["nonzero"])

    def predict(self, dataset: Dataset, contexts: Contexts) -> None:
        check_ids(dataset)

    def traced_stage(self, layer: Layer) -> str:
        return Labelled.traced_stage(self, layer)

    def stored(
        self, network: Network, streams: Sequence[Lanes], fired: Sequence[list[int]]
    ) -> Stored | None:
        return None
