"""Items: what a model is asked about, as token ids.

Documents of a text or of token ids are items of their own, of which the first token is given. A row
of a table, with an input and a label, is an item of which the input is given.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Ints, offsets, take
from ..data.dataset import Dataset
from ..data.load import TEXTS, is_corpus, kind_of, load, load_documents
from ..data.readers.corpus import folder_texts
from ..data.readers.raw import opened
from ..data.readers.text import document_rule, read_text, split, unix
from ..errors import ByheartError
from .checkpoint import Checkpoint
from .wordings import AS_IT_IS, Rows, Text, Wording, rows_of

OWN = ("unit", "tokenizer", "window")  # options of a text that the model decides
CUTS = "`length=...` would cut off the labels of these rows; shorten their inputs."


@dataclass(frozen=True, eq=False)
class Items:
    """N sequences of token ids."""

    ids: Ints  # of all items: item i is ids[starts[i] : starts[i + 1]]
    starts: Ints
    given: Ints  # [N] how many of its first tokens are not predicted
    labelled: bool = False  # whether a label is predicted: it is asked for after the whole input
    skipped: int = 0  # documents without a token to predict
    cut: int = 0  # tokens left out because items were truncated
    text: bool = False  # whether a tokenizer made the tokens
    opening: int = 0  # special tokens that the tokenizer puts before each item; they are given, too
    unspelled: int = 0  # texts that are not what their tokens make up

    def __len__(self) -> int:
        return len(self.given)

    @property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    @property
    def scored(self) -> Ints:
        """[N] how many tokens of each item are predicted."""
        return self.lengths - self.given

    def targets(self) -> Ints:
        """The tokens that are predicted, item after item."""
        return take(self.ids, self.starts[:-1] + self.given, self.scored)

    def sums(self, values: NDArray) -> NDArray[np.float64]:
        """[N] the sum over each item of values that are aligned with its targets."""
        ends = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
        places = offsets(self.scored)
        return ends[places[1:]] - ends[places[:-1]]

    def asked(self, prefix: int, suffix: int) -> tuple[Ints, Ints]:
        """[N] after how many tokens an item is to be continued, and by how many: 0 if too short."""
        after = self.given
        if not self.labelled:
            after = np.maximum(self.given, prefix + self.opening)
        return after, np.clip(self.lengths - after, 0, suffix)

    def sha256(self) -> str:
        digest = hashlib.sha256(b"byheart-items-1\n")
        for array in (self.ids, self.starts, self.given):
            digest.update(array.astype("<i8").tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Asked:
    """The items of some data in each wording, item by item the same; and what the data says."""

    items: tuple[Items, ...]  # of each wording
    rows: Ints  # [N] numbers from 1: of documents or rows, also of those that were left out
    wordings: tuple[Wording, ...] = (AS_IT_IS,)
    texts: tuple[tuple[Text, ...], ...] = ()  # of each wording; none of token ids
    lines: Ints | None = None  # [N] in the file
    columns: Mapping[str, tuple] = field(default_factory=dict)  # in no wording


def pack(
    rows: Sequence[Sequence[int]],
    given: Sequence[int],
    length: int | None = None,
    labelled: bool = False,
    text: bool = False,
    opening: Sequence[int] = (),
) -> Asked:
    """Items of these rows, truncated to a length; those with nothing to predict are left out.

    opening  tokens that are put before each row, and count as given and for its length
    """
    begun = [[*opening, *row][:length] for row in rows]
    sizes, before = np.array([*map(len, begun)], np.int64), len(opening) + np.array(given, np.int64)
    kept = np.flatnonzero(sizes > before)
    whole = sum(len(opening) + len(row) for row in rows)
    if not len(kept):
        raise ByheartError("the data holds no item of two tokens or more: nothing is predicted.")
    items = Items(
        np.array([token for i in kept for token in begun[i]], np.int64),
        offsets(sizes[kept]),
        before[kept],
        labelled,
        len(rows) - len(kept),
        whole - sum(map(len, begun)),
        text,
        len(opening),
    )
    return Asked((items,), kept + 1)


def items_of(
    checkpoint: Checkpoint,
    data: Any,
    loading: Mapping[str, Any],
    templates: Sequence[str] = (),
    answer: str | None = None,
) -> Asked:
    """The items of a file, or of a Dataset, for a checkpoint; ByheartError if it cannot read them.

    Text is split by the tokenizer of the model, whole numbers are its token ids.
    """
    options = {name: value for name, value in loading.items() if value not in (None, (), [])}
    kind, length = kind_of(data, options.get("format")), options.get("length")
    rows = rows_of(data, options, templates, answer)
    if rows is not None or kind in TEXTS:
        for name in OWN:
            if options.get(name) not in (None, "word"):
                raise ByheartError(
                    f"{data}: `{name}=...` does not apply to an audit: the model's own tokenizer "
                    "splits the text."
                )
    if isinstance(rows, Rows):
        read = _worded(checkpoint, rows, length)
    elif rows is not None or kind in TEXTS:
        rule = str(options.get("documents", "auto"))
        if "include" in options and not Path(data).is_dir():
            raise ByheartError(f"{data}: `include=...` is for a folder of texts; leave it out.")
        texts, lines = documents(data, rule, options) if rows is None else (rows, None)
        read = _texts(checkpoint, [("", x) for x in texts], False, length)
        if lines is not None:
            read = replace(read, lines=np.array(lines)[read.rows - 1])
    elif isinstance(data, Dataset):
        read = _rows(checkpoint, data, None)
    elif is_corpus(data, options.get("format")):
        if "window" in options:
            raise ByheartError(f"{data}: `window=...` does not apply to an audit.")
        stored = load_documents(data, **options)
        ids, separator = np.asarray(stored.ids).astype(np.int64), stored.separator
        parts = np.split(ids, np.flatnonzero(ids == separator))  # nowhere, if there is none
        parts = [part[part != separator] for part in parts]
        tokens = [part.tolist() for part in parts if len(part)]
        read = pack(tokens, [1] * len(tokens), stored.length)
    else:
        options.pop("length", None)
        read = _rows(checkpoint, load(data, **options), length)
    name = str(data) if isinstance(data, str | Path) else "the data"
    for items in read.items:
        checked(checkpoint, items, name)
    return read


def _texts(
    checkpoint: Checkpoint, texts: Sequence[Text], labelled: bool, length: int | None = None
) -> Asked:
    """Texts as items: what is given of each, and what is predicted after it.

    Where nothing is given, it is the first token of the text.
    """
    befores, afters = ([text[i] for text in texts] for i in (0, 1))
    after, wrong = checkpoint.tokens(afters)
    before, also = checkpoint.tokens(befores) if any(befores) else ([[] for _ in texts], 0)
    rows = [[*x, *y] for x, y in zip(before, after, strict=True)]
    given = [len(x) if text[0] else 1 for x, text in zip(before, texts, strict=True)]
    read = pack(rows, given, length, labelled, True, checkpoint.opening)
    (items,) = read.items
    kept = []
    for place, row in enumerate(read.rows - 1):
        whole = len(checkpoint.opening) + len(rows[row])
        if items.lengths[place] < whole:  # the text of the tokens that are left
            left = rows[row][: items.lengths[place] - whole]  # it is never a label's
            kept.append(("", checkpoint.tokenizer.decode(left)))
        else:
            kept.append(texts[row])
    items = replace(items, unspelled=wrong + also)
    return replace(read, items=(items,), texts=(tuple(kept),))


def _worded(checkpoint: Checkpoint, rows: Rows, length: int | None) -> Asked:
    """The rows of a table in each wording; a row that is too short in one of them is left out."""
    if length is not None and rows.labelled:
        raise ByheartError(CUTS)
    read = [_texts(checkpoint, texts, rows.labelled, length) for texts in rows.texts]
    if any(len(one.rows) < len(rows.rows) for one in read):
        common = set(read[0].rows).intersection(*(one.rows for one in read))
        chosen = sorted(int(i) - 1 for i in common)
        if not chosen:
            raise ByheartError("the data holds no item of two tokens or more in every wording.")
        fewer = replace(
            rows,
            texts=tuple(tuple(texts[i] for i in chosen) for texts in rows.texts),
            rows=tuple(rows.rows[i] for i in chosen),
            lines=tuple(rows.lines[i] for i in chosen),
            columns={name: tuple(x[i] for i in chosen) for name, x in rows.columns.items()},
            empty=rows.empty + len(rows.rows) - len(chosen),
        )
        return _worded(checkpoint, fewer, length)
    return Asked(
        tuple(replace(one.items[0], skipped=rows.empty) for one in read),
        np.array(rows.rows),
        rows.wordings,
        tuple(one.texts[0] for one in read),
        np.array(rows.lines),
        rows.columns,
    )


def checked(checkpoint: Checkpoint, items: Items, name: str) -> None:
    """ByheartError if the model cannot read all of the items."""
    outside = (items.ids < 0) | (items.ids >= checkpoint.vocabulary)
    if outside.any():
        none = "has no token" if outside.all() else f"holds the token {items.ids[outside][0]}"
        where = "in" if outside.all() else "outside"
        raise ByheartError(
            f"{name} {none} {where} the vocabulary of {checkpoint.folder}, the ids 0 to "
            f"{checkpoint.vocabulary - 1:,}; give ids of this model's tokenizer."
        )
    limit, longest = checkpoint.limit, int(items.lengths.argmax())
    if limit is not None and items.lengths[longest] > limit + 1:  # the last token is not read
        raise ByheartError(
            f"{name}: item {longest + 1:,} has {items.lengths[longest]:,} tokens, and the model "
            f"reads at most {limit:,}; truncate with `length={limit}`, or cut the text into "
            "shorter documents."
        )


def documents(
    path: str | Path, rule: str, options: Mapping[str, Any]
) -> tuple[list[str], list[int] | None]:
    """The documents of a text file, of standard input, or of a folder of text files.

    And the lines on which they begin; None of a folder.
    """
    lines = None
    if Path(path).is_dir():
        stored, _ = folder_texts(Path(path), options.get("include", ()), options.get("encoding"))
        contents = [unix(x.text) for x in stored]
        rule = "whole" if rule == "auto" else rule
    else:
        if str(path) != "-" and not Path(path).is_file():
            raise ByheartError(f"{path} does not exist; check the path.")
        with opened(Path(path), ".txt", options.get("encoding")) as raw:
            contents = [read_text(raw)]
        rule = document_rule(contents[0]) if rule == "auto" else rule
    texts = [document for content in contents for document in split(content, rule)]
    if not texts:
        raise ByheartError(f"{path} holds no text.")
    if not Path(path).is_dir():
        lines, (content,), begin, end, line = [], contents, 0, 0, 1
        for text in texts:
            before, begin = begin, content.find(text, end)
            line, end = line + content.count("\n", before, begin), begin + len(text)
            lines.append(line)
    return texts, lines


def _rows(checkpoint: Checkpoint, dataset: Dataset, length: int | None) -> Asked:
    """The rows of a dataset: whole numbers are token ids, words make up a text."""
    if length is not None and not dataset.every:
        raise ByheartError(CUTS)
    if not dataset.has_vocabulary:
        raise ByheartError("a language model reads text or token ids, and this data has vectors.")
    if dataset.kind == "string":
        if dataset.every:
            raise ByheartError("an audit of text needs one label per row, and this has several.")
        numbers = range(len(dataset))
        inputs = (joined(dataset.sequence(i)) for i in numbers)
        texts = [(x, f" {str(dataset.label(i)).strip()}") for i, x in enumerate(inputs)]
        return _texts(checkpoint, texts, True)
    if not all(isinstance(name, int) for name in dataset.label_names):
        raise ByheartError("the tokens are ids and the labels are words; give labels that are ids.")
    tokens = dataset.vectors[:, 0].astype(np.int64)[dataset.ids]
    labels_of = np.array(dataset.label_names, np.int64)[dataset.labels]
    parts = np.split(tokens, dataset.starts[1:-1])
    if not dataset.every:
        rows = [[*part.tolist(), int(y)] for part, y in zip(parts, labels_of, strict=True)]
        return pack(rows, [len(part) for part in parts], labelled=True)
    follows = np.split(labels_of, dataset.starts[1:-1])
    for number, (part, label) in enumerate(zip(parts, follows, strict=True), 1):
        if (part[1:] != label[:-1]).any():
            raise ByheartError(
                f"row {number:,} has a label per token which is not the next token; a language "
                "model predicts only that."
            )
    rows = [[*part.tolist(), int(y[-1])] for part, y in zip(parts, follows, strict=True)]
    return pack(rows, [1] * len(rows), length)


def joined(words: Sequence[str]) -> str:
    """The text that tokens make up: those with their white space as they are, others with spaces.

    >>> joined(["The", " capital"]), joined(["The", "capital"])
    ('The capital', 'The capital')
    """
    return ("" if any(word[:1].isspace() for word in words) else " ").join(words)
