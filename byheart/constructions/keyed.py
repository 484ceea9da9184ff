"""Constructions after related work: a key for every context, then a feed-forward network.

Keyed     labels from one whole number per context, its key
  Hashed  whose key is a hash of the tokens (keys.py)
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..exact.network import Input, Layer, Network
from ..machine.watch import SILENT, Watch
from .base import Built, Predicted, input_of, labels_of, words_of
from .families import Labelled
from .retrieval.network import constant


class Front(Protocol):
    """From sequences to keys."""

    @property
    def spec(self) -> Input: ...
    @property
    def tries(self) -> int: ...
    def layers(self, width: int) -> Iterable[Layer]: ...  # of a stream with this many lanes


Plan = Iterable[Layer]  # from keys to labels, output included; the key is in lane 0, others are 0


@dataclass(frozen=True)
class Keyed(Labelled):
    """Labels from one whole number per context, its key."""

    stages = {
        **Labelled.stages,
        "switches": "Switches tell in which group of keys the key is.",
        "steps": "Each unit is one kink of the step function from keys to labels.",
    }

    @abstractmethod
    def parts(self, dataset: Dataset, contexts: Contexts) -> tuple[Front, Plan]:
        """What makes the keys, and what makes labels of them; there are at least two labels."""

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        labels = set(dataset.labels[contexts.first].tolist())
        if len(labels) == 1:
            spec = input_of(dataset, bool(self.positions))
            others = [i for i in range(len(dataset.label_names)) if i not in labels]
            network = constant(spec, self.attention, False, dataset)
            return Built(network, labels_of(dataset, (*labels, *others)), words_of(dataset), 0)
        front, plan = self.parts(dataset, contexts)
        layers = tuple(plan)
        width = next(iter(layers[0].tensors.values())).columns
        network = Network(front.spec, (*front.layers(width), *layers))
        return Built(network, labels_of(dataset), words_of(dataset), front.tries)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted:
        """The size of the network that is built: the search for keys takes most of the time.

        Units of bit extraction are not counted, as for the method of that name.
        """
        network = self.build(dataset, contexts, SILENT).network
        extracts = any(layer.stage == "compare" for layer in network.layers)
        units = None if extracts else network.units
        return Predicted(network.counts()[0]["nonzero"], network.depth, units)


@dataclass(frozen=True)
class Hashed(Keyed):
    """The key is a hash of the tokens, found by a search (keys.py)."""

    @abstractmethod
    def plan(self, keys: list[int], labels: list[int], classes: int) -> Plan:
        """How different keys, from 0 on, get their labels."""

    def parts(self, dataset: Dataset, contexts: Contexts) -> tuple[Front, Plan]:
        from .keys import reading

        read = reading(dataset, contexts, bool(self.positions), self.attention, self.seed)
        labels = read.labels.tolist()
        return read, self.plan(read.keys.tolist(), labels, len(dataset.label_names))
