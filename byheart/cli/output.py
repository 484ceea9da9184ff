"""How commands print: views for people, or one JSON object."""

import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from rich.console import Console, RenderableType
from rich.text import Text

from .. import pictures
from ..errors import flags
from ..machine.words import STEERS, harmless, printable
from .progress import watching

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Trimmed(io.TextIOBase):
    """A stream that keeps back spaces until something else follows on their line."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.spaces = stream, ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.stream.encoding

    def write(self, text: str) -> int:
        kept = re.sub(r" +(?=\n)", "", self.spaces + text)
        shown = kept.rstrip(" ")
        self.spaces = kept[len(shown) :]
        self.stream.write(shown)
        return len(text)

    def flush(self) -> None:
        self.stream.flush()

    def fileno(self) -> int:
        return self.stream.fileno()

    def isatty(self) -> bool:
        return False


def console(stream: TextIO | None = None) -> Console:
    """Where answers are printed: in a pipe, no line ends with spaces."""
    stream = stream or sys.stdout
    piped = stream is not None and not stream.isatty()  # None if the caller closed it
    file = cast(TextIO, Trimmed(stream)) if piped else stream
    return Console(file=file, highlight=False, soft_wrap=False)


def print_json(answer: object) -> None:
    text = json.dumps(flags(answer), ensure_ascii=False, allow_nan=False)
    # JSON escapes the first 32 characters by itself; the others that steer a terminal, here
    sys.stdout.write(STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def answer(
    verb: Callable[..., Any],
    view: Callable[..., RenderableType],
    draw: Callable[..., "Figure"] | None = None,
    *,
    json: bool,
    plot: Path | None = None,
    force: bool | None = None,
    each: str | None = None,
    kept: Path | None = None,
    **arguments: Any,
) -> Any:
    """Call a verb while its progress is shown, draw its picture, print the result and return it.

    What `force` replaces is the picture, or the output of a verb that has none.
    """
    if draw is None and force is not None:
        arguments["force"] = force
    picture = pictures.checked(plot, bool(force))
    with watching(each, kept) as watch:
        result = verb(watch=watch, **arguments)
        if picture is not None and draw is not None:
            watch.stage("drawing")
            pictures.write(draw, result, picture)
            result = replace(result, picture=str(picture))
    finish(result, json, view)
    return result


def finish(result: Any, json: bool, view: Callable[..., RenderableType]) -> None:
    """Print the result of a command, for a program or for a person."""
    if json:
        print_json(result.json())
    else:
        console().print(view(harmless(flags(result))))


def kept(
    output: Path,
    verify: str | None = None,
    screen: Console | None = None,
    question: str | None = None,
) -> None:
    """Where the model is, how to ask it and how to verify it, in lines that can be copied."""
    words = f"\nwritten to {output}\ntry: byheart recall {shlex.quote(str(output))}"
    if question is not None and "\n" not in question:
        words += f" {shlex.quote(question)}"
    elif question is not None and not {*question} & {*"'\\"}:  # lines, as bash reads them
        words += " $'" + question.replace("\n", "\\n") + "'"
    words += f"\ncheck it: {verify}" if verify else ""
    copied(words, screen)


def copied(words: str, screen: Console | None = None) -> None:
    """Print lines that people copy: they are not broken."""
    (screen or console()).print(Text(printable(words)), soft_wrap=True)
