"""Superposition: fewer neurons than contexts, so that every neuron takes part in many answers.

The memory is one hidden layer between the streams and the codes of the answers. Its neurons begin
with random keys that see the whitened streams; then keys, biases and outputs are fitted together by
gradient descent (Adam, Kingma and Ba 2015) on the cross entropy of the answers, with half of each
batch drawn from contexts whose answer does not yet stand out. Nothing is proved here: the
checkpoint is judged like any other.

All lanes but those of places are shared: the code of a token is what the embedding reads, what
attention mixes, and what the memory writes. So nearly all weights of the memory can be fitted. Two
lanes of a code are a mark: it says whether the token follows anywhere in the data, and the bias of
the last norm holds back those that never do.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data.targets import Floats
from ...machine.watch import Watch
from ...stock.forward import gelu_new

MARK = 2  # lanes
SPREAD = 0.2  # directions of the streams that vary less than this, relatively, are not enlarged
SHARP = 80.0  # the logit of a code with itself, while fitting
STEPS = 2500
RATE, WARM, SLOW = 1.2e-2, 20, 0.02  # learning rate, steps until it is reached, and its last share
FIRST, SECOND = 0.9, 0.99  # decay of the averages of gradients and of their squares
BATCH = 2048
LOOK = 50  # steps between two looks at all contexts
NEAR, LEAST = 0.1, 0.05  # of a code's length: the margin aimed at, and one that can be proved
DENSITY = 1.0  # bits per parameter of the memory that are tried first
MORE = 1.25  # as many neurons, after a number that did not suffice


class Fitted(NamedTuple):
    weights: NDArray  # of what the neurons read, [D, M]
    biases: NDArray  # [M]
    outputs: NDArray  # what they write, [M, code]
    margin: Floats  # of each context: the answer's logit minus the next one, of codes of +-1


def codes(count: int, size: int, answers: NDArray, random: np.random.Generator) -> Floats:
    """Random balanced words of +-1, the last two lanes being the mark of tokens that follow."""
    lanes = size - MARK
    order = random.random((count, lanes)).argsort(axis=1)
    found = np.where(order < lanes // 2, 1.0, -1.0)
    mark = np.where(np.isin(np.arange(count), answers), 1.0, -1.0)
    return np.column_stack([found, mark, -mark])


def entropy(answers: NDArray) -> float:
    counts = np.unique(answers, return_counts=True)[1]
    return float(-(counts * np.log2(counts / counts.sum())).sum())


def fitted(
    streams: Floats,
    before: Floats,
    answers: NDArray,
    codes: Floats,
    count: int,
    random: np.random.Generator,
    watch: Watch,
) -> Fitted:
    """A memory with this many neurons, after STEPS steps, or when all margins are large enough.

    streams  what the neurons read, [N, D]
    before   what is in the lanes that they write to, [N, code]
    codes    of all tokens, without their mark
    """
    used, own = np.unique(answers, return_inverse=True)
    y, x, E = (a.astype(np.float32) for a in (streams, before, codes[used]))
    lanes = E.shape[1]
    start = *_random_keys(streams, count, random), random.standard_normal((count, lanes))
    keys, biases, outputs = weights = [a.astype(np.float32) for a in start]  # changed in place
    outputs *= np.float32(3 / math.sqrt(count))
    first, second = ([np.zeros_like(a) for a in weights] for _ in range(2))
    close, margin = np.arange(len(y)), np.full(len(y), -math.inf)
    best = Fitted(keys.copy(), biases.copy(), outputs.copy(), margin)
    for step in range(1, STEPS + 1):
        part = np.arange(len(y))
        if len(y) > BATCH:
            part = np.concatenate([random.choice(a, BATCH // 2) for a in (part, close)])
        found = _gradients(y[part], x[part], own[part], E, *weights)
        rate = RATE * min(1.0, step / WARM) * max(SLOW, (1 + math.cos(math.pi * step / STEPS)) / 2)
        for a, g, m, v in zip(weights, found, first, second, strict=True):
            m += (1 - FIRST) * (g - m)
            v += (1 - SECOND) * (g * g - v)
            steady = np.sqrt(v / (1 - SECOND**step)) + 1e-8
            a -= np.float32(rate / (1 - FIRST**step)) * m / steady
        if step % LOOK == 0:
            margin = _margins(y, x, own, E, *weights)
            close = np.flatnonzero(margin < NEAR * lanes)
            if margin.min() > best.margin.min():
                best = Fitted(keys.copy(), biases.copy(), outputs.copy(), margin)
            if not len(close):
                break
            if step % (10 * LOOK) == 0:
                wrong = int((margin <= 0).sum())
                progress = f"{count:,} neurons, step {step:,}"
                watch.note(f"{progress}: {wrong:,} contexts are not right yet")
    return best


def _random_keys(streams: Floats, count: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Random keys and biases whose arguments are about normal over the streams."""
    mean = streams.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov((streams - mean).T))
    scale = 1 / np.sqrt(np.maximum(values, SPREAD**2 * values.max()))
    scale[values < 1e-12 * values.max()] = 0.0
    whitened = (vectors * scale) @ random.standard_normal((len(scale), count))
    whitened /= np.sqrt(((streams - mean) @ whitened).var(axis=0))
    return whitened, -mean @ whitened


def _gradients(
    y: NDArray, x: NDArray, own: NDArray, E: NDArray, keys: NDArray, biases: NDArray, out: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Of the mean cross entropy, by the three arrays of weights."""
    rows, lanes = np.arange(len(y)), E.shape[1]
    root, cubic = np.float32(math.sqrt(2 / math.pi)), np.float32(0.044715)
    z = y @ keys + biases
    squared = z * z
    tanh = np.tanh(root * z * (1 + cubic * squared))
    hidden = z * (1 + tanh) / 2
    written = x + hidden @ out
    scale = np.sqrt((written * written).mean(axis=1, keepdims=True))
    normed = written / scale
    logits = normed @ E.T * np.float32(SHARP / lanes)
    logits -= logits.max(axis=1, keepdims=True)
    share = np.exp(logits, out=logits)
    share /= share.sum(axis=1, keepdims=True)
    share[rows, own] -= 1
    by_normed = share @ E * np.float32(SHARP / lanes / len(y))
    along = (by_normed * normed).mean(axis=1, keepdims=True)
    by_written = (by_normed - normed * along) / scale
    slope = (1 + tanh) / 2 + z * (1 - tanh * tanh) * root * (1 + 3 * cubic * squared) / 2
    by_z = (by_written @ out.T) * slope
    return y.T @ by_z, by_z.sum(axis=0), hidden.T @ by_written


def _margins(
    y: NDArray, x: NDArray, own: NDArray, E: NDArray, keys: NDArray, biases: NDArray, out: NDArray
) -> Floats:
    """By how much each answer's logit is larger than the next one, of codes of +-1."""
    found = np.empty(len(y))
    for first in range(0, len(y), BATCH):
        part = slice(first, first + BATCH)
        written = x[part] + gelu_new(y[part] @ keys + biases) @ out
        written /= np.sqrt((written * written).mean(axis=1, keepdims=True))
        logits = written @ E.T
        rows = np.arange(len(logits))
        right = logits[rows, own[part]].copy()
        logits[rows, own[part]] = -np.inf
        found[part] = right - logits.max(axis=1)
    return found
