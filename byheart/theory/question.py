"""A question: facts of a dataset, of an architecture, or of both. None means not known."""

from dataclasses import dataclass, field

from .dana2024.near_tables import NearLookUp

# analytic somewhere and no polynomial there (madden2024, Theorem 5)
ANALYTIC = ("logistic", "tanh", "erf", "arctan", "gelu", "silu", "sine")
ACTIVATIONS = (*ANALYTIC, "relu", "none")
ATTENTIONS = ("softmax", "hard", "uniform")
Facts = dict[str, object]


@dataclass(frozen=True)
class DataFacts:
    """Facts of a dataset."""

    name: str | None = field(default=None, kw_only=True)  # by which the user knows it
    sequences: int | None = None  # their number
    positions: bool | None = None  # whether order counts
    contexts: int | None = None  # distinct ones: ordered ones, or multisets with the last token
    ordered: int | None = None  # distinct ordered ones; None: as many
    multisets: int | None = None  # contexts if order does not count, except for the last token
    labels: int | None = None  # distinct ones
    length: int | None = None  # of the longest context
    vocabulary: int | None = None  # distinct tokens of contexts
    union: int | None = None  # distinct tokens and labels together
    dimension: int | None = None  # coordinates of a token; a word is a number, of dimension 1
    radius: float | None = None  # of a ball around 0 that contains all tokens
    distance: float | None = None  # between the two nearest tokens
    entropy: float | None = None  # of the next token, in nats, summed over all predictions
    code_length: float | None = None  # bits of these labels, where `labels` is about all of them
    conflicts: int | None = None  # contexts with two labels
    mixed: int | None = None  # multisets with two labels
    every: bool | None = None  # whether every token has a label
    padded: bool | None = None  # whether lengths differ: a reserved token fills contexts up
    # facts of each context for Theorem 2 of dana2024
    near: tuple[NearLookUp, ...] | None = field(default=None, repr=False)

    @property
    def facts(self) -> Facts:
        """The facts by name. The next token is one of the labels."""
        known = {**vars(self), "outputs": self.labels}
        return {fact: value for fact, value in known.items() if fact != "name"}

    def json(self) -> dict:
        return {fact: value for fact, value in vars(self).items() if fact != "near"}


@dataclass(frozen=True)
class ArchitectureFacts:
    """Facts of an architecture."""

    name: str | None = field(default=None, kw_only=True)  # by which the user knows it
    family: str | None = None  # the name of a described architecture: madden2024, ..., decoder
    parameters: int | None = None  # that are learnt
    vocabulary: int | None = None  # tokens that it reads
    length: int | None = None  # of its longest context
    dimension: int | None = None  # of embedded tokens
    heads: int | None = None  # per layer, of head_dimension each
    head_dimension: int | None = None
    layers: int | None = None
    width: int | None = None  # neurons per layer
    attention: str | None = None  # one of ATTENTIONS
    activation: str | None = None  # one of ACTIVATIONS
    bits: int | None = None  # per parameter
    outputs: int | None = None  # over which it gives a distribution; None: the vocabulary
    biased: bool | None = None  # whether the logits have a bias: W_U x + b, and not W_U x
    positions: bool | None = None  # whether it reads the order of the tokens before the last

    @property
    def facts(self) -> Facts:
        known = {**vars(self), "outputs": self.vocabulary if self.outputs is None else self.outputs}
        return {fact: value for fact, value in known.items() if fact != "name"}

    def json(self) -> dict:
        return dict(vars(self))


@dataclass(frozen=True)
class Question:
    """A dataset, an architecture, or both; and bits per parameter where there is no model."""

    data: DataFacts | None = None
    architecture: ArchitectureFacts | None = None
    bits: int | None = None

    def asks(self, about: str) -> bool:
        """Whether the question has what an item is about: "data", "architecture" or "both"."""
        known = {"data": self.data is not None, "architecture": self.architecture is not None}
        return all(known.values()) if about == "both" else known[about]

    def facts(self, about: str) -> Facts:
        """Facts by name; where both have one, that of the architecture unless it is about data."""
        data = {} if self.data is None else self.data.facts
        model = {"bits": self.bits} if self.architecture is None else self.architecture.facts
        first, second = (data, model) if about == "data" else (model, data)
        return {**second, **{name: fact for name, fact in first.items() if fact is not None}}
