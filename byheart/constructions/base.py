"""Construction: dataset in, network out. One subclass a theorem, in byheart/constructions."""

import inspect
import math
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..data.targets import Targets, Word, targets
from ..exact.network import Input, Network, dyadic
from ..softmax.decoder import Decoder, Shape

Report = Callable[[str], None]  # progress and fallbacks, a sentence each


@dataclass(frozen=True)
class Options:
    """What a user may choose; a construction refuses what it cannot do.

    positions       tokens carry their position
    reject_unknown  bits of the fingerprint by which unknown inputs are told, 0 for none
    minimise        "nonzero", "dense" or "bits"
    seed            of every random choice
    bits            of the longest parameter, in plain binary notation
    separation      tokens must be so far apart
    attention       "uniform", or "hard": hard attention whose scores are all 0
    dimension       of embedded tokens (None: the method's own choice, here and below)
    heads           of softmax attention
    head_dimension  of queries, keys and values
    skip            whether attention adds the last token's vector
    activation      of the neurons, one of decoder.ACTIVATIONS
    gap             the divergence from its target that no context may pass, in nats
    neurons         how many
    tight           whether the skip connection counts as a head (attention-only)
    encoder         the target sequence encoder: "circle", "look-up" or "optimal"
    epsilon         the share of the least likely contexts that may be left out
    """

    positions: bool = False
    reject_unknown: int = 0
    minimise: str = "nonzero"
    seed: int = 0
    bits: int | None = None
    separation: float | None = None
    attention: str = "uniform"
    dimension: int | None = None
    heads: int | None = None
    head_dimension: int | None = None
    skip: bool = False
    activation: str | None = None
    gap: float | None = None
    neurons: int | None = None
    tight: bool = False
    encoder: str | None = None
    epsilon: float | None = None


@dataclass(frozen=True, eq=False)
class Built:
    """A network and what its outputs mean.

    Output y is label order[y]; y = unknown means "never seen".
    number: the arithmetic that it is exact in, "dyadic" or already "float64".
    """

    network: Network
    order: tuple[int, ...]
    unknown: int | None
    tries: int
    notes: tuple[str, ...] = ()
    number: str = "dyadic"


@dataclass(frozen=True, eq=False)
class Interpolant:
    """A decoder for distributions; token i is vocabulary[i], and `gap` is what it must keep."""

    network: Decoder
    vocabulary: tuple[Word, ...]
    gap: float
    tries: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Predicted:
    """What a network will take, known before it is built.

    parameters  nonzero ones; of a decoder, all
    depth       blocks between embedding and output
    """

    parameters: int
    depth: int


@dataclass(frozen=True)
class Header:
    """The contract with the paper, read from the docstring of the file that holds the theorem."""

    summary: str
    paper: str
    item: str
    statement: str
    assumptions: str
    guarantee: str
    departures: str


class Construction(ABC):
    """One theorem that gives weights. `name` is what a user types after --method.

    stores     "labels" or "distributions"
    form       "small" (ours) or "faithful" (the paper's), where there are both
    takes      the options beyond the seed that it knows, by their names in Options
    last       whether the last token of a sequence counts apart from the multiset
    every      whether the data has a label for every token; None: either will do
    empty      whether a sequence may be empty
    provable   contexts beyond which `compile` verifies a sample; None: always all of them
    """

    name: ClassVar[str]
    stores: ClassVar[str] = "labels"
    form: ClassVar[str | None] = None
    takes: ClassVar[frozenset[str]] = frozenset({"positions"})
    last: ClassVar[bool] = True
    every: ClassVar[bool | None] = False
    empty: ClassVar[bool] = False
    provable: ClassVar[int | None] = None

    @abstractmethod
    def build(
        self, dataset: Dataset, contexts: Contexts, options: Options, report: Report
    ) -> "Built | Interpolant":
        """A network for a dataset; where it stores labels, every context has one (A1)."""

    def predict(self, dataset: Dataset, contexts: Contexts, options: Options) -> "Predicted | None":
        """Its size without building it, refused as `build` would; None if a search finds it."""
        return None

    @property
    def header(self) -> Header:
        return parse_header(inspect.getdoc(sys.modules[type(self).__module__]) or "")


class Interpolation(Construction):
    """One theorem that gives a decoder which stores distributions: two labels are no conflict."""

    stores = "distributions"

    def build(
        self, dataset: Dataset, contexts: Contexts, options: Options, report: Report
    ) -> Interpolant:
        return self.interpolate(targets(dataset, contexts), options, report)

    def predict(self, dataset: Dataset, contexts: Contexts, options: Options) -> Predicted | None:
        shape = self.shape(targets(dataset, contexts), options)
        return None if shape is None else Predicted(shape.parameters, 1)

    def shape(self, targets: Targets, options: Options) -> Shape | None:
        """The sizes of the decoder, refused as `interpolate` would; None if a search finds them."""
        return None

    @abstractmethod
    def interpolate(self, targets: Targets, options: Options, report: Report) -> Interpolant:
        """A decoder whose distributions are within the gap of these."""


def input_of(dataset: Dataset, positions: bool) -> Input:
    """The data's dimension and longest sequence, and a padding vector that is no token."""
    vectors = dataset.vectors
    padding = [dyadic(0)] * vectors.shape[1]
    if bool((vectors == 0).all(axis=1).any()):
        # the zero vector is a token: use one beyond the largest
        padding[0] = dyadic(math.floor(vectors[:, 0].max().item()) + 1)
    return Input(vectors.shape[1], dataset.length, positions, tuple(padding))


SECTIONS = ("Paper", "Statement", "Assumptions", "Guarantee", "Departures", "Notation")


def parse_header(text: str) -> Header:
    """The sections of a theorem file's docstring (CONTRIBUTING.md shows the form)."""
    parts = re.split(rf"^({'|'.join(SECTIONS)})\s+", text, flags=re.MULTILINE)
    found = {name: _joined(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    missing = [name for name in SECTIONS if name not in found]
    assert not missing, f"the header lacks {missing}"
    paper, _, item = found["Paper"].partition(", ")
    return Header(
        _joined(parts[0].strip().partition("\n\n")[0]),
        paper,
        item,
        found["Statement"],
        found["Assumptions"],
        found["Guarantee"],
        found["Departures"],
    )


def _joined(text: str) -> str:
    """Lines as one line."""
    return " ".join(text.split())
