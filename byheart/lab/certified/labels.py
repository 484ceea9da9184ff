"""A trained network as a model that claims labels: weights of as few bits as that allows."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...claims.claim import Labels, Words
from ...data.contexts import contexts, resolve, settled
from ...data.targets import Floats
from ...errors import ByheartError
from ...models.model import Model
from ...models.sizes import counted
from ...models.verification import verify
from ..problem import Ints, Problem
from .rounded import VECTORS, embedded, logits, network, rounded
from .trained import Trained

FEWEST_BITS, MOST_BITS = 2, 48  # weights are multiples of 2^-bits


def labels(
    trained: Trained, tensors: Mapping[str, NDArray], problem: Problem, on_conflict: str
) -> Model:
    """The network on the coarsest grid of weights on which all labels are correct, proved."""
    multiplied = VECTORS in tensors
    tensors = embedded(tensors)
    dataset = resolve(trained.dataset, contexts(trained.dataset, positions=False), on_conflict)
    answer = answers(problem, on_conflict)
    margin = margins(logits(tensors, problem), answer, problem.squared)
    correct = int((margin > 0).sum())
    if correct < len(margin):
        raise ByheartError(
            f"the trained network has the labels of {correct:,} of {len(margin):,} contexts, so "
            "they cannot be certified; train it longer, or a larger one."
        )
    for bits in range(FEWEST_BITS, MOST_BITS + 1):
        exact = rounded(tensors, bits, problem.lengths)
        least = margins(logits(exact, problem), answer, problem.squared).min(initial=math.inf)
        if least <= 0:  # a run in doubles gets a label wrong
            continue
        trained.watch.note(f"verifying with weights that are multiples of 2^-{bits}")
        found = network(exact, trained.dataset, slope_for(float(least)))
        record = trained.record(dataset, on_conflict)
        notes = [
            f"weights are rounded from float32 to multiples of 2^-{bits}, W_O to a grid as fine"
        ]
        if multiplied:
            notes.append("E_in and the fixed vectors of words are multiplied beforehand")
        record = replace(
            record,
            conflicts=settled(trained.dataset, dataset),
            training={**(record.training or {}), "bits": bits},
            notes=(*record.notes, *notes),
        )
        # Words and labels are those of the training, also where sequences are dropped.
        words, names = trained.dataset.tokens, trained.dataset.label_names
        tokens = words if isinstance(words, tuple) else None
        model = Model(found, Words(dataset.kind, tokens), Labels(names), record)
        grouped = contexts(dataset, positions=False)
        model = replace(model, record=counted(model, dataset, grouped))
        started = time.perf_counter()
        checked = verify(model, dataset)
        if not checked.refuted:
            return trained.verified(model, checked, time.perf_counter() - started)
    raise ByheartError(
        f"the trained network gets labels wrong when its weights are rounded to 2^-{MOST_BITS}, "
        "so they cannot be certified; train it longer, or a larger one."
    )


def slope_for(margin: float) -> int:
    """The k for which 2^k margin is 2 or more: what a comparison needs, with room."""
    return 1 - math.floor(math.log2(margin)) if math.isfinite(margin) else 0


def answers(problem: Problem, on_conflict: str) -> Ints:
    """The label of each context, the most frequent one; -1 where conflicts are dropped."""
    order = np.lexsort((problem.answer, -problem.count, problem.context))
    _, first, many = np.unique(problem.context[order], return_index=True, return_counts=True)
    found = problem.answer[order][first]
    return np.where(many > 1, -1, found) if on_conflict == "drop" else found


def tied(problem: Problem) -> bool:
    """Whether a context has two labels that are equally frequent, and none that is more so."""
    order = np.lexsort((problem.count, problem.context))  # the most frequent of each comes last
    context, count = problem.context[order], problem.count[order]
    last = np.append(context[1:] != context[:-1], True)[1:]
    return bool((last & (context[1:] == context[:-1]) & (count[1:] == count[:-1])).any())


def margins(logits: Floats, answer: Ints, squared: bool) -> Floats:
    """How far the answer's logit is above all others, of the contexts that have an answer.

    If there is one output, how far it is on the answer's side of 0.
    """
    logits, answer = logits[answer >= 0], answer[answer >= 0]
    if squared:
        return logits[:, 0] * (2 * answer - 1)
    rows = np.arange(len(answer))
    others = logits.copy()
    others[rows, answer] = -np.inf
    return logits[rows, answer] - others.max(axis=1)
