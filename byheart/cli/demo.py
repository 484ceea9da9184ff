"""demo: the book on the screen, word by word, and the size of what holds it."""

import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.text import Text

from ..data.dataset import Dataset
from ..data.load import load
from ..machine.watch import SILENT, Watch
from ..models.folder.swap import check_place
from ..models.model import Model
from ..models.recall import continued
from ..theory.kajitsuka2025.sizes import bit_extraction_parameters
from .compile import build, built_answer
from .options import Force, Json
from .output import columns, console, gap, kept, number, print_json, verdict
from .progress import watching

BOOK = Path(__file__).resolve().parents[1] / "data" / "book.txt"
SEED = 0
LONGEST = 10_000  # words; a recitation that loops is stopped
ORNAMENT = "❦"
INDENT, WIDTH = "  ", 76
Prepared = tuple[Model, Dataset, dict]


def command(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also keep the model here.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Compile the built-in book, prove it, recite it, show its size. Needs no file."""
    if json:
        with watching() as watch:
            prepared = prepare(output, force=force, watch=watch)
            watch.stage("reciting")
            answer = perform(prepared)
        print_json(answer)
    else:
        answer = show(console(), output, force)
    if not answer["recited"]:
        raise typer.Exit(1)


def show(screen: Console, output: Path | None = None, force: bool = False) -> dict:
    """The demo on a screen; everything on it was measured in this run."""
    if output is not None:
        check_place(output, force)
    screen.print("A small book becomes a transformer: given any beginning, the next word.\n")
    with watching() as watch:
        prepared = prepare(output, force=force, watch=watch)
    screen.print(verdict(prepared[2]))
    screen.print("\nNow without the book, from the weights alone, beginning with its first word:\n")
    page = Page(screen)
    answer = perform(prepared, page.say)
    page.close()
    if answer["recited"]:
        words = f"recited  {number(answer['words'])} words and marks, all as in the book\n"
        screen.print(Text(words, "bold green"))
    else:
        screen.print(Text("refuted  the recitation is not the book\n", "bold red"))
    screen.print(sizes(answer))
    if output is not None:
        kept(output, screen=screen)
    return answer


def prepare(output: Path | None = None, force: bool = False, watch: Watch = SILENT) -> Prepared:
    """The book's model, built and proved, and its sizes; kept in a folder if one is named."""
    if output is not None:
        check_place(output, force)
    started = time.perf_counter()
    watch.stage("loading")
    book = load(BOOK, unit="wordpunct", documents="whole", window="auto")
    loaded = time.perf_counter() - started
    model = build(book, watch, positions=True, seed=SEED)
    if output is not None:
        model.save(output, force=force)
    # the paper's own construction: tokens are (number of the word, position)
    radius = (len(book.tokens) ** 2 + book.length**2) ** 0.5
    faithful = bit_extraction_parameters(len(book), book.length, 2, len(book.label_names), radius)
    return model, book, {**built_answer(model, loaded), "faithful_parameters": faithful}


def perform(prepared: Prepared, listen: Callable[[str], None] = lambda word: None) -> dict:
    """The answer of the demo, after a recitation that `listen` receives word by word."""
    model, book, answer = prepared
    words = recite(model, book.sequence(0)[0], listen)
    right = [words[0], *(book.label(i) for i in range(len(book)))]
    return {**answer, "recited": words == right, "words": len(words)}


def recite(model: Model, first: str, listen: Callable[[str], None]) -> list[str]:
    """The words that the model gives by itself after the first: weights and vocabulary only."""
    words = [first]
    listen(first)
    for answer in islice(continued(model, words), LONGEST):
        if isinstance(answer.label, str):
            words.append(answer.label)
            listen(answer.label)
    return words


class Page:
    """Words set as running text, as they come."""

    def __init__(self, screen: Console) -> None:
        self.screen, self.line = screen, ""

    def say(self, word: str) -> None:
        if word == ORNAMENT:
            self.print(f"\n\n{INDENT}{ORNAMENT.center(WIDTH).rstrip()}\n\n", "yellow")
            self.line = ""
            return
        space = gap(self.line, word)
        room = 2 if gap(word, "x") else 10  # for a mark, or for the word after an opening quote
        if space and len(self.line) + len(word) + room > WIDTH:
            self.print("\n")
            self.line, space = "", ""
        self.print((space if self.line else INDENT) + word, "italic")
        self.line += space + word

    def close(self) -> None:
        self.print("\n\n")

    def print(self, text: str, style: str = "") -> None:
        self.screen.print(Text(text, style=style), end="", soft_wrap=True)
        self.screen.file.flush()


def sizes(answer: dict) -> Group:
    """The model beside the limit of information and the paper's own construction."""
    data, bits = answer["dataset"], answer["bits"]
    table = columns(3)
    table.add_column("size", style="cyan")
    table.add_column("parameters", justify="right")
    table.add_column("bits", justify="right")
    own = number(answer["parameters"]["nonzero"])
    table.add_row("this transformer", own, number(bits["total"]))
    table.add_row("what these labels need", "", number(round(bits["entropy"])))
    table.add_row("what the worst labels need", "", number(round(bits["information"])))
    table.add_row("the paper's own construction", number(answer["faithful_parameters"]), "")
    remark = (
        f"{number(data['contexts'])} contexts of up to {data['length']} words and marks, "
        f"{data['labels']} that may follow: the worst need {data['contexts']} x "
        f"log2({data['labels']}) bits, these less by their frequencies. "
        "The paper: Kajitsuka & Sato (2025), Theorem 4.1."
    )
    return Group(table, Text(f"\n{remark}", "dim"))
