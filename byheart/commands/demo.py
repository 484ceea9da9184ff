"""demo: a book compiled, proved and recited."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..machine.watch import SILENT, Watch

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..models.model import Model

BOOK = Path(__file__).resolve().parents[1] / "data" / "book.txt"
SEED = 0
LONGEST = 10_000  # words; a recitation that loops is stopped


@dataclass(frozen=True)
class Prepared:
    """The book's model, proved, and what is known about it."""

    model: "Model"
    book: "Dataset"
    answer: dict


def demo(output: str | Path | None = None, *, force: bool = False, watch: Watch = SILENT) -> dict:
    """Compile the book as next-word prediction, prove it, recite it from its first word on."""
    prepared = prepare(output, force=force, watch=watch)
    watch.stage("reciting")
    return perform(prepared)


def prepare(
    output: str | Path | None = None, *, force: bool = False, watch: Watch = SILENT
) -> Prepared:
    """The model, built and proved; kept in a folder if one is named."""
    from ..data.load import load
    from .models import build, built_answer, check_output, save

    if output is not None:
        check_output(Path(output), force)
    started = time.perf_counter()
    watch.stage("loading")
    book = load(BOOK, documents="whole", window="auto")
    loaded = time.perf_counter() - started
    model = build(book, watch, positions=True, seed=SEED)
    if output is not None:
        save(model, Path(output), force, None)
    answer = {**built_answer(model, loaded), "faithful_parameters": _faithful(book)}
    return Prepared(model, book, answer)


def perform(prepared: Prepared, listen: Callable[[str], None] = lambda word: None) -> dict:
    """The answer of the demo, after a recitation that `listen` hears word by word."""
    words = recite(prepared.model, prepared.book.sequence(0)[0], listen)
    return {**prepared.answer, "recited": words == _words(prepared.book), "words": len(words)}


def recite(model: "Model", first: str, listen: Callable[[str], None]) -> list[str]:
    """The words that the model says by itself after the first one: weights and vocabulary only."""
    from ..models.recall import continued

    words = [first]
    listen(first)
    for answer in islice(continued(model, words), LONGEST):
        if isinstance(answer.label, str):
            words.append(answer.label)
            listen(answer.label)
    return words


def _words(dataset: "Dataset") -> list:
    """The book: its first word, then what follows each context in turn."""
    return [dataset.sequence(0)[0], *(dataset.label(i) for i in range(len(dataset)))]


def _faithful(dataset: "Dataset") -> int:
    """What the paper's own construction takes: tokens are (number of the word, position)."""
    from ..theory.kajitsuka2025.sizes import bit_extraction_parameters

    radius = (len(dataset.tokens) ** 2 + dataset.length**2) ** 0.5
    return bit_extraction_parameters(
        len(dataset), dataset.length, 2, len(dataset.label_names), radius
    )
