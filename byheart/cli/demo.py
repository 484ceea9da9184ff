"""demo: the book on the screen, word by word, and the size of what holds it."""

from pathlib import Path

import typer
from rich.console import Console

from ..api.demo import Demo, compile_book, demo
from ..machine.swap import check_place
from ..views.demo import Page, recitation, sizes
from ..views.model import verdict
from .declaring import FORCE, JSON, OUTPUT, option, taking
from .output import console, kept, print_json
from .progress import watching


@taking(option("output", "Also keep the model here.", Path, flags=OUTPUT), FORCE, JSON)
def command(output: Path | None, force: bool, json: bool) -> None:
    """Compile the built-in book, prove it, recite it, show its size. Needs no file."""
    if json:
        with watching() as watch:
            book = compile_book(output, force, watch)
            watch.stage("reciting")
            result = demo(book)
        print_json(result.json())
    else:
        result = show(console(), output, force)
    if not result.recited:
        raise typer.Exit(1)


def show(screen: Console, output: Path | None = None, force: bool = False) -> Demo:
    """The demo on a screen; everything on it was measured in this run."""
    if output is not None:
        check_place(output, force)
    screen.print("A small book becomes a transformer: given any beginning, the next word.\n")
    with watching() as watch:
        book = compile_book(output, force, watch)
    screen.print(verdict(book.summary))
    screen.print("\nNow without the book, from the weights alone, beginning with its first word:\n")
    page = Page(screen)
    result = demo(book, page.say)
    page.close()
    screen.print(recitation(result))
    screen.print(sizes(result))
    if output is not None:
        kept(output, screen=screen)
    return result
