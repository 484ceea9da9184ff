"""recall: questions from the command line, a file, a pipe or a person."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..commands.loading import stored
from ..errors import ByheartError
from .output import print_json, spaced
from .progress import watching

if TYPE_CHECKING:
    from ..model import Model

Questions = list[list]


def run(
    directory: Path,
    words: list[str],
    file: Path | None,
    steps: int | None,
    trace: bool,
    json: bool,
) -> None:
    """Answer what is asked; without tokens and file, every line of standard input."""
    from ..commands.recall import recall

    for word in words:
        if word.startswith("--") and len(word) > 2:
            raise ByheartError(f"recall has no option {word}; ask about such a token with --file.")
    if words or file is not None:
        with watching(json) as watch:
            found = recall(directory, words, file=file, steps=steps, trace=trace, watch=watch)
        show(found["answers"], steps, json)
        return
    from .. import folder

    model = folder.open(directory)
    if json:
        print_json({"answers": _asked(model, sys.stdin.read().splitlines(), steps, trace)})
    elif sys.stdin.isatty():
        _converse(model, steps, trace)
    else:
        for line in sys.stdin:
            show(_asked(model, [line], steps, trace), steps, json)
            sys.stdout.flush()


def _asked(model: "Model", lines: list[str], steps: int | None, trace: bool) -> list[dict]:
    from ..commands.questions import from_line
    from ..commands.recall import ask

    questions = [from_line(model, line) for line in lines if line.strip()]
    return ask(model, questions, steps=steps, trace=trace)


def _converse(model: "Model", steps: int | None, trace: bool) -> None:
    """A prompt until the end of input; an unreadable question is answered with the reason."""
    print(_greeting(model))
    while True:
        try:
            line = input("> ")
        except (EOFError, KeyboardInterrupt):
            print()
            return
        try:
            show(_asked(model, [line], steps, trace), steps, json=False)
        except ByheartError as error:
            print(error)


def _greeting(model: "Model") -> str:
    reads = {"string": "words", "number": "numbers", "vector": "vectors, as [1, 2] [3, 4]"}
    if model.unknown is not None:
        other = "It says unknown to most other inputs."
    else:
        other = "To any other input it may say anything."
    if "window" in stored(model):
        other += " Give it a beginning, or as many words as that."
    about = model.about.get("data") or {}
    return (
        f"This model knows {about.get('sequences')} sequences of at most "
        f"{model.network.input.length} tokens ({reads[model.kind]}).\n"
        f"{other} An empty line asks nothing; Ctrl-D ends."
    )


def show(answers: list[dict], steps: int | None, json: bool) -> None:
    """The answers for a program, or for a person: a line each, or one running text."""
    if json:
        print_json({"answers": [_without_lines(answer) for answer in answers]})
        return
    for answer in answers:
        for line in answer.get("lines", ()):
            print(line)
    if steps is None:
        for answer in answers:
            print(_said(answer))
    elif answers:
        print(_continuation(answers))


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
