"""recall: questions from the command line, a file, a pipe or a person."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..machine.words import harmless, printable
from ..models.claim import Answer
from ..models.folder.read import open as open_folder
from ..models.model import Model
from ..models.questions import from_file, from_line, from_words, written
from ..models.recall import Choose, ask, drawing
from ..models.source import stored
from .messages import flags
from .options import Directory, Json
from .output import plural, print_json, typeset
from .progress import watching

SETTINGS = {"ignore_unknown_options": True}  # a token may begin with a dash
UNKNOWN, NO_LABEL = "(unknown)", "(no label)"  # marks
CANDIDATES, LEAST = 8, 0.001  # tokens shown with their probabilities, and the least of these


@dataclass(frozen=True)
class Asking:
    """How questions are asked: continuing for some steps, with a trace, by drawing."""

    steps: int | None = None
    trace: bool = False
    draw: bool = False
    seed: int = 0


def command(
    directory: Directory,
    tokens: Annotated[
        list[str] | None, typer.Argument(metavar="[TOKENS]...", help="One question.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help='.jsonl, lines like {"input": ["a"]}.')
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="K", help="Continue for K tokens.")] = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Draw from the distribution, not the likeliest token.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of --draw.")] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Show how it is answered.")] = False,
    json: Json = False,
) -> None:
    """Ask a model. Without tokens, each line of standard input is a question."""
    asking = Asking(steps, trace, draw, seed)
    for word in tokens or ():
        if word.startswith("--") and len(word) > 2:
            raise ByheartError(f"recall has no option {word}; ask about such a token with --file.")
    if tokens or file is not None:
        with watching() as watch:
            watch.stage("opening")
            model = open_folder(directory)
            found = answered(model, tokens or [], asking, file, watch)
        show(model, found, asking, json)
        return
    model = open_folder(directory)
    choose = drawing(model, seed) if draw else None
    if json:  # a program gets all answers at once
        lines = sys.stdin.read().removesuffix("\n").split("\n")
        show(model, answers(model, lines, asking, choose), asking, json)
    elif sys.stdin.isatty():
        converse(model, asking, choose)
    else:
        for line in sys.stdin:
            if line.strip():
                show(model, answers(model, [line], asking, choose), asking, json)
            else:
                print()  # answers stay beside their questions
            sys.stdout.flush()


def recalled(
    directory: Path,
    tokens: Sequence[str],
    asking: Asking,
    file: Path | None = None,
    watch: Watch = SILENT,
) -> list[dict]:
    """The answers of a folder to one question, or to all of a file."""
    return answered(open_folder(directory), tokens, asking, file, watch)


def answered(
    model: Model, tokens: Sequence[str], asking: Asking, file: Path | None, watch: Watch
) -> list[dict]:
    """The answers to one question, or to all of a file."""
    if file is not None and tokens:
        raise ByheartError("give either tokens or --file, not both.")
    choose = drawing(model, asking.seed) if asking.draw else None
    questions = from_file(model, file) if file is not None else [from_words(model, tokens)]
    watch.stage("asking")
    return ask(model, questions, steps=asking.steps, trace=asking.trace, choose=choose)


def answers(model: Model, lines: list[str], asking: Asking, choose: Choose | None) -> list[dict]:
    """The answers to lines of text; a blank line among several asks nothing and has an answer."""
    asked = [from_line(model, line) for line in lines if line.strip()]
    found = iter(ask(model, asked, steps=asking.steps, trace=asking.trace, choose=choose))
    if asking.steps is not None or len(lines) == 1:
        return list(found)
    return [next(found) if line.strip() else Answer([], None, None).json() for line in lines]


def converse(model: Model, asking: Asking, choose: Choose | None) -> None:
    """A prompt until the end of input; an unreadable question is answered with the reason."""
    reads = {"string": "words", "number": "numbers", "vector": "vectors, as [1, 2] [3, 4]"}
    about = model.about.get("data") or {}
    known = plural(about.get("sequences"), "sequence")
    if not model.claim.conflicts:  # it stores distributions
        known = f"what follows {plural(about.get('contexts'), 'context')}"
    other = "To any other input it may answer anything."
    if model.claim.unknown is not None:
        other = "It says unknown to most other inputs."
    if "window" in stored(model):
        other += " Give it a beginning, or as many words as that."
    length = plural(model.length, "token")
    greeting = f"This model knows {known} of at most {length} ({reads[model.kind]})."
    print(harmless(greeting))
    print(f"{other} An empty line asks nothing; Ctrl-D ends.")
    while True:
        try:
            line = input("> ")
        except (EOFError, KeyboardInterrupt):
            print()
            return
        try:
            show(model, answers(model, [line], asking, choose), asking, json=False)
        except ByheartError as error:
            print(printable(flags(str(error))))


def show(model: Model, answers: list[dict], asking: Asking, json: bool) -> None:
    """The answers for a program, or for a person: one per line, or one running text."""
    if json:
        kept = [{key: x for key, x in one.items() if key != "lines"} for one in answers]
        print_json({"answers": kept})
        return
    for answer in answers:
        for line in answer.get("lines", ()):
            print(harmless(line))
        if answer["note"]:
            sys.stdout.flush()
            print(f"note: {harmless(flags(answer['note']))}.", file=sys.stderr)
    if asking.steps is None:
        for answer in answers:
            print(label(answer) if asking.draw else likely(answer))
    elif answers:
        print(continuation(model, answers))


def label(answer: dict) -> str:
    """The label on one line; where there is none, a mark that is printed for no label."""
    if isinstance(answer["label"], list):
        return " ".join(NO_LABEL if x is None else word(x) for x in answer["label"])
    if answer["label"] is not None:
        return word(answer["label"])
    return UNKNOWN if answer["known"] is False else NO_LABEL


def word(token: object) -> str:
    """A token on one line, without the space before it; one that looks like a mark gets a \\.

    >>> word(" cat"), word("\\n  cat"), word("(unknown)")
    ('cat', '\\\\n  cat', '\\\\(unknown)')
    """
    shown = harmless(str(token)).removeprefix(" ")
    return f"\\{shown}" if shown.lstrip("\\") in (UNKNOWN, NO_LABEL) else shown


def likely(answer: dict) -> str:
    """The label; of a distribution its likeliest tokens, if there are several or people watch."""
    likelihoods = answer["probabilities"] or ()
    shown = [(token, share) for token, share in likelihoods if share >= LEAST][:CANDIDATES]
    if not shown or (len(shown) == 1 and not sys.stdout.isatty()):
        return label(answer)
    more = "  ..." if len(likelihoods) > len(shown) else ""
    return "  ".join(f"{word(token)} {share:.1%}" for token, share in shown) + more


def continuation(model: Model, answers: list[dict]) -> str:
    """The labels as running text: as it was written, where tokens keep the white space."""
    tokens = [answer["label"] for answer in answers if answer["label"] is not None]
    if not tokens:
        return label(answers[0])
    if not all(isinstance(token, str) for token in tokens):
        return " ".join(map(str, tokens))
    text = written(model, tokens)
    return printable(typeset(tokens) if text is None else text)
