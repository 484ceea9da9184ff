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
    """A model that is loaded in a library."""

    name: str  # name, version: of the library
    version: str
    dtype: str  # that it computes in
    # inputs of one length to outputs: vectors [B, n, d] to the numbers of labels [B], or tokens [B,
    # n] to logits: [B, V] of a decoder, [B, n, V] of a checkpoint
    run: Callable[[NDArray], NDArray] | None = None
    # the likeliest next token after tokens [n], of a library that gives no logits
    says: Callable[[NDArray], int] | None = None
    # prompts [B, n] and a count to the tokens that follow, at most as many
    generate: Callable[[NDArray, int], NDArray] | None = None
    # a text to the numbers of its tokens, by the library's own tokenizer
    split: Callable[[str], Sequence[int]] | None = None
    # of a library that reads the data by itself: how many answers there are, and what is wrong
    judged: Callable[[], tuple[int, list[str]]] | None = None

    @property
    def sentence(self) -> str:
        return f"{self.name} {self.version} in {self.dtype}"

    def json(self) -> dict:
        return {"name": self.name, "version": self.version, "dtype": self.dtype}


class Answering(Protocol):
    """answer.py: questions as rows of numbers, and outputs as answers.

    numbers        a sequence as the network reads it; None if a word is outside the vocabulary
    answers        to many questions; a word outside the vocabulary gives known = False
    distributions  the probabilities of all tokens to come next; ByheartError if it stores labels
    continues      whether a label is a token of the model, so that it can continue from there
    """

    def numbers(self, model: Model, tokens: Sequence[Token]) -> list | None: ...
    def answers(self, model: Model, sequences: Sequence[Sequence[Token]]) -> list[Answer]: ...
    def distributions(self, model: Model, rows: Sequence[Sequence[int]]) -> Iterator[NDArray]: ...
    def continues(self, model: Model, label: str | int) -> bool: ...


class Proving(Protocol):
    """prove.py: whether the claim holds for a dataset.

    reads      the data of a file as the network is asked about it: its predictions, one by one
    texts      the data as the lines of a file of texts, which the checker splits by itself; None
               if it is no text, or the checker cannot split it
    unfitting  why the network cannot even read this data; None if it can
    contexts   which predictions of the data the network cannot distinguish
    whole      how many items of the data a certificate that covers all of it counts
    verify     whether the claim holds for all of a dataset, or for a sample of it
    recorded   the claim with what verifying it on all of its data has found out, if it says so
    observed   how many items a run in another library has answered, and which of them wrongly
    """

    def reads(self, model: Model, dataset: Dataset) -> Dataset: ...
    def texts(self, model: Model, dataset: Dataset) -> list[dict[str, Any]] | None: ...
    def unfitting(self, model: Model, dataset: Dataset) -> str | None: ...
    def contexts(self, model: Model, dataset: Dataset) -> Contexts: ...
    def whole(self, dataset: Dataset) -> int: ...
    def verify(self, model: Model, dataset: Dataset, how: Judging) -> Verification: ...
    def recorded(self, model: Model, dataset: Dataset, found: Verification) -> Claim: ...
    def observed(
        self, model: Model, dataset: Dataset, runtime: Runtime, progress: Progress
    ) -> tuple[int, list[str]]: ...


class Explains(Protocol):
    """What a construction says about its networks.

    stored        where the answer to one input is stored; None if it does not tell
    traced_stage  the name under which a layer is shown
    """

    on_a_line: ClassVar[bool]

    def stored(self, network: Any, streams: Any, fired: Any) -> Any: ...
    def traced_stage(self, layer: Any) -> str: ...


class Traced(Protocol):
    """How one input is answered, for programs and for people."""

    def json(self) -> dict: ...
    def lines(self) -> list[str]: ...


class Tracing(Protocol):
    """trace.py

    trace     how one input, whose words the model knows, is answered
    followed  the lanes after each layer and the units that fired, where there are lanes; else None
    """

    def trace(self, model: Model, tokens: Sequence[Token], made_by: Explains | None) -> Traced: ...
    def followed(self, model: Model, tokens: Sequence[Token]) -> Any: ...


class Locating(Protocol):
    """locate.py: which parameters hold an answer.

    held     the parameters that an answer reads
    changes  changes of them that alter the answer, found by trying
    size     how many parameters a place is chosen from
    exists   whether the network has this parameter
    """

    def held(self, model: Model, tokens: Sequence[Token], made_by: Explains | None) -> Held: ...
    def changes(
        self, model: Model, tokens: Sequence[Token], answer: Answer, held: Held
    ) -> Iterator[Changed]: ...
    def size(self, network: Any) -> int: ...
    def exists(self, network: Any, place: Place) -> bool: ...


class Differing(Protocol):
    """differ.py: what differs in the weights of two networks; None if their shapes differ."""

    def difference(self, one: Any, two: Any) -> Difference | None: ...


class Storing(Protocol):
    """store.py: the model folder of checker/FORMAT.md.

    FILES        that the certificate speaks of; it is not one of them itself
    NOTES        the one of them that says how the model was made
    read         the model of a folder, and the SHA-256 of its weights
    describe     the part of config.json that describes the network
    weights      the content of the file of weights, in pieces
    contents     that of each of FILES, in pieces (weights may fill half the memory), given
                 everything that config.json says of the model
    code_bits    the length of the network's code word, in bits
    certificate  what certificate.json claims
    """

    FILES: tuple[str, ...]
    NOTES: str

    def read(
        self, path: Path, text: Mapping[str, bytes], certificate: Object
    ) -> tuple[Model, str]: ...
    def describe(self, model: Model) -> dict[str, Any]: ...
    def weights(self, model: Model) -> list[Piece]: ...
    def contents(self, model: Model, described: dict[str, Any]) -> dict[str, list[Piece]]: ...
    def code_bits(self, network: Any) -> int: ...
    def certificate(self, claim: Any) -> dict[str, Any]: ...


class Showing(Protocol):
    """show.py: a model in rows and sentences.

    UNIT       what is checked, in the singular
    CORRECT    what a checked one is
    REMARKS    whether all notes of a construction are shown, not only their number
    size_rows  the data and the size of the network; the remark is about the method's name
    means      what a word of evidence means
    tried      what the search of a construction tried, by their number
    facts      what answers in JSON hold beyond the keys that all models share
    explained  what the network reads, and what `explain` says of this kind alone
    stages     of the network, in the order of the data flow, and the cost of each
    card       the text of README.md; `check_again` is its last section
    """

    UNIT: str
    CORRECT: str
    REMARKS: bool

    def size_rows(self, model: Model, found: Verification, stated: str) -> list[Row]: ...
    def means(self, model: Model) -> dict[str, str]: ...
    def tried(self, count: object) -> str: ...
    def facts(self, claim: Any, found: Verification | None) -> dict[str, Any]: ...
    def explained(self, model: Model) -> tuple[dict[str, Any], dict[str, Any]]: ...
    def stages(self, network: Any) -> list: ...
    def card(self, model: Model, found: Verification, check_again: str) -> str: ...


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
