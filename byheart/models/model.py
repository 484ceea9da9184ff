"""Model: a network with the words it reads, and what it claims about its data.

What `compile` returns, `open` reads and `recall` asks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any

from ..claims.answer import Answer, Label, Question, Token
from ..claims.kind import Traced
from ..claims.location import Location
from ..claims.model import ModelData
from ..claims.record import Bits, Parameters
from ..claims.verification import Verification
from ..data.dataset import Dataset
from ..data.targets import Floats
from ..errors import ByheartError
from ..machine.tables import html_table, plural
from ..machine.words import brief
from .folder.write import save, save_packed
from .kinds import kind_of, made_by
from .locating import locate
from .placing import asked
from .recall import Choose, continued
from .reciting import Recitation, recite

Progress = Callable[[int], None]


@dataclass(frozen=True, eq=False, repr=False)
class Model(ModelData[Any, Any]):
    """A network that knows a dataset by heart: its `network`, `words`, `claim` and `record`.

    A question is a list of tokens, or text, which is read as `byheart recall` reads a line.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> model = byheart.compile(data)
        >>> model.recall(["b", "b"])
        'y'
        >>> model.verification.evidence
        'proved'
    """

    def __repr__(self) -> str:
        method = brief(self.record.method)
        about = plural(self.record.data.sequences, "sequence")
        word = self.verification.evidence if self.verification else None
        evidence = f", {word} on {about}" if word else f", of {about}"
        return f"<Model: {method}, {self.parameters.nonzero:,} nonzero parameters{evidence}>"

    def _repr_html_(self) -> str:
        rows = {
            "method": self.record.method,
            "claim": self.claim.sentence,
            "evidence": self.verification and self.verification.evidence,
            **{f"{name} parameters": x for name, x in self.parameters._asdict().items()},
        }
        return html_table(repr(self), ("", ""), rows.items())

    @property
    def parameters(self) -> Parameters:
        """How many it has: `nonzero`, `dense` (with zeros), `counted` by the theorem, `outside`."""
        return Parameters(**self.network.counts()[0])

    @property
    def bits(self) -> Bits:
        """Of all parameters (`total`), of the `largest`, and what the labels need (`entropy`)."""
        return self.record.bits._replace(**self.network.counts()[1])

    @property
    def verification(self) -> Verification | None:
        """The evidence that it was compiled or saved with; None if it was never verified."""
        return self.record.verification

    def recall(self, question: Question) -> Label | list[Label]:
        """The label of one sequence (or of its tokens), or the likeliest next token.

        None where the network gives no label.
        """
        words = question if isinstance(question, list | tuple) else ()
        if len(words) > 1 and self.kind == "string" and not any(x in self.places for x in words):
            raise ByheartError(
                "none of these is a token of the model: recall takes one question, text or a list "
                "of tokens; model.answers([...]) asks many at once."
            )
        return self.answers([question])[0].label

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        """Ask many at once. A word outside the vocabulary gives no label and known = False."""
        if isinstance(questions, str):
            raise ByheartError(f"answers takes a list of questions, such as [{questions!r}].")
        placed = [asked(self, question) for question in questions]
        answers = kind_of(self).answer.answers(self, [question.tokens for question in placed])
        return [x.marked(answer) for x, answer in zip(placed, answers, strict=True)]

    def distribution(self, question: Question) -> Floats:
        """The probability of every token of the vocabulary to come next, in doubles."""
        tokens = asked(self, question).tokens
        if not self.claim.probabilities:
            raise ByheartError(
                "this model stores labels; one-layer is a method that stores distributions."
            )
        row = self.numbers(tokens)
        if row is None:
            raise ByheartError(f"a token of {list(tokens)!r} is not in the model's vocabulary.")
        return next(kind_of(self).answer.distributions(self, [row]))

    def continue_(
        self, question: Question, steps: int, choose: Choose | None = None
    ) -> list[Answer]:
        """Up to `steps` answers, each label appended to the input of the next."""
        return list(islice(continued(self, asked(self, question).tokens, choose), steps))

    def recite(
        self, questions: Dataset | None = None, progress: Progress | None = None
    ) -> Recitation:
        """Every document from its first token to its last, as its file has it: `.text`, `.files`.

        Args:
            questions: Of a model of rows, the data whose inputs it is asked: `.text` is these rows
                with the labels that it gives.
            progress: Called with how many tokens, or rows, are done.

        Example:
            >>> import byheart, pathlib
            >>> path = pathlib.Path("poem.txt")
            >>> _ = path.write_text("the cat sat\\nthe dog ran\\n")
            >>> data = byheart.load(path, documents="whole", window="auto")
            >>> print(byheart.compile(data).recite().text)
            the cat sat
            the dog ran
            <BLANKLINE>
        """
        return recite(self, questions, progress or (lambda done: None))

    def numbers(self, tokens: Sequence[Token]) -> list | None:
        """A sequence as the network reads it; None if a word is outside the vocabulary."""
        return kind_of(self).answer.numbers(self, tokens)

    def trace(self, question: Question) -> Traced:
        """How one input is answered, stage by stage: an object with .json() and .lines()."""
        tokens = self._known(question, "there is nothing to trace")
        return kind_of(self).trace.trace(self, tokens, made_by(self))

    def locate(self, question: Question) -> Location:
        """Which parameters hold the answer to one input: a Location with .json()."""
        return locate(self, self._known(question, "no parameter holds an answer"))

    def _known(self, question: Question, otherwise: str) -> list:
        tokens = asked(self, question).tokens
        if self.numbers(tokens) is None:
            raise ByheartError(f"a word is outside the model's vocabulary, so {otherwise}.")
        return tokens

    def save(
        self,
        path: str | PathLike[str],
        *,
        force: bool = False,
        data: Dataset | None = None,
        packed: bool = False,
    ) -> None:
        """Write the model folder, or one packed file.

        Args:
            path: The folder, or the file, which must not exist.
            force: Replace an older model.
            data: The dataset it was verified on, to put beside the weights.
            packed: Write one file of few bytes, for models that give labels, which `open` reads.
        """
        if packed:
            save_packed(self, path, force=force)
        else:
            save(self, path, force=force, data=data)
