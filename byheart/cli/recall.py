"""recall: questions from the command line, a file, a pipe or a person."""

import sys
from pathlib import Path
from typing import Any

from ..api.recall import Recall, Recalled, ask, recall
from ..claims.answer import Answer
from ..errors import ByheartError, flags
from ..machine.words import harmless, printable
from ..models.model import Model
from ..models.opening import open as open_folder
from ..models.questions import from_line, from_words
from ..models.recall import Choose, drawing
from ..views.recall import greeting, lines
from .declaring import DIRECTORY, JSON, argument, listed, taking
from .output import print_json
from .progress import watching

SETTINGS = {"ignore_unknown_options": True}  # a token may begin with a dash


@taking(
    DIRECTORY,
    argument("tokens", "One question.", list[str], None, "[TOKENS]..."),
    *listed("recall"),
    JSON,
)
def command(model: Path, tokens: list[str], file: Path | None, json: bool, **how: Any) -> None:
    """Ask a model. Without tokens, each line of standard input is a question."""
    steps, draw, trace = (how[name] for name in ("steps", "draw", "trace"))
    for word in tokens:
        if word.startswith("--") and len(word) > 2:
            raise ByheartError(f"recall has no option {word}; ask about such a token with --file.")
    if file is not None and tokens:
        raise ByheartError("give either tokens or --file, not both.")
    if tokens or file is not None:
        with watching() as watch:
            watch.stage("opening")
            opened = open_folder(model)
            questions = file if file is not None else [from_words(opened, tokens)]
            result = recall(opened, questions, watch=watch, **how)
        show(result, steps, draw, json)
        return
    opened = open_folder(model)
    choose = drawing(opened, how["seed"]) if draw else None
    if json:  # a program gets all answers at once
        asked = sys.stdin.read().removesuffix("\n").split("\n")
        show(answers(opened, asked, steps, trace, choose), steps, draw, json)
    elif sys.stdin.isatty():
        converse(opened, steps, trace, choose)
    else:
        for line in sys.stdin:
            if line.strip():
                show(answers(opened, [line], steps, trace, choose), steps, draw)
            else:
                print()  # answers stay beside their questions
            sys.stdout.flush()


def answers(
    model: Model, asked: list[str], steps: int | None, trace: bool, choose: Choose | None
) -> Recall:
    """The answers to lines of text; a blank line among several asks nothing and has an answer."""
    questions = [from_line(model, line) for line in asked if line.strip()]
    result = ask(model, questions, steps=steps, trace=trace, choose=choose)
    if steps is not None or len(asked) == 1:
        return result
    rest, nothing = iter(result.answers), Recalled(Answer([], None, None))
    return Recall(tuple(next(rest) if line.strip() else nothing for line in asked), model)


def converse(model: Model, steps: int | None, trace: bool, choose: Choose | None) -> None:
    """A prompt until the end of input; an unreadable question is answered with the reason."""
    print(greeting(model))
    while True:
        try:
            line = input("> ")
        except (EOFError, KeyboardInterrupt):
            print()
            return
        try:
            show(answers(model, [line], steps, trace, choose), steps, choose is not None)
        except ByheartError as error:
            print(printable(flags(error)))


def show(result: Recall, steps: int | None, draw: bool, json: bool = False) -> None:
    """The answers for a program, or for a person, with notes on standard error."""
    if json:
        print_json(result.json())
        return
    for recalled in result.answers:
        for line in recalled.lines:
            print(harmless(line))
        if recalled.answer.note:
            sys.stdout.flush()
            print(f"note: {harmless(flags(recalled.answer.note))}.", file=sys.stderr)
    for line in lines(result, steps is not None, draw):
        print(line)
