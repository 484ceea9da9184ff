"""recall: questions from the command line, a file, a pipe or a person."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..models.source import stored
from .output import print_json, spaced
from .progress import watching

if TYPE_CHECKING:
    from ..models.model import Model
    from ..models.recall import Choose

CANDIDATES, LEAST = 8, 0.001  # tokens that are shown with their chances, and the least of these


@dataclass(frozen=True)
class Asking:
    """How questions are asked: going on for some steps, with a trace, by drawing."""

    steps: int | None
    trace: bool
    draw: bool
    seed: int


def run(directory: Path, words: list[str], file: Path | None, asking: Asking, json: bool) -> None:
    """Answer what is asked; without tokens and file, every line of standard input."""
    from ..commands.models import recall

    for word in words:
        if word.startswith("--") and len(word) > 2:
            raise ByheartError(f"recall has no option {word}; ask about such a token with --file.")
    if words or file is not None:
        with watching(json) as watch:
            found = recall(directory, words, file=file, watch=watch, **vars(asking))
        show(found["answers"], asking, json)
    else:
        _listen(directory, asking, json)


def _listen(directory: Path, asking: Asking, json: bool) -> None:
    """Answer standard input, line by line; a program gets all answers at once."""
    from ..models.folder import read as folder
    from ..models.recall import drawing

    model = folder.open(directory)
    choose = drawing(model, asking.seed) if asking.draw else None
    if json:
        lines = sys.stdin.read().splitlines()
        show(_asked(model, lines, asking, choose), asking, json)
    elif sys.stdin.isatty():
        _converse(model, asking, choose)
    else:
        for line in sys.stdin:
            show(_asked(model, [line], asking, choose), asking, json)
            sys.stdout.flush()


def _asked(model: "Model", lines: list[str], asking: Asking, choose: "Choose | None") -> list[dict]:
    from ..models.questions import from_line
    from ..models.recall import ask

    questions = [from_line(model, line) for line in lines if line.strip()]
    return ask(model, questions, steps=asking.steps, trace=asking.trace, choose=choose)


def _converse(model: "Model", asking: Asking, choose: "Choose | None") -> None:
    """A prompt until the end of input; an unreadable question is answered with the reason."""
    print(_greeting(model))
    while True:
        try:
            line = input("> ")
        except (EOFError, KeyboardInterrupt):
            print()
            return
        try:
            show(_asked(model, [line], asking, choose), asking, json=False)
        except ByheartError as error:
            print(error)


def _greeting(model: "Model") -> str:
    reads = {"string": "words", "number": "numbers", "vector": "vectors, as [1, 2] [3, 4]"}
    if model.claim.unknown is not None:
        other = "It says unknown to most other inputs."
    else:
        other = "To any other input it may say anything."
    if "window" in stored(model):
        other += " Give it a beginning, or as many words as that."
    about = model.about.get("data") or {}
    known = f"{about.get('sequences')} sequences"
    if model.claim.conflicts is False:  # it stores distributions
        known = f"what follows {about.get('contexts')} contexts"
    return (
        f"This model knows {known} of at most {model.length} tokens ({reads[model.kind]}).\n"
        f"{other} An empty line asks nothing; Ctrl-D ends."
    )


def show(answers: list[dict], asking: Asking, json: bool) -> None:
    """The answers for a program, or for a person: a line each, or one running text."""
    if json:
        print_json({"answers": [_without_lines(answer) for answer in answers]})
        return
    for answer in answers:
        for line in answer.get("lines", ()):
            print(line)
    if asking.steps is None:
        for answer in answers:
            print(_said(answer) if asking.draw else _likely(answer))
    elif answers:
        print(_continuation(answers))


def _likely(answer: dict) -> str:
    """The label; of a distribution its likeliest tokens, if there are several or people watch."""
    chances = answer["probabilities"] or ()
    shown = [(token, chance) for token, chance in chances if chance >= LEAST][:CANDIDATES]
    if not shown or (len(shown) == 1 and not sys.stdout.isatty()):
        return _said(answer)
    more = "  ..." if len(chances) > len(shown) else ""
    return "  ".join(f"{token} {chance:.1%}" for token, chance in shown) + more


def _without_lines(answer: dict) -> dict:
    return {key: value for key, value in answer.items() if key != "lines"}


def _said(answer: dict) -> str:
    if isinstance(answer["label"], list):
        return " ".join("(no label)" if x is None else str(x) for x in answer["label"])
    if answer["label"] is not None:
        return str(answer["label"])
    return "(unknown)" if answer["known"] is False else "(no label)"


def _continuation(answers: list[dict]) -> str:
    """The labels as running text; characters without spaces between them."""
    tokens = [answer["label"] for answer in answers if answer["label"] is not None]
    if not tokens:
        return _said(answers[0])
    if not all(isinstance(token, str) for token in tokens):
        return " ".join(map(str, tokens))
    letters = all(len(token) == 1 for token in [*answers[0]["input"], *tokens])
    return "".join(tokens) if letters else spaced(tokens)
