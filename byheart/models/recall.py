"""Answers that a model draws, or with which it continues by itself."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from ..claims.answer import Answer
from ..claims.model import ModelData
from ..data.layout import hashed
from ..errors import ByheartError, check_seed
from .kinds import kind_of
from .placing import fitting
from .source import stored

Choose = Callable[[Sequence], Answer]  # the answer to one question


def drawing(model: ModelData, seed: int = 0) -> Choose:
    """A way to answer: by what is drawn from the model's distribution, not by the likeliest."""
    if not model.claim.probabilities:
        raise ByheartError(
            "`draw=True` needs a model that stores distributions, and this one stores labels."
        )
    check_seed(seed)
    random, kind = np.random.default_rng(seed), kind_of(model).answer

    def drawn(tokens: Sequence) -> Answer:
        (answer,) = kind.answers(model, [tokens])
        if answer.known is False:
            return answer
        row = kind.numbers(model, tokens)
        assert row is not None
        said: list[int] = []
        while True:
            (probabilities,) = kind.distributions(model, [[*row, *said]])
            said.append(int(random.choice(len(model.labels), p=probabilities)))
            label, end = model.labels[said[-1]], getattr(model.claim, "end", None)
            if not model.claim.chained:
                return replace(answer, label=None if label == end else label)
            if label == end or len(row) + len(said) > model.length:
                from ..stock.answer import spoken  # of no other model

                return replace(answer, label=spoken(model, said))

    return drawn


def continued(
    model: ModelData, tokens: Sequence, choose: Choose | None = None, most: int | None = None
) -> Iterator[Answer]:
    """Answer after answer, each label appended to the input; at most so many.

    It ends with a text, when an answer is not a token of the model, when there is no label, or when
    the input would be longer than the network reads.
    """
    tokens, window = list(tokens), stored(model).get("window", 0)
    endings = model.record.layout.endings if model.record.layout and window else frozenset()
    kind = kind_of(model).answer
    answered = choose or (lambda tokens: kind.answers(model, [tokens])[0])
    for _ in count() if most is None else range(most):
        asked = fitting(model, tokens)
        if len(asked) > model.length:
            return
        answer = answered(asked)
        yield answer
        label = answer.label
        if label is None or isinstance(label, list):
            return
        tokens = [*asked, label]  # a document may end with the last ones, as many as the window has
        if not kind.continues(model, label) or (endings and hashed(tokens[-window:]) in endings):
            return
