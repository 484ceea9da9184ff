"""Kind: what each kind of network can do, one module for each activity.

The rooms exact/, softmax/ and stock/ have these modules under the same names; models/kinds.py lists
the kinds.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from numpy.typing import NDArray

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..machine.plain import Piece
from ..machine.strict import Object
from .answer import Answer, Token
from .card import Row
from .claim import Claim
from .location import Changed, Difference, Held, Place
from .model import ModelData
from .verification import Judging, Verification

Model = ModelData[Any, Any]
Progress = Callable[[int], None] | None


class Runtime(NamedTuple):
    """A model that is loaded in a library.

    name, version  of the library
    dtype          that it computes in
    run            inputs of one length to outputs: vectors [B, n, d] to the numbers of labels [B],
                   or tokens [B, n] to logits: [B, V] of a decoder, [B, n, V] of a checkpoint
    says           the likeliest next token after tokens [n], of a library that gives no logits
    """

    name: str
    version: str
    dtype: str
    run: Callable[[NDArray], NDArray] | None = None
    says: Callable[[NDArray], int] | None = None

    @property
    def sentence(self) -> str:
        return f"{self.name} {self.version} in {self.dtype}"

    def json(self) -> dict:
        return {"name": self.name, "version": self.version, "dtype": self.dtype}


class Answering(Protocol):
    """answer.py: questions as rows of numbers, and outputs as answers."""

    def numbers(self, model: Model, tokens: Sequence[Token]) -> list | None:
        """A sequence as the network reads it; None if a word is outside the vocabulary."""

    def answers(self, model: Model, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
        """The answers to many questions. A word outside the vocabulary gives known = False."""

    def answering(self, model: Model) -> Callable[[Sequence[Token]], Answer]:
        """The answer to one question after another; what this prepares pays after some hundred."""

    def distributions(self, model: Model, rows: Sequence[Sequence[int]]) -> Iterator[NDArray]:
        """The probabilities of all tokens to come next; ByheartError if it stores labels."""

    def continues(self, model: Model, label: str | int) -> bool:
        """Whether a label is a token of the model, so that it can continue from there."""


class Proving(Protocol):
    """prove.py: whether the claim holds for a dataset."""

    def reads(self, model: Model, dataset: Dataset) -> Dataset:
        """The data of a file as the network is asked about it: its predictions, one by one."""

    def unfitting(self, model: Model, dataset: Dataset) -> str | None:
        """Why the network cannot even read this data; None if it can."""

    def contexts(self, model: Model, dataset: Dataset) -> Contexts:
        """Which predictions of the data the network cannot distinguish."""

    def whole(self, dataset: Dataset) -> int:
        """How many items of the data a certificate that covers all of it counts."""

    def verify(self, model: Model, dataset: Dataset, how: Judging) -> Verification:
        """Whether the claim holds for all of a dataset that fits, or for a sample of it."""

    def recorded(self, model: Model, dataset: Dataset, found: Verification) -> Claim:
        """The claim with what verifying it on all of its data has found out, if it says so."""

    def observed(
        self, model: Model, dataset: Dataset, runtime: Runtime, progress: Progress
    ) -> tuple[int, list[str]]:
        """How many items a run in another library has answered, and which of them wrongly."""


class Explains(Protocol):
    """What a construction says about its networks."""

    on_a_line: ClassVar[bool]

    def stored(self, network: Any, streams: Any, fired: Any) -> Any:
        """Where the answer to one input is stored; None if the construction does not tell."""

    def traced_stage(self, layer: Any) -> str:
        """The name under which a layer is shown."""


class Traced(Protocol):
    """How one input is answered, for programs and for people."""

    def json(self) -> dict: ...

    def lines(self) -> list[str]: ...


class Tracing(Protocol):
    """trace.py"""

    def trace(self, model: Model, tokens: Sequence[Token], made_by: Explains | None) -> Traced:
        """How one input, whose words the model knows, is answered."""

    def followed(self, model: Model, tokens: Sequence[Token]) -> Any:
        """The lanes after each layer and the units that fired, where there are lanes; else None."""


class Locating(Protocol):
    """locate.py: which parameters hold an answer."""

    def held(self, model: Model, tokens: Sequence[Token], made_by: Explains | None) -> Held:
        """The parameters that an answer reads."""

    def changes(
        self, model: Model, tokens: Sequence[Token], answer: Answer, held: Held
    ) -> Iterator[Changed]:
        """Changes of them that alter the answer, found by trying."""

    def size(self, network: Any) -> int:
        """How many parameters a place is chosen from."""

    def exists(self, network: Any, place: Place) -> bool:
        """Whether the network has this parameter."""


class Differing(Protocol):
    """differ.py"""

    def difference(self, one: Any, two: Any) -> Difference | None:
        """What differs in the weights of two networks; None if their shapes differ."""


class Storing(Protocol):
    """store.py: the model folder of checker/FORMAT.md.

    FILES  that the certificate speaks of; it is not one of them itself
    NOTES  the one of them that says how the model was made
    """

    FILES: tuple[str, ...]
    NOTES: str

    def read(self, path: Path, text: Mapping[str, bytes], certificate: Object) -> tuple[Model, str]:
        """The model of a folder, and the SHA-256 of its weights."""

    def describe(self, model: Model) -> dict[str, Any]:
        """The part of config.json that describes the network."""

    def weights(self, model: Model) -> list[Piece]:
        """The content of the file of weights, in pieces."""

    def contents(self, model: Model, described: dict[str, Any]) -> dict[str, list[Piece]]:
        """The content of each of FILES, in pieces: weights may fill half the memory.

        described  everything that config.json says of the model
        """

    def code_bits(self, network: Any) -> int:
        """The length of the network's code word, in bits."""

    def certificate(self, claim: Any) -> dict[str, Any]:
        """What certificate.json claims."""


class Showing(Protocol):
    """show.py: a model in rows and sentences.

    UNIT     what is checked, in the singular
    CORRECT  what a checked one is
    REMARKS  whether all notes of a construction are shown, not only their number
    """

    UNIT: str
    CORRECT: str
    REMARKS: bool

    def size_rows(self, model: Model, found: Verification, stated: str) -> list[Row]:
        """The data and the size of the network; the remark is about the method's name."""

    def means(self, model: Model) -> dict[str, str]:
        """What a word of evidence means."""

    def tried(self, count: object) -> str:
        """What the search of a construction tried, by their number."""

    def facts(self, claim: Any, found: Verification | None) -> dict[str, Any]:
        """What answers in JSON hold beyond the keys that all models share."""

    def explained(self, model: Model) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the network reads, and what `explain` says of this kind alone."""

    def stages(self, network: Any) -> list:
        """The stages of the network in the order of the data flow, and the cost of each."""

    def card(self, model: Model, found: Verification, check_again: str) -> str:
        """The text of README.md; `check_again` is its last section."""


@dataclass(frozen=True)
class Kind:
    """A kind of network: the claim of its models, and a module for each activity."""

    claim: type[Claim]
    answer: Answering
    prove: Proving
    trace: Tracing
    locate: Locating
    differ: Differing
    store: Storing
    show: Showing
