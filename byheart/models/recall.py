"""recall: ask a model, many times, or let it continue by itself."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice

import numpy as np

from ..errors import ByheartError
from .claim import Answer
from .claims import Distributions
from .model import Model
from .placing import fitting, placed

PAYS = 200  # answers, one after another, after which faster ones are worth their preparation
Choose = Callable[[Sequence], Answer]  # the answer to one question


def ask(
    model: Model,
    questions: Sequence[Sequence],
    *,
    steps: int | None = None,
    trace: bool = False,
    choose: Choose | None = None,
) -> list[dict]:
    """JSON-ready answers. With steps, up to that many per question, each continuing the last.

    `choose` answers one question at a time; without it, the model's own label is the answer.
    """
    if steps is not None and steps < 1:
        raise ByheartError(f"steps must be an integer of at least 1, not {steps}.")
    asked = [placed(model, tokens) for tokens in questions]
    if steps is None:
        fitted = [question.tokens for question in asked]
        found = model.answers(fitted) if choose is None else list(map(choose, fitted))
        answers = [x.marked(answer) for x, answer in zip(asked, found, strict=True)]
    else:
        words = set(model.tokens or ())
        fits = {
            "string": any(label in words for label in model.labels),
            "number": isinstance(model.labels[0], int),
        }
        if model.every:
            raise ByheartError(
                "steps=... needs one label per sequence, and this model answers every token."
            )
        if not fits.get(model.kind):
            raise ByheartError("steps=... needs a model whose labels are tokens that it reads.")
        answers = []
        for question in asked:
            number = steps if question.possible else 1
            found = list(islice(continued(model, question.tokens, choose), number))
            answers += [question.marked(found[0]), *found[1:]]
    shown_answers = [answer.json() for answer in answers]
    if trace:
        for answer, shown in zip(answers, shown_answers, strict=True):
            unknown = model.numbers(answer.input) is None  # a word outside the vocabulary
            traced = None if unknown else model.trace(answer.input)
            shown |= {"trace": traced and traced.json(), "lines": traced.lines() if traced else []}
    return shown_answers


def drawing(model: Model, seed: int = 0) -> Choose:
    """A way to answer: by a token drawn from the model's distribution, not by the likeliest."""
    if not isinstance(model.claim, Distributions):
        raise ByheartError(
            "draw=True needs a model that stores distributions, and this one stores labels."
        )
    random = np.random.default_rng(seed)

    def drawn(tokens: Sequence) -> Answer:
        (answer,) = model.answers([tokens])
        if answer.known is False:
            return answer
        number = random.choice(len(model.labels), p=model.distribution(tokens))
        return replace(answer, label=model.labels[int(number)])

    return drawn


def continued(model: Model, tokens: Sequence, choose: Choose | None = None) -> Iterator[Answer]:
    """Answer after answer, each label appended to the input.

    It ends when an answer is not a token of the model (nothing follows a book's last word), when
    there is no label, or when the input would be longer than the network reads. A long recitation
    goes on with what answers faster.
    """
    tokens = list(tokens)
    answered = choose or (lambda tokens: model.answers([tokens])[0])
    for step in count():
        tokens = fitting(model, tokens)
        if len(tokens) > model.length:
            return
        if step == PAYS and choose is None:
            answered = model.claim.answering(model)
        answer = answered(tokens)
        yield answer
        label = answer.label
        if label is None or isinstance(label, list) or not model.claim.continues(model, label):
            return
        tokens = [*tokens, label]
