"""The options that the constructions of one family share, each written once.

Labelled         stores a label per context      positions, attention
  Extraction     after bit-extraction (bit_extraction/)
  Retrieval      after hash-fold-retrieve (retrieval/)
  Keyed          after related work (keyed.py)
Interpolation    stores next-token distributions dimension, heads, head_dimension, gap
  NeuronDecoder     one layer with neurons       skip, activation
  AttentionDecoder  attention without neurons    tight, encoder

A construction that does not leave one of them to the user fixes it: `positions = fixed(False)`.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from ..claims.claim import Distributions
from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..data.targets import Targets, targets
from ..gadgets.logits import LARGEST_GAP, SMALLEST_GAP
from ..machine.threads import single
from ..machine.watch import Watch
from ..softmax.decoder import ACTIVATIONS, ATTENTION, Shape
from .base import STAGES, Built, Construction, Predicted, option

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

    stages = STAGES["Labelled"]

    positions: bool | None = option(
        None, "Distinguish sequences by the order of their tokens [for words]."
    )
    attention: str = option(
        "uniform", "Attention: uniform, or hard with equal scores.", choices=("uniform", "hard")
    )


@dataclass(frozen=True)
class Interpolation(Construction):
    """A decoder that stores distributions: two labels of one context are not a conflict."""

    claim = Distributions
    stages = STAGES["Interpolation"]

    dimension: int | None = size("Dimension of embedded tokens.", "D")
    heads: int | None = size("Heads of softmax attention.", "H")
    head_dimension: int | None = size("Dimension of queries, keys and values.", "D")
    gap: float | None = gap("1e-9")

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        with single():
            return self.interpolate(targets(dataset, contexts), watch)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted | None:
        shape = self.shape(targets(dataset, contexts))
        if shape is None:
            return None
        return Predicted(shape.parameters, 1, shape.neurons + shape.heads)

    def shape(self, targets: Targets) -> Shape | None:
        """The sizes of the decoder, refused as `interpolate` would; None if a search finds them."""
        return None

    @abstractmethod
    def interpolate(self, targets: Targets, watch: Watch) -> Built:
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
        words, length, name = len(targets.vocabulary), targets.length, self.activation or activation
        sizes = heads, head, head
        return Shape(words, length, d, self.mixing, *sizes, self.skip, neurons, name)


@dataclass(frozen=True)
class AttentionDecoder(Interpolation):
    """One layer of attention without neurons."""

    stages = {**Interpolation.stages, **STAGES["AttentionDecoder"]}

    gap: float | None = gap("1e-9, or what can be reached")
    tight: bool = option(False, "Whether the skip connection counts as a head.")
    encoder: str | None = option(
        None, "The target sequence encoder.", choices=("circle", "look-up", "optimal")
    )
