"""Layout: what the files of a text hold beside the tokens of its documents.

A network knows which token follows which context. How many tokens a document has, and with which
one it begins, what stands between documents, how lines end, and the encoding are kept here, so that
a recitation can be the file, byte for byte.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine.memory import require
from .arrays import Ints

LINE_END = re.compile("\r\n|\r|\n")
LISTED = 10_000  # documents whose ends are listed
SEPARATOR = "<|endoftext|>"
BETWEEN = {"line": "\n", "blank": "\n\n", "separator": f"\n{SEPARATOR}\n"}  # documents


class Runs(NamedTuple):
    """Texts one after another: which of `values`, and how often in a row."""

    values: tuple[str, ...]
    runs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Runs":
        """
        >>> Runs.of(["a", "a", "b", "a"])
        Runs(values=('a', 'b'), runs=((0, 2), (1, 1), (0, 1)))
        """
        numbers: dict[str, int] = {}
        runs = [(numbers.setdefault(x, len(numbers)), len([*y])) for x, y in groupby(texts)]
        return cls((*numbers,), (*runs,))

    def each(self) -> Iterator[str]:
        return chain.from_iterable(repeat(self.values[i], often) for i, often in self.runs)

    @property
    def size(self) -> int:
        return sum(len(self.values[i]) * often for i, often in self.runs)


PLAIN = Runs((), ())  # lines that end in \n


class File(NamedTuple):
    """A file of text."""

    name: str | None  # in its folder; None of a file by itself
    encoding: str  # of Python
    documents: int  # of it that have a context
    between: Runs  # the text before each of them, and after the last, with lines that end in \n
    # the text before each token but a document's first, where tokens leave it out
    inside: Runs | None
    ends: Runs  # of its lines
    size: int  # in bytes
    sha256: str | None  # of its bytes; None after a change


@dataclass(frozen=True)
class Layout:
    """The files that were read, in order, and the documents in them."""

    files: tuple[File, ...]  # none of a file of token ids
    firsts: tuple[Any, ...] = ()  # the first token of each document
    lengths: tuple[int, ...] = ()  # how many tokens it has, 2 or more
    # the hash of the last tokens of a document, as many as the window has, if they are no context:
    # there a recitation ends
    endings: frozenset[str] = frozenset()

    @cached_property
    def text(self) -> str:
        """As config.json holds it."""
        names = list(dict.fromkeys(self.firsts))
        place = {name: i for i, name in enumerate(names)}
        values = {
            "files": self.files,
            "names": names,
            "firsts": [place[x] for x in self.firsts],
            "lengths": self.lengths,
            "endings": sorted(self.endings),
        }
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def read(cls, text: object) -> "Layout | None":
        """The layout of such a text; None if it is not one."""
        try:
            given = json.loads(text)  # type: ignore[arg-type]
            files = tuple(map(_file, given["files"]))
            names = given["names"]
            firsts, lengths = ([_int(x) for x in given[y]] for y in ("firsts", "lengths"))
            own = {x for x in given["endings"] if isinstance(x, str)}
            found = cls(files, tuple(names[i] for i in firsts), tuple(lengths), frozenset(own))
            simple = all(type(x) in (str, int) for x in names)
            count = sum(file.documents for file in files) if files else len(lengths)
            if simple and len(firsts) == len(lengths) == count and min(lengths, default=2) >= 2:
                return found
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            pass
        return None

    def of(self, other: "Layout | None") -> "Layout":
        """The layout of the same documents in other tokens, in the files of another layout."""
        files = () if other is None else other.files
        same = sum(file.documents for file in files) == len(self.lengths)
        return replace(self, files=files) if same else self

    def without_hashes(self) -> "Layout":
        """What is needed to restore the files."""
        files = tuple(file._replace(sha256=None) for file in self.files)
        return replace(self, files=files, endings=frozenset())

    def restored(self, texts: Sequence[Sequence[str]]) -> Iterator[tuple[File, bytes]]:
        """Each file with the bytes that it has if its documents are these.

        texts  what each document is made of: its text, or its tokens where they leave out what
               stands between them
        """
        begin = 0
        for file in self.files:
            largest = max(file.size, file.between.size + (file.inside.size if file.inside else 0))
            require(4 * largest, file.name or "the text", "its recitation")
            own, begin = texts[begin : begin + file.documents], begin + file.documents
            inside = (file.inside or PLAIN).each()
            parts: list[str] = []
            for document, before in zip((*own, ()), file.between.each(), strict=False):
                parts.append(before)
                for number, token in enumerate(document):
                    parts += [next(inside, "") if number else "", token]
            ends, text = file.ends.each(), "".join(parts)
            if file.ends != PLAIN:
                text = LINE_END.sub(lambda found: next(ends, found[0]), text)  # noqa: B023
            yield file, text.encode(file.encoding, "replace")


def file_layout(
    name: str | None, content: bytes, text: str, encoding: str, documents: Sequence[Sequence[str]]
) -> File | None:
    """The layout of a file with this content, which is this text with its own line ends.

    documents  what each is made of, as in `restored`; None if they do not stand there
    """
    unix, place = LINE_END.sub("\n", text) if "\r" in text else text, 0
    between: list[str] = []
    inside: list[str] = []
    for parts in documents:
        for number, part in enumerate(parts):
            found = unix.find(part, place)
            if found < 0:
                return None
            (inside if number else between).append(unix[place:found])
            place = found + len(part)
    within = Runs.of(inside) if inside else None
    ends = Runs.of(LINE_END.findall(text)) if "\r" in text else PLAIN
    made = (Runs.of([*between, unix[place:]]), within, ends, len(content))
    file = File(name, encoding, len(documents), *made, hashlib.sha256(content).hexdigest())
    ((_, again),) = Layout((file,)).restored(documents)
    return file if again == content else None


def no_contexts(ids: Ints, back: Ints, window: int) -> NDArray[np.bool_]:
    """Of which documents the last tokens, as many as the window has, are no context.

    ids are those of all documents, back[p] the number of tokens before p in its document. Windows
    are compared by sums modulo 2^64, so that one of them may be taken for a context.
    """
    base, last = 0x9E3779B97F4A7C15, np.append(np.flatnonzero(back == 0)[1:], len(back)) - 1
    random = np.random.default_rng(0).integers(1 << 62, size=int(ids.max()) + 1).astype(np.uint64)
    powers, inverses = (
        np.multiply.accumulate(np.r_[np.uint64(1), np.full(len(ids), x, np.uint64)])
        for x in (base, pow(base, -1, 1 << 64))
    )
    sums = np.r_[np.uint64(0), np.cumsum(random[ids] * powers[:-1])]

    def windows(end: Ints) -> NDArray[np.uint64]:
        """Of the tokens up to these places."""
        size = np.minimum(back[end] + 1, window)
        begin = end + 1 - size
        return (sums[end + 1] - sums[begin]) * inverses[begin] + size.astype(np.uint64)

    return ~np.isin(windows(last), windows(np.flatnonzero(back > 0) - 1))


def hashed(tokens: Sequence) -> str:
    return hashlib.sha256(json.dumps(list(tokens)).encode()).hexdigest()[:16]


def changed(documents: Sequence[Sequence], rule: str) -> Layout:
    """The layout of documents that no file holds any more, as after an edit."""
    kept = [x for x in documents if len(x) > 1]
    firsts, lengths = tuple(x[0] for x in kept), tuple(map(len, kept))
    if not all(isinstance(x, str) for x in firsts):
        return Layout((), firsts, lengths)
    between = Runs.of(["", *[BETWEEN.get(rule, "\n")] * (len(kept) - 1), "\n"])
    file = File(None, "utf-8", len(kept), between, None, PLAIN, 0, None)
    return Layout((file,), firsts, lengths)


def is_sound(name: str) -> bool:
    """Whether this is the name of a file inside a folder, on every system."""
    parts = name.split("/")
    return all(x not in ("", ".", "..") and not re.search(r"[\\:\0-\x1f]", x) for x in parts)


def _int(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**40:
        raise ValueError
    return value


def _runs(given: Any) -> Runs:
    values, runs = given
    if not all(isinstance(x, str) for x in values):
        raise ValueError
    numbered = [(range(len(values))[_int(i)], _int(often)) for i, often in runs]
    return Runs(tuple(values), tuple(numbered))


def _file(given: Any) -> File:
    name, encoding, documents, between, inside, ends, size, sha256 = given
    "a".encode(encoding, "replace")  # LookupError if it is no encoding of text
    if not all(x is None or isinstance(x, str) for x in (name, sha256)):
        raise ValueError
    if name is not None and not is_sound(name):
        raise ValueError
    own = (_runs(between), None if inside is None else _runs(inside), _runs(ends))
    return File(name, encoding, _int(documents), *own, _int(size), sha256)
