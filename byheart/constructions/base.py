"""Construction: dataset in, network out. One subclass per theorem, in byheart/constructions."""

import inspect
import math
import re
import sys
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, get_args, get_type_hints

from ..claims.claim import Claim, Distributions, Labels, Words
from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..data.targets import Targets
from ..errors import OptionError, check_seed
from ..exact.network import Dyadic, Input, Layer, Network, Parameter, dyadic
from ..machine.watch import Watch

Sentences = Mapping[str | tuple[str, str], str]
STAGES: dict[str, Sentences] = {  # of a class: stages.toml
    name: {tuple(key.split("/")) if "/" in key else key: x for key, x in sentences.items()}
    for name, sentences in tomllib.loads(
        Path(__file__).with_name("stages.toml").read_text("ascii")
    ).items()
}


@dataclass(frozen=True)
class Option:
    """One option of a construction: the field that holds it has this as its metadata."""

    help: str  # one sentence
    metavar: str | None = None  # how the command line names its value
    choices: tuple[str, ...] = ()  # the words that it may be
    least: float | None = None  # the least number that it may be
    most: float | None = None  # the largest
    above: bool = False  # whether the least is excluded

    def check(self, name: str, value: object) -> None:
        """ByheartError if the value is not one that the option takes; None is its default."""
        if self.choices and value not in self.choices:
            named = f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
            raise OptionError(name, value, f"must be {named}")
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
        raise OptionError(name, value, f"must be {what} {bounds}")


def option(default: object, help: str, **more: Any) -> Any:
    """A field of a construction that a user may set."""
    return field(default=default, metadata={"option": Option(help, **more)})


def fixed(value: object) -> Any:
    """A field that a construction of the family does not leave to the user."""
    return field(default=value, init=False)


@dataclass(frozen=True, eq=False)
class Built:
    """A network, what it promises and what it reads."""

    network: Any  # a Network, a Decoder or a Checkpoint
    claim: Claim
    words: Words
    tries: int  # random draws that the search made
    notes: tuple[str, ...] = ()
    structure: Mapping[str, Any] | None = None  # if editable: finds it again without a search


def words_of(dataset: Dataset) -> Words:
    """What a network that stores labels reads."""
    return Words(dataset.kind, dataset.tokens if isinstance(dataset.tokens, tuple) else None)


def within(
    gap: float, network: Any, targets: Targets, tries: int, notes: tuple[str, ...] = ()
) -> Built:
    """A decoder whose distributions are within the gap, and its tokens in the order of numbers."""
    return Built(network, Distributions(gap), Words(targets.kind, targets.vocabulary), tries, notes)


def labels_of(dataset: Dataset, order: Iterable[int] | None = None) -> Labels:
    """The claim of a network whose output y is label order[y] of the dataset; in their order."""
    names = dataset.label_names
    return Labels(tuple(names) if order is None else tuple(names[i] for i in order))


@dataclass(frozen=True)
class Predicted:
    """The size of a network, known before it is built."""

    parameters: int  # nonzero ones; of a decoder, all
    depth: int  # blocks between embedding and output
    units: int | None = None  # neurons and heads; None where they are not counted beforehand


Lanes = dict[int, Dyadic]  # nonzero lanes of one column


@dataclass(frozen=True)
class Stored:
    """Where an answer is stored."""

    value: Dyadic  # the sum of stored numbers that was read
    # the places of the label's bits in that sum, first one first (label bit i is the exclusive or
    # of places bits[i] and bits[i] + 1)
    bits: tuple[int, ...]
    holders: tuple[Parameter, ...]  # the parameters whose values make up the sum
    # whether the answer does not depend on the bit above the label's bits: no equation asked for it
    # (gadgets/prefix_code.py)
    default: bool = False


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
    """One theorem that gives weights. Its fields are its options, as the user set them."""

    name: ClassVar[str]  # what a user passes as method=...
    claim: ClassVar[type[Claim]] = Labels  # what its models promise
    on_a_line: ClassVar[bool] = False  # whether neurons of its decoders switch on a line
    form: ClassVar[str | None] = None  # "small" (ours) or "faithful" (the paper's), if both
    last: ClassVar[bool] = True  # whether the last token counts apart from the multiset
    every: ClassVar[bool | None] = False  # whether every token has a label; None: either will do
    empty: ClassVar[bool] = False  # whether a sequence may be empty
    provable: ClassVar[int | None] = None  # `compile` verifies a sample beyond so many contexts
    tokenizer: ClassVar[str | None] = None  # what splits text by default; None: words
    unexplained: ClassVar[str | None] = None  # why `explain` does not take its networks apart
    advice: ClassVar[str | None] = None  # about two labels of one context; None: from the data
    # one sentence for each stage of its networks, by its name or (layer kind, name); see STAGES
    stages: ClassVar[Sentences] = {}

    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self.seed)
        for name, own in self.options().items():
            value = getattr(self, name)
            if value is None and own.default is None:
                continue
            if own.type in (bool, bool | None) and not isinstance(value, bool):
                raise OptionError(name, value, "must be True or False")
            own.metadata["option"].check(name, value)

    @classmethod
    def options(cls) -> dict[str, Field]:
        return {x.name: x for x in fields(cls) if x.init and "option" in x.metadata}

    @classmethod
    def option_type(cls, name: str) -> type:
        """bool, int, float or str."""
        hint = get_type_hints(cls)[name]
        return next(kind for kind in (get_args(hint) or (hint,)) if kind is not type(None))

    def prepared(self, dataset: Dataset) -> Dataset:
        """The data as this construction stores it, before conflicts are looked for."""
        return dataset

    @abstractmethod
    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
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
        """Whether items of its models can be changed and removed in place (api/change.py)."""
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


ASSUMPTIONS = {  # those that many headers share, which refer to them by name
    "CONSISTENT": "Equal contexts carry equal labels; a context is the multiset of tokens and the "
    "last token (with positions: the sequence).",
    "PADDED": "Sequences are no longer than the network's length; shorter ones are padded at the "
    "front.",
}
SECTIONS = ("Paper", "Statement", "Assumptions", "Guarantee", "Departures", "Notation")


def parse_header(text: str) -> Header:
    """The sections of a theorem file's docstring (CONTRIBUTING.md shows the form)."""
    parts = re.split(rf"^({'|'.join(SECTIONS)})\s+", text, flags=re.MULTILINE)
    paragraph = parts[0].strip().split("\n\n")[0]
    summary, *texts = (" ".join(text.split()) for text in (paragraph, *parts[2::2]))
    sections = dict(zip(parts[1::2], texts, strict=True))
    missing = [name for name in SECTIONS if name not in sections]
    assert not missing, f"the header lacks {missing}"
    paper, _, item = sections["Paper"].partition(", ")
    shared = "|".join(ASSUMPTIONS)
    assumptions = re.sub(shared, lambda name: ASSUMPTIONS[name[0]], sections["Assumptions"])
    names = "Statement", "Guarantee", "Departures"
    statement, guarantee, departures = (sections[name] for name in names)
    return Header(summary, paper, item, statement, assumptions, guarantee, departures)
