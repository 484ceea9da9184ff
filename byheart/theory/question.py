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
    """Facts of a dataset.

    name       by which the user knows it
    sequences  their number
    contexts   distinct ordered ones: those that a model must distinguish
    multisets  contexts if order does not count: multiset of tokens and last token
    labels     distinct ones
    length     of the longest context
    vocabulary distinct tokens of contexts
    union      distinct tokens and labels together
    dimension  coordinates of a token; a word is a number, of dimension 1
    radius     of a ball around 0 that contains all tokens
    distance   between the two nearest tokens
    entropy    of the next token, in nats, summed over all predictions
    conflicts  contexts with two labels
    mixed      multisets with two labels
    every      whether every token has a label
    padded     whether contexts have different lengths: a reserved token fills them up
    near       facts of each context for Theorem 2 of dana2024
    """

    name: str | None = field(default=None, kw_only=True)
    sequences: int | None = None
    contexts: int | None = None
    multisets: int | None = None
    labels: int | None = None
    length: int | None = None
    vocabulary: int | None = None
    union: int | None = None
    dimension: int | None = None
    radius: float | None = None
    distance: float | None = None
    entropy: float | None = None
    conflicts: int | None = None
    mixed: int | None = None
    every: bool | None = None
    padded: bool | None = None
    near: tuple[NearLookUp, ...] | None = None

    @property
    def facts(self) -> Facts:
        """The facts by name. The next token is one of the labels."""
        known = {**vars(self), "outputs": self.labels}
        return {fact: value for fact, value in known.items() if fact != "name"}

    def json(self) -> dict:
        return {fact: value for fact, value in vars(self).items() if fact != "near"}


@dataclass(frozen=True)
class ArchitectureFacts:
    """Facts of an architecture.

    name            by which the user knows it
    family          whose model it is: madden2024, dana2024, dana2024-mlp, kajitsuka2025, or decoder
    parameters      that are learnt
    vocabulary      tokens that it reads
    outputs         over which it gives a distribution; None: the vocabulary
    length          of its longest context
    dimension       of embedded tokens
    heads           per layer, of head_dimension each
    layers, width   their number, and neurons per layer
    attention       one of ATTENTIONS
    activation      one of ACTIVATIONS
    bits            per parameter
    """

    name: str | None = field(default=None, kw_only=True)
    family: str | None = None
    parameters: int | None = None
    vocabulary: int | None = None
    length: int | None = None
    dimension: int | None = None
    heads: int | None = None
    head_dimension: int | None = None
    layers: int | None = None
    width: int | None = None
    attention: str | None = None
    activation: str | None = None
    bits: int | None = None
    outputs: int | None = None

    @property
    def facts(self) -> Facts:
        """The facts by name."""
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
