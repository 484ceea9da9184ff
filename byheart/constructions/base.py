"""Construction: dataset in, network out. One subclass per theorem, in byheart/constructions."""

import inspect
import math
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..data.targets import Word
from ..errors import ByheartError
from ..exact.network import Dyadic, Input, Layer, Network, Parameter, dyadic

Report = Callable[[str], None]  # progress and fallbacks, one sentence each


@dataclass(frozen=True)
class Option:
    """One option of a construction: the field that holds it has this as its metadata.

    help     one sentence
    metavar  how the command line names its value
    choices  the words that it may be
    least    the least number that it may be, `most` the largest; the least is excluded if `above`
    """

    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: bool = False

    def check(self, name: str, value: object) -> None:
        """ByheartError if the value is not one that the option takes; None is its default."""
        if self.choices and value not in self.choices:
            named = f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
            raise ByheartError(f"{name} must be {named}, not {value!r}.")
        if self.least is None:
            return
        whole = isinstance(self.least, int)
        if isinstance(value, int if whole else int | float) and not isinstance(value, bool):
            most = math.inf if self.most is None else self.most
            if self.least <= value <= most and not (self.above and value == self.least):
                return
        what = "an integer" if whole else "a number"
        bounds = f"{'above' if self.above else 'of at least'} {self.least:,}"
        if self.most is not None:
            bounds = f"from {self.least:,} to {self.most:,}"
        raise ByheartError(f"{name} must be {what} {bounds}, not {value!r}.")


def option(default: object, help: str, **more: Any) -> Any:
    """A field of a construction that a user may set."""
    return field(default=default, metadata={"option": Option(help, **more)})


def fixed(value: object) -> Any:
    """A field that a construction of the family does not leave to the user."""
    return field(default=value, init=False)


@dataclass(frozen=True, eq=False)
class Built:
    """A network and what its outputs mean.

    tries       random draws that the search made
    number      the arithmetic in which an exact network is exact: "dyadic" or already "float64"
    order       of a network that stores labels: output y is label order[y] of the dataset ...
    unknown     ... and y = unknown means that the input was never seen
    vocabulary  of a decoder that stores distributions: its tokens, in the order of their numbers
    gap         the divergence from its target that no context may exceed, in nats
    holders     of a stock checkpoint: the neurons that answer each context ...
    always      ... and those that are on at every context, as (layer, neuron)
    structure   of an editable network: what finds its structure again without a search
    """

    network: Any  # a Network, or a Decoder
    tries: int
    notes: tuple[str, ...] = ()
    number: str = "dyadic"
    order: tuple[int, ...] = ()
    unknown: int | None = None
    vocabulary: tuple[Word, ...] = ()
    gap: float = 0.0
    holders: tuple[Any, ...] = ()
    always: tuple[tuple[int, int], ...] = ()
    structure: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Predicted:
    """The size of a network, known before it is built.

    parameters  nonzero ones; of a decoder, all
    depth       blocks between embedding and output
    units       neurons and heads; None where they are not counted beforehand
    """

    parameters: int
    depth: int
    units: int | None = None


Lanes = dict[int, Dyadic]  # nonzero lanes of one column


@dataclass(frozen=True)
class Stored:
    """Where an answer is stored.

    value    the sum of stored numbers that was read
    bits     the places of the label's bits in that sum, first one first (label bit i is the
             exclusive or of places bits[i] and bits[i] + 1)
    holders  the parameters whose values make up the sum
    """

    value: Dyadic
    bits: tuple[int, ...]
    holders: tuple[Parameter, ...]


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


@dataclass(frozen=True)
class Construction(ABC):
    """One theorem that gives weights. Its fields are its options, as the user set them.

    name       what a user passes as method=...
    stores     "labels", "distributions" or "recites": the claim of its models (models/claims/)
    form       "small" (ours) or "faithful" (the paper's), where there are both
    last       whether the last token of a sequence counts apart from the multiset
    every      whether the data has a label for every token; None: either will do
    empty      whether a sequence may be empty
    provable   contexts beyond which `compile` verifies a sample; None: always all of them
    tokenizer  what splits text where the user names nothing; None: words
    advice     what to do about two labels of one context, if not what the data suggests
    stages     one sentence for each stage of its networks, by its name or (layer kind, name)
    """

    name: ClassVar[str]
    stores: ClassVar[str] = "labels"
    form: ClassVar[str | None] = None
    last: ClassVar[bool] = True
    every: ClassVar[bool | None] = False
    empty: ClassVar[bool] = False
    provable: ClassVar[int | None] = None
    tokenizer: ClassVar[str | None] = None
    advice: ClassVar[str | None] = None
    stages: ClassVar[Mapping[str | tuple[str, str], str]] = {}

    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or self.seed < 0:
            raise ByheartError(f"seed must be an integer of at least 0, not {self.seed!r}.")
        for name, own in self.options().items():
            value = getattr(self, name)
            if value is None and own.default is None:
                continue
            if own.type in (bool, bool | None) and not isinstance(value, bool):
                raise ByheartError(f"{name} must be True or False, not {value!r}.")
            own.metadata["option"].check(name, value)

    @classmethod
    def options(cls) -> dict[str, Field]:
        """The fields that a user may set, by name."""
        return {x.name: x for x in fields(cls) if x.init and "option" in x.metadata}

    def prepared(self, dataset: Dataset) -> Dataset:
        """The data as this construction stores it, before conflicts are looked for."""
        return dataset

    @abstractmethod
    def build(self, dataset: Dataset, contexts: Contexts, report: Report) -> Built:
        """A network for a dataset; where it stores labels, every context has one (A1)."""

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted | None:
        """Its size without building it, refused as `build` would; None if a search finds it."""
        return None

    def stage_sentence(self, kind: str, name: str) -> str:
        """One sentence for a stage of its networks; its plain name if there is none."""
        return self.stages.get((kind, name)) or self.stages.get(name) or name

    def traced_stage(self, layer: Layer) -> str:
        """The name under which `trace` shows a layer; layers of one name are shown as one stage."""
        return layer.stage

    def stored(
        self, network: Network, streams: Sequence[Lanes], fired: Sequence[list[int]]
    ) -> Stored | None:
        """Where the answer to one input is stored; None if the construction does not tell.

        streams  the nonzero lanes of the last column after each layer
        fired    the hidden units of each layer that are above 0
        """
        return None

    @property
    def edits(self) -> bool:
        """Whether items of its models can be changed and removed in place (compiler/editing.py)."""
        return False

    @property
    def header(self) -> Header:
        return parse_header(inspect.getdoc(sys.modules[type(self).__module__]) or "")


def input_of(dataset: Dataset, positions: bool) -> Input:
    """The data's dimension and longest sequence, and a padding vector that is not a token."""
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
