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
from ..machine.watch import Watch
from .base import Built, Predicted, input_of, labels_of, words_of
from .families import Labelled
from .retrieval.network import constant


class Front(Protocol):
    """From sequences to keys: the layers before a plan, and their counts."""

    @property
    def spec(self) -> Input: ...
    @property
    def tries(self) -> int: ...
    @property
    def parameters(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def units(self) -> int: ...  # neurons and heads
    def layers(self, width: int) -> Iterable[Layer]: ...  # of a stream with this many lanes


class Plan(Protocol):
    """From keys to labels: the layers behind a front, output included, and their counts."""

    @property
    def width(self) -> int: ...  # lanes that it reads; the key is in lane 0, the others are 0
    @property
    def parameters(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def units(self) -> int | None: ...  # neurons
    def layers(self) -> Iterable[Layer]: ...


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
        constant = one_label(dataset, contexts, self)
        if constant is not None:
            return constant
        front, plan = self.parts(dataset, contexts)
        network = Network(front.spec, (*front.layers(plan.width), *plan.layers()))
        return Built(network, labels_of(dataset), words_of(dataset), front.tries)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted:
        constant = one_label(dataset, contexts, self)
        if constant is not None:
            return size_of(constant)
        front, plan = self.parts(dataset, contexts)
        units = None if plan.units is None else front.units + plan.units
        return Predicted(front.parameters + plan.parameters, front.depth + plan.depth, units)


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


def one_label(dataset: Dataset, contexts: Contexts, options: Labelled) -> Built | None:
    """A network whose output is constant, if all contexts have one label."""
    labels = set(dataset.labels[contexts.first].tolist())
    if len(labels) > 1:
        return None
    spec = input_of(dataset, bool(options.positions))
    others = [i for i in range(len(dataset.label_names)) if i not in labels]
    network = constant(spec, options.attention, False, dataset)
    return Built(network, labels_of(dataset, (*labels, *others)), words_of(dataset), 0)


def size_of(built: Built) -> Predicted:
    """The size of a network that was built, because that is as quick."""
    network = built.network
    return Predicted(network.counts()[0]["nonzero"], network.depth, network.units)
