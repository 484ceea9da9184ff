"""demo: the built-in book as a model, which recites it from its weights alone."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ..claims.result import picked
from ..data.dataset import Dataset
from ..data.load import load
from ..machine.swap import check_place
from ..machine.watch import SILENT, Watch
from ..models.recall import continued
from ..theory.kajitsuka2025.sizes import bit_extraction_parameters
from .compile import compile
from .summary import Summary, summarise

BOOK = Path(__file__).resolve().parents[1] / "data" / "book.txt"
SEED = 0
MAX_WORDS = 10_000  # a recitation that loops is stopped


@dataclass(frozen=True)
class Book:
    """The model of the book, built and proved, and the size of the paper's own construction."""

    summary: Summary
    faithful_parameters: int
    text: Dataset = field(repr=False)


@dataclass(frozen=True)
class Demo:
    """The book and its recitation: whether every word was right, and how many there were."""

    book: Book
    recited: bool
    words: int

    def json(self) -> dict:
        book = {**self.book.summary.json(), "faithful_parameters": self.book.faithful_parameters}
        return {**book, **picked(self, "recited words")}


def compile_book(
    output: str | Path | None = None, force: bool = False, watch: Watch = SILENT
) -> Book:
    """The book's model, built and proved; kept in a folder if one is named."""
    if output is not None:
        check_place(Path(output), force)
    started = time.perf_counter()
    watch.stage("loading")
    text = load(BOOK, unit="wordpunct", documents="whole", window="auto")
    loaded = time.perf_counter() - started
    watch.stage("building", len(text))
    model = compile(text, watch=watch, positions=True, seed=SEED)
    if output is not None:
        model.save(output, force=force)
    # the paper's own construction: tokens are (number of the word, position)
    radius = (len(text.tokens) ** 2 + text.length**2) ** 0.5
    faithful = bit_extraction_parameters(len(text), text.length, 2, len(text.label_names), radius)
    summary = summarise(model, model.verification, {"load": loaded, **model.record.seconds})
    return Book(summary, faithful, text)


def demo(book: Book, listen: Callable[[str], None] = lambda word: None) -> Demo:
    """A recitation from weights and vocabulary alone, which `listen` receives word by word."""
    words = [book.text.sequence(0)[0]]
    listen(words[0])
    for answer in islice(continued(book.summary.model, words), MAX_WORDS):
        if isinstance(answer.label, str):
            words.append(answer.label)
            listen(answer.label)
    correct = [words[0], *(book.text.label(i) for i in range(len(book.text)))]
    return Demo(book, words == correct, len(words))
