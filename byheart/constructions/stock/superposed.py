"""Superposition: fewer neurons than contexts, so that every neuron takes part in many answers.

Random neurons see the whitened streams; what each of them writes is fitted so that the code of the
answer is the nearest to what a context's neurons write together. Nothing is proved here: the
checkpoint is judged like any other.
"""

import numpy as np
from numpy.typing import NDArray

from ...data.targets import Floats
from ...errors import AssumptionError
from ...gadgets.key_memory import Memory
from ...stock.forward import gelu_new

SPREAD = 0.2  # directions of the streams that vary less than this, relatively, are not enlarged
RIDGE = 1e-2
ROUNDS, STEP = 120, 0.5
STRENGTH = 8.0  # of what is written, so that the other lanes do not matter beside it
NEAR = 0.1  # of a code's length: margins below are enlarged


def neurons(streams: Floats, count: int, random: np.random.Generator) -> Memory:
    """Random neurons whose arguments are about normal over the streams."""
    mean = streams.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov((streams - mean).T))
    scale = 1 / np.sqrt(np.maximum(values, SPREAD**2 * values.max()))
    scale[values < 1e-12 * values.max()] = 0.0
    whitened = (vectors * scale) @ random.standard_normal((len(scale), count))
    whitened /= np.sqrt(((streams - mean) @ whitened).var(axis=0))
    return Memory(whitened.T, -mean @ whitened, np.zeros(count))


def fitted(
    streams: Floats, answers: NDArray, codes: Floats, held: Memory
) -> tuple[Floats, NDArray[np.bool_]]:
    """What each neuron writes to the out lanes, [M, code], and which answers are then right.

    Ridge regression towards the codes of the answers; where another token comes too near, the
    target moves away from that token's code, and the regression is solved again.
    """
    hidden = gelu_new(streams @ held.weights.T + held.biases)
    gram = hidden.T @ hidden
    gram[np.diag_indices(len(gram))] += RIDGE * np.trace(gram) / len(gram)
    project = np.linalg.solve(gram, hidden.T)  # [M, contexts]
    target = codes[answers].copy()
    least = NEAR * codes.shape[1]
    best: tuple[int, Floats, NDArray] = (-1, np.zeros((len(gram), codes.shape[1])), answers < 0)
    for _ in range(ROUNDS):
        written = project @ target
        rival, margin = _rivals(hidden @ written, answers, codes)
        right = int((margin > 0).sum())
        if right > best[0]:
            best = right, written, margin > 0
        close = margin < least
        if not close.any():
            break
        target[close] += STEP * (codes[answers] - codes[rival])[close]
    return best[1], best[2]


def _rivals(out: Floats, answers: NDArray, codes: Floats) -> tuple[NDArray, Floats]:
    """The token that comes nearest to each answer, and by how much the answer's logit is larger."""
    best, margin = np.empty(len(out), np.int64), np.empty(len(out))
    step = max(1, (1 << 22) // len(codes))
    for first in range(0, len(out), step):
        part = slice(first, first + step)
        logits = out[part] @ codes.T
        rows = np.arange(len(logits))
        own = logits[rows, answers[part]].copy()
        logits[rows, answers[part]] = -np.inf
        best[part] = logits.argmax(axis=1)
        margin[part] = own - logits[rows, best[part]]
    return best, margin


def check(right: NDArray[np.bool_], count: int) -> None:
    if not right.all():
        raise AssumptionError(
            f"{int((~right).sum()):,} of {len(right):,} contexts are not answered by {count:,} "
            "neurons in superposition; give more of them."
        )
