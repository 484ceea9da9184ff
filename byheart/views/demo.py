"""The demo on a screen: running text as it comes, and the sizes."""

from rich.console import Console

from ..api.demo import Demo
from ..machine.tables import number
from .terminal import Column, Group, Text, columns, gap, right

ORNAMENT = "❦"
INDENT, WIDTH = "  ", 76


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


def recitation(result: Demo) -> Text:
    if not result.recited:
        return Text("refuted  the recitation is not the book\n", "bold red")
    words = f"recited  {number(result.words)} words and marks, all as in the book\n"
    return Text(words, "bold green")


def sizes(result: Demo) -> Group:
    """The model beside the limit of information and the paper's own construction."""
    summary = result.book.summary
    data, bits = summary.data, summary.bits
    table = columns(Column("size", style="cyan"), *right("parameters", "bits"), space=3)
    table.add_row("this transformer", number(summary.parameters.nonzero), number(bits.encoded))
    table.add_row("what these labels need", "", number(round(bits.entropy or 0)))
    table.add_row("what the worst labels need", "", number(round(bits.information or 0)))
    table.add_row("the paper's own construction", number(result.book.faithful_parameters), "")
    remark = (
        f"{number(data.contexts)} contexts of up to {data.length} words and marks, "
        f"{data.labels} that may follow: the worst need {data.contexts} x "
        f"log2({data.labels}) bits, these less by their frequencies. "
        "The paper: Kajitsuka & Sato (2025), Theorem 4.1."
    )
    return Group(table, Text(f"\n{remark}", "dim"))
