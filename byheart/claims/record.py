"""Record: how a model was made, how large it is, and the evidence for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..data.layout import Layout
from .result import picked, plain
from .verification import Verification


class Parameters(NamedTuple):
    """How many parameters a network has."""

    nonzero: int = 0  # those that are not 0
    dense: int = 0  # all entries of all matrices, zeros included
    counted: int = 0  # nonzero ones that the theorem counts
    outside: int = 0  # nonzero ones of E_in, E_out and the embedding, which it does not count


class Bits(NamedTuple):
    """The bits of all nonzero parameters."""

    total: int = 0  # sign, odd mantissa and exponent of each
    fixed: int = 0  # in plain binary notation
    largest: int = 0  # of the longest parameter, in plain binary notation
    # of the whole network as a self-delimiting code word; None if not recorded
    encoded: int | None = None
    # what these labels need, by their frequencies; None if not recorded, or if there are several
    # for a context
    entropy: float | None = None
    # contexts x log2(labels): what the worst labels need; None if not recorded
    information: float | None = None


class DataSizes(NamedTuple):
    """Which data it is, and how large; None where a folder does not record it."""

    sha256: str | None = None
    sequences: int | None = None
    contexts: int | None = None
    labels: int | None = None
    length: int | None = None  # of the longest sequence
    vocabulary: int | None = None  # number of distinct tokens
    # the first tokens of the texts, where the data is texts
    beginnings: tuple[str | int, ...] | None = None

    def counts(self) -> dict[str, Any]:
        """The sizes without the hash, as JSON."""
        return {name: size for name, size in self.json().items() if name != "sha256"}

    def json(self) -> dict[str, Any]:
        sizes = plain(self._asdict())
        if self.beginnings is None:
            del sizes["beginnings"]
        return sizes


class Search(NamedTuple):
    """The search for a network."""

    seed: int | None = None  # random seed
    tries: int | None = None  # random draws that it made
    # of an editable network: what finds its structure again without a search
    structure: Mapping[str, Any] | None = None
    tokenizer: str | None = None  # how the tokenizer that an edit kept had been trained

    def json(self) -> dict[str, Any]:
        optional = ("structure", "tokenizer")
        values = self._asdict().items()
        return {name: x for name, x in values if x is not None or name not in optional}


@dataclass(frozen=True)
class Record:
    """How a model was made, how large it is, and the evidence for it."""

    # method, form: of the construction; paper, item: the theorem that it follows
    method: str | None = None
    form: str | None = None
    paper: str | None = None
    item: str | None = None
    # of the method, and how conflicts were resolved
    options: Mapping[str, Any] = field(default_factory=dict)
    # how many labels were changed and how many sequences left out to resolve them
    conflicts: Mapping[str, int] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)  # how the data was read
    data: DataSizes = DataSizes()  # which data it was made from
    # as config.json records them; `network.counts()` counts them
    parameters: Parameters = Parameters()
    bits: Bits = Bits()
    search: Search = Search()
    training: Mapping[str, Any] | None = None  # of a trained network: the row of its trial
    notes: tuple[str, ...] = ()  # what the construction has to say, one sentence each
    unordered: str | None = None  # what is lost where the order of words does not count, a sentence
    seconds: Mapping[str, float] = field(default_factory=dict)  # that building and verifying took
    verification: Verification | None = None  # the evidence; None before it is verified
    tokenizer: str | None = None  # the content of the tokenizer.json that split the data
    # how the model came from another one: its kind, its data, whether it was rebuilt
    change: Mapping[str, Any] | None = None
    layout: Layout | None = None  # what the files of a text hold beside the tokens that it answers

    def json(self) -> dict[str, Any]:
        sizes = picked(self, "options conflicts loading data parameters bits search")
        more = {"training": self.training, "layout": self.layout and self.layout.text}
        return sizes | {name: value for name, value in more.items() if value is not None}
