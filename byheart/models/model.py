"""Model: a network with the words it reads, and what it claims about its data.

What `compile` returns, `open` reads and `recall` asks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from ..data.dataset import Dataset
from ..data.targets import Floats
from ..errors import ByheartError
from ..machine.tables import html_table
from ..machine.words import brief
from .claim import Answer, Claim, Label, Question, Token, Words
from .verification import Verification

if TYPE_CHECKING:
    from .recall import Choose


class Parameters(NamedTuple):
    """How many parameters a network has.

    nonzero  those that are not 0
    dense    all entries of all matrices, zeros included
    counted  nonzero ones that the theorem counts
    outside  nonzero ones of E_in, E_out and the embedding, which it does not count
    """

    nonzero: int
    dense: int
    counted: int
    outside: int


class Bits(NamedTuple):
    """The bits of all nonzero parameters.

    total        sign, odd mantissa and exponent of each
    fixed        in plain binary notation
    largest      of the longest parameter, in plain binary notation
    encoded      of the whole network as a self-delimiting code word; None if not recorded
    entropy      what these labels need, by their frequencies; None if not recorded, or if there are
                 several for a context
    information  contexts x log2(labels): what the worst labels need; None if not recorded
    """

    total: int
    fixed: int
    largest: int
    encoded: int | None = None
    entropy: float | None = None
    information: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A network that knows a dataset by heart.

    network  an exact Network or a softmax Decoder
    words    the tokens that it reads: their kind and, of words, the vocabulary
    claim    Labels or Distributions: what it promises, and how that is verified and answered
    about    everything else that config.json records: method, paper, loading, data, counts, search

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> model = byheart.compile(data)
        >>> model.recall(["b", "b"])
        'y'
        >>> model.verification.evidence
        'proved'
    """

    network: Any
    words: Words
    claim: Claim
    about: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        method = brief(self.about.get("method"))
        return f"<Model: {method}, {self.parameters.nonzero} nonzero parameters>"

    def _repr_html_(self) -> str:
        rows = {
            "method": self.about.get("method"),
            "claim": self.claim.sentence,
            "evidence": getattr(self.about.get("verification"), "evidence", None),
            **{f"{name} parameters": x for name, x in self.parameters._asdict().items()},
        }
        return html_table(repr(self), ("", ""), rows.items())

    # --- what it is

    @property
    def kind(self) -> str:
        """Of its tokens: "string", "number" or "vector"."""
        return self.words.kind

    @property
    def tokens(self) -> tuple[str | int, ...] | None:
        """The words that it reads, in the order of their numbers; None if tokens are vectors."""
        return self.words.tokens

    @property
    def labels(self) -> tuple[str | int, ...]:
        """What it may answer."""
        return self.claim.labels or self.words.tokens or ()

    @property
    def length(self) -> int:
        """The longest input."""
        return self.network.length

    @property
    def every(self) -> bool:
        """Whether it answers every token."""
        return self.network.every

    @property
    def number(self) -> str:
        """The arithmetic of its weights: "dyadic" or "float64"."""
        return self.claim.number(self.network)

    @property
    def parameters(self) -> Parameters:
        """How many it has: `nonzero`, `dense` (with zeros), `counted` by the theorem, `outside`."""
        return Parameters(**self.network.counts()[0])

    @property
    def bits(self) -> Bits:
        """Of all parameters (`total`), of the `largest`, and what the labels need (`entropy`)."""
        recorded: Mapping = self.about.get("bits") or {}
        more = {name: recorded.get(name) for name in ("encoded", "entropy", "information")}
        return Bits(**{**self.network.counts()[1], **more})

    @property
    def verification(self) -> Verification | None:
        """The evidence that it was compiled or saved with; None if it was never verified."""
        return self.about.get("verification")

    @cached_property
    def places(self) -> dict[str | int, int]:
        """The number of each word of the vocabulary."""
        return {word: i for i, word in enumerate(self.words.tokens or ())}

    # --- what it answers

    # a question is a list of tokens, or text, which is read as `byheart recall` reads a line

    def recall(self, question: Question) -> Label | list[Label]:
        """The label of one sequence (or of its tokens), or the likeliest next token.

        None where the network gives no label.
        """
        return self.answers([question])[0].label

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        """Ask many at once. A word outside the vocabulary gives no label and known = False."""
        from .placing import asked  # it imports this file

        if isinstance(questions, str):
            raise ByheartError(f"answers takes a list of questions, such as [{questions!r}].")
        placed = [asked(self, question) for question in questions]
        found = self.claim.answers(self, [question.tokens for question in placed])
        return [x.marked(answer) for x, answer in zip(placed, found, strict=True)]

    def distribution(self, question: Question) -> Floats:
        """The probability of every token of the vocabulary to come next, in doubles."""
        from .placing import asked

        tokens = asked(self, question).tokens
        from .claims.distributions import Distributions

        if not isinstance(self.claim, Distributions):
            raise ByheartError(
                "this model stores labels; one-layer is a method that stores distributions."
            )
        row = self.numbers(tokens)
        if row is None:
            raise ByheartError(f"a token of {list(tokens)!r} is not in the model's vocabulary.")
        return next(self.claim.distributions(self, [row]))

    def continue_(
        self, question: Question, steps: int, choose: "Choose | None" = None
    ) -> list[Answer]:
        """Up to `steps` answers, each label appended to the input of the next."""
        from .placing import asked
        from .recall import continued

        return list(islice(continued(self, asked(self, question).tokens, choose), steps))

    def numbers(self, tokens: Sequence[Token]) -> list | None:
        """A sequence as the network reads it; None if a word is outside the vocabulary."""
        return self.claim.numbers(self, tokens)

    def trace(self, question: Question) -> Any:
        """How one input is answered, stage by stage: an object with .json() and .lines()."""
        from .placing import asked

        tokens = asked(self, question).tokens
        if self.numbers(tokens) is None:
            raise ByheartError(
                "a word is outside the model's vocabulary, so there is nothing to trace."
            )
        return self.claim.trace(self, tokens)

    def locate(self, question: Question) -> Any:
        """Which parameters hold the answer to one input: a Location with .json()."""
        from .locating import locate
        from .placing import asked

        tokens = asked(self, question).tokens
        if self.numbers(tokens) is None:
            raise ByheartError(
                "a word is outside the model's vocabulary, so no parameter holds an answer."
            )
        return locate(self, tokens)

    def save(
        self, path: str | PathLike[str], *, force: bool = False, data: Dataset | None = None
    ) -> None:
        """Write the model folder.

        Args:
            path: The folder, which must not exist.
            force: Replace an older model.
            data: The dataset it was verified on, to put beside the weights.
        """
        from .folder.write import save  # it imports this file

        save(self, path, force=force, data=data)
