"""Data as next-token predictions: every prefix that must be known, with the token that follows.

A row of a table is a prompt and an answer of one or more tokens, with the end of the text after it.
A document is its prefixes, with the end after the last.
"""

from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Ints, offsets
from ..data.dataset import Dataset
from ..data.edits import Items
from ..data.readers.tokenizers import spoken
from ..errors import ByheartError, Message
from .tokens import Vocabulary


class Texts(NamedTuple):
    """Sequences as places in longer ones that begin with them."""

    tokens: list[NDArray]  # the texts
    text: Ints  # the number of each sequence's text
    place: Ints  # of its last token there

    @property
    def sequences(self) -> list[list[int]]:
        members: list[list[int]] = [[] for _ in self.tokens]
        for sequence, text in enumerate(self.text.tolist()):
            members[text].append(sequence)
        return members


def is_corpus(dataset: Dataset) -> bool:
    """Whether labels are the next tokens of documents, rather than answers."""
    return "documents" in dataset.loading


class Unspelled(NamedTuple):
    """Texts of the data that are not what their tokens spell."""

    predictions: int  # of the data that they are part of
    texts: int  # how many they are
    first: str  # of them
    # texts of the data that differ, and how many of these differ as tokens
    distinct: tuple[int, int]


def unspelled(dataset: Dataset, vocabulary: Vocabulary) -> Unspelled | None:
    """None if the tokens of every text are those of the text and spell it, character by character.

    A dataset that does not know its texts, as after an edit, has those that its tokens spell.
    """
    corpus, cut = is_corpus(dataset), bool(dataset.left_out.get("length"))
    if corpus and not cut:
        sequences = Items(dataset, positions=True, last=True).documents()
    else:
        sequences = [] if cut else [dataset.sequence(i) for i in range(len(dataset))]
    texts = dataset.texts
    if texts is None:
        texts = tuple(vocabulary.spelled(x) or "".join(map(str, x)) for x in sequences)
    split = {text: tuple(vocabulary.split(text)) for text in dict.fromkeys(texts)}
    if not corpus:
        split |= {x: tuple(vocabulary.split(x)) for x in map(spoken, map(str, dataset.label_names))}
    wrong = {text for text, tokens in split.items() if vocabulary.spelled(tokens) != text}
    if not cut:
        long = [x for x in texts if len(split[x]) > 1] if corpus else texts
        pairs = zip(long, sequences, strict=False)
        same = len(long) == len(sequences)
        wrong |= {x for x, y in pairs if split[x] != tuple(y)} if same else split.keys()
    if not wrong:
        return None
    if corpus:
        count = sum(max(1, len(split[text]) - 1) for text in texts if text in wrong)
    else:
        rows = zip_longest(texts, dataset.labels.tolist())
        names = [spoken(str(name)) for name in dataset.label_names]
        count = sum(text in wrong or names[label] in wrong for text, label in rows)
    distinct = len(split), len(set(split.values()))
    return Unspelled(
        min(count, len(dataset)), len(wrong), next(x for x in split if x in wrong), distinct
    )


def next_tokens(
    dataset: Dataset, vocabulary: Vocabulary, begins: bool, ends: bool = False
) -> Dataset:
    """The same data with one token as the label of every sequence.

    begins  whether the end token stands before every text
    ends    whether a text ends also where another one goes on
    """
    if dataset.kind != "string" or dataset.every:
        raise ByheartError("a stock checkpoint reads text, and this data has other tokens.")
    if dataset.texts == ():
        return dataset  # next tokens already
    if "window" in dataset.loading:
        raise ByheartError("a stock checkpoint reads texts from their beginning; leave out window.")
    corpus = is_corpus(dataset)
    if corpus:
        answers: list[list[str]] = [[str(name)] for name in dataset.label_names]
    else:
        alike = {spoken(str(x)): str(x) for x in dataset.label_names}
        for written in map(str, dataset.label_names):
            if (other := alike[spoken(written)]) != written:
                raise ByheartError(
                    f"the answers {written!r} and {other!r} of the data are one text after a "
                    "prompt; write them alike."
                )
        answers = [vocabulary.split(spoken(str(name))) for name in dataset.label_names]
    vocabulary.refuse_unknown(dataset.tokens, "the data")
    for name, answer in zip(dataset.label_names, answers, strict=True):
        vocabulary.refuse_unknown(answer, f"the answer {name!r}")
    used = {*dataset.tokens, *(token for answer in answers for token in answer), vocabulary.end}
    unknown = next((token for token in used if token not in vocabulary.numbers), None)
    if unknown is not None:
        raise ByheartError(f"the token {unknown!r} of the data is not in the tokenizer.")
    names = tuple(sorted(map(str, used)))
    number = {token: i for i, token in enumerate(names)}
    renumbered = np.array([number[str(token)] for token in dataset.tokens], np.int32)
    end = number[vocabulary.end]
    front = np.array([end] if begins else [], np.int32)
    encoded = [np.array([number[token] for token in answer], np.int32) for answer in answers]
    bounded = not (corpus and dataset.left_out.get("length"))  # a cut document has no end
    ids = renumbered[dataset.ids]
    texts, prompts = [], []
    for a, b, label in zip(dataset.starts[:-1], dataset.starts[1:], dataset.labels, strict=True):
        texts.append(np.concatenate([front, ids[a:b], encoded[label]]))
        prompts.append(len(front) + int(b - a))
    known = {
        text[:size].tobytes()
        for text, first in zip(texts, prompts, strict=True)
        for size in range(first, len(text))
    }
    rows: list[NDArray] = []
    labels: list[int] = []
    origins: list[int] = []
    counts: list[int] = []
    last = [not corpus or x == 1 for x in (*dataset.lengths[1:], 1)]  # whether a text ends here
    own = np.cumsum(dataset.lengths == 1) if corpus else np.arange(1, len(dataset) + 1)
    unended = 0  # texts with which others begin
    for text, first, count, whole_text, row in zip(
        texts, prompts, dataset.counts.tolist(), last, own.tolist(), strict=True
    ):
        goes_on = not ends and text.tobytes() in known
        unended += bounded and goes_on and whole_text
        for size in range(first, len(text) + (bounded and not goes_on)):
            rows.append(text[:size])
            labels.append(int(text[size]) if size < len(text) else end)
            counts.append(count)
            origins.append(row)
    flat = np.concatenate(rows) if rows else np.zeros(0, np.int32)
    whole = replace(
        dataset,
        tokens=names,
        ids=flat.astype(np.int32),
        starts=offsets(np.array([len(row) for row in rows], np.int64)),
        labels=np.array(labels, np.int32),
        label_names=names,
        counts=np.array(counts, np.int64),
        tokenizer=vocabulary.content,
        texts=(),
        rows=np.array(origins, np.int64),
        beginnings=None,
        notes=(*dataset.notes, *_note_on(unended)),
    )
    return whole.occurring()


def _note_on(unended: int) -> list[Message]:
    """A note on texts with which others begin, if there are any."""
    which = "1 text, with which another one begins"
    which = which if unended == 1 else f"{unended:,} texts, with which others begin"
    return [Message(f"nothing is claimed about the end of {which}")] if unended else []


def texts_of(sequences: list[NDArray]) -> Texts:
    """Sequences that follow one another, each beginning with the one before, as one text."""
    held: list[NDArray] = []
    text, place = np.empty(len(sequences), np.int64), np.empty(len(sequences), np.int64)
    for i, row in enumerate(sequences):
        if held and len(row) >= len(held[-1]) and np.array_equal(row[: len(held[-1])], held[-1]):
            held[-1] = row
        else:
            held.append(row)
        text[i], place[i] = len(held) - 1, len(row) - 1
    return Texts(held, text, place)
