"""Constructions after related work: a key for every context, then a feed-forward network.

Keyed     labels from one whole number per context, its key
  Hashed  whose key is a hash of the tokens (keys.py)
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..exact.network import Input, Layer, Network
from ..machine.watch import SILENT, Watch
from .base import STAGES, Built, Predicted, input_of, labels_of, words_of
from .families import Labelled
from .retrieval.network import constant

Parts = tuple[Input, int, Iterable[Layer]]  # the input, random draws that were made, all layers


@dataclass(frozen=True)
class Keyed(Labelled):
    """Labels from one whole number per context, its key."""

    stages = {**Labelled.stages, **STAGES["Keyed"]}

    @abstractmethod
    def parts(self, dataset: Dataset, contexts: Contexts) -> Parts:
        """The network of data with at least two labels."""

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        labels = set(dataset.labels[contexts.first].tolist())
        if len(labels) == 1:
            spec = input_of(dataset, bool(self.positions))
            others = [i for i in range(len(dataset.label_names)) if i not in labels]
            network = constant(spec, self.attention, False, dataset)
            return Built(network, labels_of(dataset, (*labels, *others)), words_of(dataset), 0)
        spec, tries, layers = self.parts(dataset, contexts)
        return Built(Network(spec, tuple(layers)), labels_of(dataset), words_of(dataset), tries)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted:
        """The size of the network built (keys are searched), except units of bit extraction."""
        network = self.build(dataset, contexts, SILENT).network
        extracts = any(layer.stage == "compare" for layer in network.layers)
        units = None if extracts else network.units
        return Predicted(network.counts()[0]["nonzero"], network.depth, units)


@dataclass(frozen=True)
class Hashed(Keyed):
    """The key is a hash of the tokens, found by a search (keys.py)."""

    @abstractmethod
    def plan(self, keys: list[int], labels: list[int], classes: int) -> Iterable[Layer]:
        """From different keys, from 0 on, to labels: the layers behind lane 0, output included."""

    def parts(self, dataset: Dataset, contexts: Contexts) -> Parts:
        from .keys import reading

        read = reading(dataset, contexts, bool(self.positions), self.attention, self.seed)
        labels, classes = read.labels.tolist(), len(dataset.label_names)
        plan = tuple(self.plan(read.keys.tolist(), labels, classes))
        width = next(iter(plan[0].tensors.values())).columns  # the lanes that it reads
        return read.spec, read.tries, (*read.layers(width), *plan)
