"""The options that the constructions of one family share, each written once.

Labelled         stores a label per context      positions, attention
  Retrieval      after hash-fold-retrieve        reject_unknown, minimise, effort, editable
  Extraction     after bit-extraction            separation
  Keyed          after related work: a key per context, then a feed-forward network
    Hashed       whose key is a hash of the tokens
Interpolation    stores next-token distributions dimension, heads, head_dimension, gap
  NeuronDecoder     one layer with neurons       skip, activation
  AttentionDecoder  attention without neurons    tight, encoder

A construction that does not leave one of them to the user fixes it: `positions = fixed(False)`.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..data.targets import Targets, targets
from ..errors import ByheartError
from ..exact.network import FeedForward, Input, Layer, Network, Relu
from ..gadgets.logits import LARGEST_GAP, SMALLEST_GAP
from ..softmax.decoder import ACTIVATIONS, ATTENTION, Shape
from .base import Built, Construction, Lanes, Predicted, Report, Stored, input_of, option
from .retrieval.holders import FOLDS, stored

SIZE_LIMIT = 1 << 20  # of checker/FORMAT.md


def size(help: str, metavar: str = "N") -> int | None:
    """A size of a decoder; None leaves it to the method."""
    return option(None, help, metavar=metavar, least=1, most=SIZE_LIMIT)


def gap(shown: str) -> float | None:
    """How near every distribution must be; `shown` is what a method does without it."""
    help = f"Largest divergence of a context from its target [{shown}]."
    return option(None, help, metavar="NATS", least=SMALLEST_GAP, most=LARGEST_GAP)


@dataclass(frozen=True)
class Labelled(Construction):
    """Stores one label per context."""

    stages = {
        ("linear", "embed"): "E_in turns each token's vector into the numbers of its column.",
        ("embedding", "embed"): "The embedding matrix gives each token id its column.",
        ("uniform_attention", "attend"): "Each column receives the sum over all columns.",
        ("hard_attention", "attend"): "Each column adds the columns with the largest score.",
        "sum": "All columns are added up to one.",
        "output": "E_out outputs the number of the label.",
    }

    positions: bool | None = option(
        None, "Distinguish sequences by the order of their tokens [for words]."
    )
    attention: str = option(
        "uniform", "Attention: uniform, or hard with equal scores.", choices=("uniform", "hard")
    )


@dataclass(frozen=True)
class Retrieval(Labelled):
    """Labels by a hash of the context, stored numbers and their bits (hash-fold-retrieve).

    embeds     whether tokens are ids of an embedding matrix
    structure  of an editable network: the record with which it is found without a search
    """

    embeds: ClassVar[bool] = False
    stages = {
        **Labelled.stages,
        "token hash": "Folds mix the digits of each token's number.",
        "gather": "The extra token gathers the sum of all columns.",
        ("sparse_attention", "attend"): "Each column reads that sum from the extra token.",
        "mix": "Folds mix the digits of the context's number.",
        "store": "Folds halve the context's number; each threshold stores a number.",
        "keep bit": "Bits of the context's number are kept; later folds read them.",
        "gate": "Bits of the context's number switch copies of the tables on or off.",
        "row index": "Bits of the context's number choose the row of a table.",
        "block gate": "A bit of the context's number chooses a half of each stored number.",
        "column gate": "Bits of the context's number open or close the shifts.",
        "column index": "Bits of the context's number choose how far to shift.",
        "mark": "Bits of the context's number make up its fingerprint.",
        "select": "The chosen row of each table is added to the stored sum.",
        "add lanes": "Copies of the tables that are on join the stored sum.",
        "add": "Copies of the tables that are on join the stored sum.",
        "zigzag": "The last digit of the context's number shifts the stored sum.",
        "block shift": "The stored sum is scaled up for contexts that read the lower halves.",
        "block strip": "Folds remove the high bits of the sum of upper halves.",
        "block fold": "Folds remove the sum of upper halves; each threshold stores a number.",
        "shift": "The stored sum moves until the label's bits stand on top.",
        "strip": "Folds remove the high bits of the stored sum.",
        "compare": "The stored fingerprint is compared: an unknown input is detected.",
        "decode": "The label's code word becomes the label's number.",
        "read": "Thresholds read the label's number digit by digit.",
    }

    reject_unknown: int = option(
        0,
        "Detect unknown inputs; false-accept rate 2^-BITS.",
        metavar="BITS",
        least=0,
        most=40,
    )
    minimise: str = option("nonzero", "What to minimise.", choices=("nonzero", "dense", "bits"))
    effort: str = option(
        "normal",
        "How long to search for a small network: high takes ten times as long or more.",
        choices=("normal", "high"),
    )
    editable: bool = option(
        False, "Let labels decide nothing but stored numbers, so that items can be edited."
    )
    structure: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    def build(self, dataset: Dataset, contexts: Contexts, report: Report) -> Built:
        if self.editable and self.effort == "high":
            raise ByheartError(
                "effort='high' searches for a network that suits the labels, but with "
                "editable=True they decide nothing but stored numbers; leave one of the two out."
            )
        # numba is slow to import
        if self.editable:
            from .hash_fold_retrieve.editable import build
        else:
            from .hash_fold_retrieve.build import build

        return build(dataset, contexts, self, report)

    @property
    def edits(self) -> bool:
        return self.editable

    def traced_stage(self, layer: Layer) -> str:
        """Folds for different purposes take turns: they are shown as one stage."""
        folds = isinstance(layer, FeedForward) and layer.stage in FOLDS
        return "fold" if folds else super().traced_stage(layer)

    def stored(
        self, network: Network, streams: Sequence[Lanes], fired: Sequence[list[int]]
    ) -> Stored | None:
        return stored(network, streams, fired)


@dataclass(frozen=True)
class Extraction(Labelled):
    """The paper's own constructions (bit-extraction)."""

    provable = 10_000
    stages = {
        **Labelled.stages,
        "select": "Finds the group of the key and fetches the group's two long numbers.",
        "read": "Tent maps read keys and values out of the two numbers, bit by bit.",
        "compare": "Each key read is compared; the value of an equal one is kept.",
        "project": "A projection turns the column into one scalar, the context id.",
    }

    separation: float | None = option(
        None,
        "Refuse data whose tokens are closer than this.",
        metavar="DISTANCE",
        least=0.0,
        above=True,
    )

    def build(self, dataset: Dataset, contexts: Contexts, report: Report) -> Built:
        from .bit_extraction import transformer

        return transformer.build(dataset, contexts, self)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted | None:
        from .bit_extraction import transformer

        return transformer.predict(dataset, contexts, self)

    def traced_stage(self, layer: Layer) -> str:
        """Bits are read and keys compared in turns: they are shown as one stage."""
        reads = isinstance(layer, Relu) and layer.stage == "compare"
        return "read" if reads else super().traced_stage(layer)


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
        "token hash": Retrieval.stages["token hash"],
        "switches": "Switches tell in which group of keys the key is.",
        "steps": "Each unit is one kink of the step function from keys to labels.",
    }

    @abstractmethod
    def parts(self, dataset: Dataset, contexts: Contexts) -> tuple[Front, Plan]:
        """What makes the keys, and what makes labels of them; there are at least two labels."""

    def build(self, dataset: Dataset, contexts: Contexts, report: Report) -> Built:
        constant = one_label(dataset, contexts, self)
        if constant is not None:
            return constant
        front, plan = self.parts(dataset, contexts)
        network = Network(front.spec, (*front.layers(plan.width), *plan.layers()))
        return Built(network, front.tries, order=tuple(range(len(dataset.label_names))))

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted:
        constant = one_label(dataset, contexts, self)
        if constant is not None:
            return size_of(constant)
        front, plan = self.parts(dataset, contexts)
        units = None if plan.units is None else front.units + plan.units
        return Predicted(front.parameters + plan.parameters, front.depth + plan.depth, units)


@dataclass(frozen=True)
class Hashed(Keyed):
    """The key is a hash of the tokens, found by a search (retrieval/reader.py)."""

    @abstractmethod
    def plan(self, keys: list[int], labels: list[int], classes: int) -> Plan:
        """How different keys, from 0 on, get their labels."""

    def parts(self, dataset: Dataset, contexts: Contexts) -> tuple[Front, Plan]:
        from .retrieval.reader import reading

        read = reading(dataset, contexts, bool(self.positions), self.attention, self.seed)
        labels = read.labels.tolist()
        return read, self.plan(read.keys.tolist(), labels, len(dataset.label_names))


def one_label(dataset: Dataset, contexts: Contexts, options: Labelled) -> Built | None:
    """A network whose output is constant, if all contexts have one label."""
    labels = set(dataset.labels[contexts.first].tolist())
    if len(labels) > 1:
        return None
    from .retrieval.assemble import constant

    spec = input_of(dataset, bool(options.positions))
    others = [i for i in range(len(dataset.label_names)) if i not in labels]
    return Built(constant(spec, options.attention, False, dataset), 0, order=(*labels, *others))


def size_of(built: Built) -> Predicted:
    """The size of a network that was built, because that is as quick."""
    network = built.network
    return Predicted(network.counts()[0]["nonzero"], network.depth, network.units)


@dataclass(frozen=True)
class Interpolation(Construction):
    """A decoder that stores distributions: two labels of one context are not a conflict."""

    stores = "distributions"
    stages = {
        "embed": "Z gives each token its vector, U adds the vector of its place.",
        "attend": "The last token attends to all: their mean, weighted by softmax scores.",
        "sum": "The tokens' vectors are added up, each times the weight of its place.",
        "neurons": "Each neuron is on if the mixed vector is beyond a threshold of its own.",
        "output": "V turns the neurons into logits, softmax into the distribution.",
    }

    dimension: int | None = size("Dimension of embedded tokens.", "D")
    heads: int | None = size("Heads of softmax attention.", "H")
    head_dimension: int | None = size("Dimension of queries, keys and values.", "D")
    gap: float | None = gap("1e-9")

    def build(self, dataset: Dataset, contexts: Contexts, report: Report) -> Built:
        return self.interpolate(targets(dataset, contexts), report)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted | None:
        shape = self.shape(targets(dataset, contexts))
        if shape is None:
            return None
        return Predicted(shape.parameters, 1, shape.neurons + shape.heads)

    def shape(self, targets: Targets) -> Shape | None:
        """The sizes of the decoder, refused as `interpolate` would; None if a search finds them."""
        return None

    @abstractmethod
    def interpolate(self, targets: Targets, report: Report) -> Built:
        """A decoder whose distributions are within the gap of these."""


@dataclass(frozen=True)
class NeuronDecoder(Interpolation):
    """One layer: attention or a weighted sum of tokens, neurons, an output matrix."""

    mixing: ClassVar[str] = ATTENTION
    skip: bool = option(False, "Whether attention adds the last token's vector.")
    activation: str | None = option(None, "Activation of the neurons.", choices=tuple(ACTIVATIONS))

    def sizes(
        self, targets: Targets, dimension: int, neurons: int, activation: str, share: bool = False
    ) -> Shape:
        """The sizes that the options name, or these; heads may share the coordinates."""
        d, heads = self.dimension or dimension, self.heads or 1
        head = self.head_dimension or (max(1, d // heads) if share else d)
        if self.mixing != ATTENTION:
            heads = head = 0
        return Shape(
            vocabulary=len(targets.vocabulary),
            length=targets.length,
            dimension=d,
            mixing=self.mixing,
            heads=heads,
            key_dimension=head,
            value_dimension=head,
            skip=self.skip,
            neurons=neurons,
            activation=self.activation or activation,
        )


@dataclass(frozen=True)
class AttentionDecoder(Interpolation):
    """One layer of attention without neurons."""

    stages = {
        **Interpolation.stages,
        "output": "V turns the mixed vector into logits, softmax into the distribution.",
    }

    gap: float | None = gap("1e-9, or what can be reached")
    tight: bool = option(False, "Whether the skip connection counts as a head.")
    encoder: str | None = option(
        None, "The target sequence encoder.", choices=("circle", "look-up", "optimal")
    )
