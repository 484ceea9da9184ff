"""Superposition: fewer neurons than contexts, so that every neuron takes part in many answers.

Random neurons see the whitened streams; what each of them writes is fitted. The logits of a context
are linear in that, so the fit is a convex problem (multinomial logistic regression), which has a
solution with all answers right whenever there is one. Nothing is proved here: the checkpoint is
judged like any other.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ...data.targets import Floats
from ...errors import AssumptionError
from ...gadgets.key_memory import Memory
from ...stock.forward import gelu_new

SPREAD = 0.02  # directions of the streams that vary less than this, relatively, are not enlarged
SHARP = 8.0  # the logits of the fit, in units of a token's code
ROUNDS, STEPS = 6, 150
ADDED = 256  # tokens that join the fit after a round


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
    """What each neuron writes to the out lanes, [M, code], and which answers are then right."""
    hidden = gelu_new(streams @ held.weights.T + held.biases)
    hidden_scale = 1 / np.sqrt((hidden * hidden).mean())
    active = np.unique(answers)
    shape = hidden.shape[1], codes.shape[1]
    found = np.zeros(shape)
    for _ in range(ROUNDS):
        found = _regression(hidden * hidden_scale, answers, codes, active, found)
        wrong, right = _competitors(hidden @ found, answers, codes)
        if right.all():
            break
        active = np.union1d(active, wrong)
    return found * hidden_scale, right


def _regression(
    hidden: Floats, answers: NDArray, codes: Floats, active: NDArray, start: Floats
) -> Floats:
    """The multinomial logistic regression over some of the tokens."""
    target = np.searchsorted(active, answers)
    rows, table = np.arange(len(answers)), codes[active] * SHARP / codes.shape[1]
    shape = start.shape

    def loss(flat: Floats) -> tuple[float, Floats]:
        logits = hidden @ flat.reshape(shape) @ table.T
        logits -= logits.max(axis=1, keepdims=True)
        weight = np.exp(logits)
        total = weight.sum(axis=1, keepdims=True)
        value = float((np.log(total[:, 0]) - logits[rows, target]).mean())
        weight /= total
        weight[rows, target] -= 1
        slope = hidden.T @ (weight @ table) / len(rows)
        return value, slope.ravel()

    return minimize(
        loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS, "maxcor": 20}
    ).x.reshape(shape)


def _competitors(out: Floats, answers: NDArray, codes: Floats) -> tuple[NDArray, NDArray]:
    """The tokens that come nearest to the answers or beat them, and which answers are right."""
    best = np.empty(len(out), np.int64)
    margin = np.empty(len(out))
    step = max(1, (1 << 22) // len(codes))
    for first in range(0, len(out), step):
        part = slice(first, first + step)
        logits = out[part] @ codes.T
        rows = np.arange(len(logits))
        own = logits[rows, answers[part]].copy()
        logits[rows, answers[part]] = -np.inf
        best[part] = logits.argmax(axis=1)
        margin[part] = own - logits[rows, best[part]]
    nearest = best[np.argsort(margin)]
    return np.array(list(dict.fromkeys(nearest.tolist()))[:ADDED], np.int64), margin > 0


def check(right: NDArray[np.bool_], count: int) -> None:
    if not right.all():
        raise AssumptionError(
            f"{int((~right).sum()):,} of {len(right):,} contexts are not answered by {count:,} "
            "neurons in superposition; give more of them."
        )
