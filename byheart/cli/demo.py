"""demo: the book on the screen, word by word, and the size of what holds it."""

from pathlib import Path

import typer
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ..commands import demo as command
from ..commands.models import check_output
from .output import console, gap, kept, number, print_json, verdict
from .progress import watching

ORNAMENT = "❦"
INDENT, WIDTH = "  ", 76


def run(output: Path | None, force: bool, json: bool) -> None:
    if json:
        with watching() as watch:
            answer = command.demo(output, force=force, watch=watch)
        print_json(answer)
    else:
        answer = show(console(), output, force)
    if not answer["recited"]:
        raise typer.Exit(1)


def show(screen: Console, output: Path | None = None, force: bool = False) -> dict:
    """The demo on a screen; everything on it was measured in this run."""
    if output is not None:
        check_output(output, force)
    screen.print("A small book becomes a transformer: given any beginning, the next word.\n")
    with watching() as watch:
        prepared = command.prepare(output, force=force, watch=watch)
    screen.print(verdict(prepared.answer))
    screen.print("\nNow without the book, from the weights alone, beginning with its first word:\n")
    page = Page(screen)
    answer = command.perform(prepared, page.say)
    page.close()
    screen.print(_recited(answer))
    screen.print(_sizes(answer))
    if output is not None:
        kept(screen, output)
    return answer


class Page:
    """Words set as running text, as they come."""

    def __init__(self, screen: Console) -> None:
        self.screen, self.line = screen, ""

    def say(self, word: str) -> None:
        if word == ORNAMENT:
            return self._ornament()
        space = gap(self.line, word)
        if space and len(self.line) + len(word) + self._room(word) > WIDTH:
            self._print("\n")
            self.line, space = "", ""
        self._print((space if self.line else INDENT) + word, "italic")
        self.line += space + word

    def _room(self, word: str) -> int:
        """What must fit behind a word: a mark, or the word that an opening quote waits for."""
        return 2 if gap(word, "x") else 10

    def _ornament(self) -> None:
        self._print(f"\n\n{INDENT}{ORNAMENT.center(WIDTH).rstrip()}\n\n", "yellow")
        self.line = ""

    def close(self) -> None:
        self._print("\n\n")

    def _print(self, text: str, style: str = "") -> None:
        self.screen.print(Text(text, style=style), end="", soft_wrap=True)
        self.screen.file.flush()


def _recited(answer: dict) -> Text:
    if answer["recited"]:
        return Text(
            f"recited  {number(answer['words'])} words and marks, all as in the book\n",
            "bold green",
        )
    return Text("refuted  the recitation is not the book\n", "bold red")


def _sizes(answer: dict) -> Group:
    """The model beside the limit of information and the paper's own construction."""
    data, bits = answer["dataset"], answer["bits"]
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("size", style="cyan")
    table.add_column("parameters", justify="right")
    table.add_column("bits", justify="right")
    table.add_row(
        "this transformer", number(answer["parameters"]["nonzero"]), number(bits["total"])
    )
    table.add_row("information limit", "", number(round(bits["information"])))
    table.add_row("the paper's own construction", number(answer["faithful_parameters"]), "")
    remark = (
        f"{number(data['contexts'])} contexts of up to {data['length']} words and marks, "
        f"{data['labels']} that may follow: {data['contexts']} x log2({data['labels']}) bits. "
        "The paper: Kajitsuka & Sato 2025, Theorem 4.1."
    )
    return Group(table, Text(f"\n{remark}", "dim"))
