"""recall: ask a model, many times, or let it go on by itself."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from .loading import stored
from .questions import from_file, from_words
from .watch import SILENT, Watch

if TYPE_CHECKING:
    from ..model import Answer, Model


def recall(
    directory: str | Path,
    tokens: Sequence[str] = (),
    *,
    file: str | Path | None = None,
    steps: int | None = None,
    trace: bool = False,
    watch: Watch = SILENT,
) -> dict:
    """The answers to one question, or to all of a file."""
    from .. import folder

    watch.stage("opening")
    model = folder.open(directory)
    if file is not None and tokens:
        raise ByheartError("give either tokens or --file, not both.")
    questions = from_file(model, file) if file is not None else [from_words(model, tokens)]
    watch.stage("asking")
    return {"answers": ask(model, questions, steps=steps, trace=trace)}


def ask(
    model: "Model",
    questions: Sequence[Sequence],
    *,
    steps: int | None = None,
    trace: bool = False,
) -> list[dict]:
    """JSON-ready answers. With steps, up to that many a question, each continuing the last."""
    if steps is not None and steps < 1:
        raise ByheartError(f"--steps is an integer of 1 or more, not {steps}.")
    fitted = [fitting(model, tokens) for tokens in questions]
    if steps is None:
        answers = model.answers(fitted)
    else:
        _check_continuing(model)
        answers = [a for tokens in fitted for a in islice(continued(model, tokens), steps)]
    return [_with_trace(model, a) if trace else a.json() for a in answers]


def fitting(model: "Model", tokens: Sequence) -> list:
    """The last tokens for a model compiled with a window; others read all of them or refuse."""
    cut = "window" in stored(model)
    return list(tokens)[-model.network.input.length :] if cut else list(tokens)


def continued(model: "Model", tokens: Sequence) -> Iterator["Answer"]:
    """Answer after answer, each label appended to the input.

    It ends when an answer is no token of the model (a book's last word is none: nothing follows
    it), when there is no label, or when the input would be longer than the network reads.
    """
    tokens = list(tokens)
    while len(tokens := fitting(model, tokens)) <= model.network.input.length:
        answer = model.answers([tokens])[0]
        yield answer
        label = answer.label
        if label is None or isinstance(label, list) or model.numbers([label]) is None:
            return
        tokens = [*tokens, label]


def _check_continuing(model: "Model") -> None:
    if model.network.every:
        raise ByheartError(
            "--steps needs one label a sequence, and this model answers every token."
        )
    words = set(model.tokens or ())
    fits = {"string": any(label in words for label in model.labels),
            "number": isinstance(model.labels[0], int)}  # fmt: skip
    if not fits.get(model.kind):
        raise ByheartError("--steps needs labels that are tokens, and this model has others.")


def _with_trace(model: "Model", answer: "Answer") -> dict:
    """The answer and how it came about; nothing is traced for a word outside the vocabulary."""
    from ..trace import trace

    known = model.numbers(answer.input) is not None
    traced = trace(model, answer.input) if known else None
    return {
        **answer.json(),
        "trace": traced.json() if traced else None,
        "lines": list(traced.lines()) if traced else [],
    }
