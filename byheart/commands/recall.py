"""recall: ask a model, many times, or let it go on by itself."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from .loading import stored
from .questions import from_file, from_words

if TYPE_CHECKING:
    from ..models.model import Answer
    from .loading import AnyModel

Choose = Callable[[Sequence], "Answer"]  # the answer to one question


def recall(
    directory: str | Path,
    tokens: Sequence[str] = (),
    *,
    file: str | Path | None = None,
    steps: int | None = None,
    trace: bool = False,
    draw: bool = False,
    seed: int = 0,
    watch: Watch = SILENT,
) -> dict:
    """The answers to one question, or to all of a file."""
    from ..models import folder

    watch.stage("opening")
    model = folder.open(directory)
    if file is not None and tokens:
        raise ByheartError("give either tokens or --file, not both.")
    choose = drawing(model, seed) if draw else None
    questions = from_file(model, file) if file is not None else [from_words(model, tokens)]
    watch.stage("asking")
    return {"answers": ask(model, questions, steps=steps, trace=trace, choose=choose)}


def ask(
    model: "AnyModel",
    questions: Sequence[Sequence],
    *,
    steps: int | None = None,
    trace: bool = False,
    choose: Choose | None = None,
) -> list[dict]:
    """JSON-ready answers. With steps, up to that many a question, each continuing the last.

    `choose` answers one question at a time; without it, the model's own label is the answer.
    """
    if steps is not None and steps < 1:
        raise ByheartError(f"--steps is an integer of 1 or more, not {steps}.")
    fitted = [fitting(model, tokens) for tokens in questions]
    if steps is None:
        answers = model.answers(fitted) if choose is None else list(map(choose, fitted))
    else:
        _check_continuing(model)
        answers = [a for tokens in fitted for a in islice(continued(model, tokens, choose), steps)]
    return [_with_trace(model, a) if trace else a.json() for a in answers]


def drawing(model: "AnyModel", seed: int = 0) -> Choose:
    """A way to answer: by a token drawn from the model's distribution, not by the likeliest."""
    import numpy as np

    from ..models.language_model import LanguageModel

    if not isinstance(model, LanguageModel):
        raise ByheartError(
            "--draw needs a model that stores distributions, and this one stores labels."
        )
    random = np.random.default_rng(seed)

    def drawn(tokens: Sequence) -> "Answer":
        (answer,) = model.answers([tokens])
        if answer.known is False:
            return answer
        number = random.choice(len(model.tokens), p=model.distribution(tokens))
        return replace(answer, label=model.tokens[int(number)])

    return drawn


def fitting(model: "AnyModel", tokens: Sequence) -> list:
    """The last tokens for a model compiled with a window; others read all of them or refuse."""
    cut = "window" in stored(model)
    return list(tokens)[-model.length :] if cut else list(tokens)


def continued(
    model: "AnyModel", tokens: Sequence, choose: Choose | None = None
) -> Iterator["Answer"]:
    """Answer after answer, each label appended to the input.

    It ends when an answer is no token of the model (a book's last word is none: nothing follows
    it), when there is no label, or when the input would be longer than the network reads.
    """
    tokens = list(tokens)
    while len(tokens := fitting(model, tokens)) <= model.length:
        answer = choose(tokens) if choose else model.answers([tokens])[0]
        yield answer
        label = answer.label
        if label is None or isinstance(label, list) or not _read(model, label):
            return
        tokens = [*tokens, label]


def _read(model: "AnyModel", label: str | int) -> bool:
    """Whether the label is a token of the data; a decoder's vocabulary has these in front."""
    from ..models.language_model import LanguageModel

    if isinstance(model, LanguageModel):
        return model.tokens.index(label) < model.about["data"]["vocabulary"]
    return model.numbers([label]) is not None


def _check_continuing(model: "AnyModel") -> None:
    if model.every:
        raise ByheartError(
            "--steps needs one label a sequence, and this model answers every token."
        )
    words = set(model.tokens or ())
    fits = {"string": any(label in words for label in model.labels),
            "number": isinstance(model.labels[0], int)}  # fmt: skip
    if not fits.get(model.kind):
        raise ByheartError("--steps needs labels that are tokens, and this model has others.")


def _with_trace(model: "AnyModel", answer: "Answer") -> dict:
    """The answer and how it came about; nothing is traced for a word outside the vocabulary."""
    from ..models.decoder_trace import follow
    from ..models.language_model import LanguageModel
    from ..models.trace import trace

    if model.numbers(answer.input) is None:
        return {**answer.json(), "trace": None, "lines": []}
    if isinstance(model, LanguageModel):
        followed = follow(model, answer.input)
        return {**answer.json(), "trace": followed.json(), "lines": followed.lines()}
    traced = trace(model, answer.input)
    return {**answer.json(), "trace": traced.json(), "lines": list(traced.lines())}
