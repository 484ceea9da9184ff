"""What a model knows, said from its weights: every document from its first token to its last.

A network holds what follows each context. With which token a document begins, how many it has and
what its file holds beside them is the layout of its folder. Questions of a table are in no network:
a recitation of rows is given them, and answers.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ..claims.model import ModelData
from ..claims.result import Result
from ..data.dataset import Dataset
from ..data.layout import File, Layout
from ..errors import ByheartError
from ..machine.memory import require
from .kinds import kind_of
from .placing import fitting
from .questions import written
from .source import of_texts

ROWS = 1 << 10  # documents, or rows, that are recited together
TOKEN_BYTES = 200  # of memory that a recited token takes


@dataclass(frozen=True)
class Recited(Result):
    """A file as a model recites it."""

    name: str | None  # in its folder; None of a file by itself
    encoding: str
    size: int  # in bytes
    sha256: str  # of them
    # whether that is the hash of the file that the model was made from, by the folder's own
    # account; None if it does not say
    same: bool | None
    content: bytes = field(repr=False)

    def json(self) -> dict:
        return {x: y for x, y in super().json().items() if x != "content"}


@dataclass(frozen=True)
class Recitation:
    """What a model recites."""

    files: tuple[Recited, ...]  # the files of a text; of other data one, whose lines are rows
    documents: int  # how many documents or rows it has
    tokens: int  # how many tokens, or labels of rows, were recited
    # the numbers of documents, from 1, that ended early, as the model gave no answer
    stopped: tuple[int, ...] = ()
    # whether the lines are rows of JSON: inputs, which were given, and recited labels
    rows: bool = False

    @property
    def text(self) -> str:
        return "".join(file.content.decode(file.encoding, "replace") for file in self.files)

    def __str__(self) -> str:
        return self.text


def recite(
    model: ModelData,
    questions: Dataset | None = None,
    progress: Callable[[int], None] = lambda tokens: None,
) -> Recitation:
    """Every document of the model's texts; of other data, the rows with these inputs."""
    layout = model.record.layout
    if not of_texts(model):
        return _rows(model, questions, progress)
    if layout is None:
        raise ByheartError(
            "this folder does not say where its documents end: it is older than recite, or its "
            "conflicts were settled by leaving contexts out; compile the file again."
        )
    _check_sizes(model, layout)
    documents = list(_documents(model, layout, progress))
    stopped = [i for i, x in enumerate(documents) if len(x) < layout.lengths[i]]
    if layout.files:
        # each is its text, or its tokens where they leave out white space
        texts = ((tokens, written(model, tokens)) for tokens in documents)
        pieces = [tokens if text is None else [text] for tokens, text in texts]
        files = tuple(_recited(*pair) for pair in layout.restored(pieces))
    else:
        lines = [json.dumps(row(model, tokens)) for tokens in documents]
        files = (_recited(None, "".join(f"{line}\n" for line in lines).encode()),)
    said = sum(map(len, documents))
    places = tuple(i + 1 for i in stopped)
    return Recitation(files, len(documents), said, places, rows=not layout.files)


def _check_sizes(model: ModelData, layout: Layout) -> None:
    """ByheartError if a folder, which may come from anywhere, says more than its data can hold."""
    tokens, files = sum(layout.lengths), layout.files
    most = sum(file.size for file in files)  # a token has a byte or more
    if files and all(file.sha256 for file in files) and tokens > most:
        raise ByheartError(f"the folder says that {most:,} bytes have {tokens:,} tokens.")
    require(TOKEN_BYTES * tokens, "the model", "its recitation")


def _documents(model: ModelData, layout: Layout, progress: Callable[[int], None]) -> Iterator[list]:
    answer = kind_of(model).answer
    for begin in range(0, len(layout.firsts), ROWS):
        lengths = layout.lengths[begin : begin + ROWS]
        documents = [[first] for first in layout.firsts[begin : begin + ROWS]]
        going = list(range(len(documents)))
        while going:
            every = {i: fitting(model, documents[i]) for i in going}
            asked = {i: tokens for i, tokens in every.items() if len(tokens) <= model.length}
            answers, going = answer.answers(model, list(asked.values())), []
            for i, given in zip(asked, answers, strict=True):
                if given.label is not None and not isinstance(given.label, list):
                    documents[i].append(given.label)
                    if len(documents[i]) != lengths[i] and answer.continues(model, given.label):
                        going.append(i)
            progress(len(asked))
        yield from documents


def row(model: ModelData, tokens: Sequence) -> object:
    """A document that stands in no file of its own: its text as a record, or its tokens."""
    text = written(model, tokens) if all(isinstance(x, str) for x in tokens) else None
    return list(tokens) if text is None else {"text": text}


def _recited(file: File | None, content: bytes) -> Recited:
    digest = hashlib.sha256(content).hexdigest()
    if file is None:
        return Recited(None, "utf-8", len(content), digest, None, content)
    same = None if file.sha256 is None else file.sha256 == digest
    return Recited(file.name, file.encoding, len(content), digest, same, content)


def _rows(
    model: ModelData, questions: Dataset | None, progress: Callable[[int], None]
) -> Recitation:
    if questions is None:
        raise ByheartError(
            "this model knows the labels of a table and not its inputs; give the file with "
            "`check=...`, or compile it with `write_data=True`, which keeps them in the folder."
        )
    lines, said = [], 0
    for begin in range(0, len(questions), ROWS):
        part = range(begin, min(begin + ROWS, len(questions)))
        inputs = [questions.sequence(i) for i in part]
        for tokens, given in zip(inputs, kind_of(model).answer.answers(model, inputs), strict=True):
            lines.append(json.dumps({"input": tokens, "label": given.label}))
            said += len(given.label) if isinstance(given.label, list) else 1
        progress(len(inputs))
    content = "".join(f"{line}\n" for line in lines).encode()
    return Recitation((_recited(None, content),), len(lines), said, rows=True)
