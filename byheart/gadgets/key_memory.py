"""Neurons as a memory: neuron i is on at context i and off at all others.

Let u_1 ... u_N be what a norm gives after each context, and k_i the key of neuron i. With the
scores a_ij = <k_i, u_j> and m_i the largest a_ij over the other contexts, the neuron with weights
(z / r_i) k_i and bias -(z / r_i) (a_ii - r_i) has the argument z at context i and at most -z at all
others, whenever 0 < r_i <= (a_ii - m_i) / 2. All that is needed is a_ii > m_i.

Theorem. If all u lie on one sphere, k_i = u_i will do: <u_i, u_j> < |u_i|^2 for u_j different from
u_i, by Cauchy and Schwarz. A layer norm puts them there.

`reach` = r_i / (|k_i| |u_i|) is how far a non-member may be and still turn the neuron on (in
cosines, if the key is u_i). It is also the room for rounding: an error of the score below r_i
changes nothing. So a small reach rejects more non-members, and a large one bears more rounding.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..data.dataset import Ints
from ..data.targets import Floats
from ..errors import AssumptionError
from ..machine.threads import single

BLOCK = 1 << 22  # scores computed at once
NEAREST = 12  # competitors that are added to a fit in each round
ROUNDS = 6
GAP = 2.5  # a fitted key aims at this gap, in units of the reach (it needs 2)
TIGHT = 0.001  # on a sphere, keys with more room are left as they are
ROOM = 0.01  # elsewhere, if no reach is asked for


class Memory(NamedTuple):
    """The neurons of N contexts."""

    weights: Floats  # [N, d]
    biases: Floats  # [N]
    reach: Floats  # of each, relative


def _scores(keys: Floats, streams: Floats, at: Ints) -> Iterator[Floats]:
    """The scores a_ij of blocks of keys, -inf at the own stream at[i] of each."""
    step = max(1, BLOCK // len(streams))
    for first in range(0, len(keys), step):
        part = slice(first, first + step)
        scores = keys[part] @ streams.T
        scores[np.arange(len(scores)), at[part]] = -np.inf
        yield scores


def competitors(keys: Floats, own: Floats, streams: Floats, at: Ints) -> tuple[Floats, Floats]:
    """a_ii and the largest a_ij over the other streams; key i belongs to stream at[i]."""
    best = [scores.max(axis=1) for scores in _scores(keys, streams, at)]
    return np.einsum("ij,ij->i", keys, own), np.concatenate(best)


def memory(streams: Floats, stored: Ints, z: float, reach: float | None, sphere: bool) -> Memory:
    """Neurons for the streams whose numbers are `stored`, off at all the others."""
    own = streams[stored]
    keys, kept = own.copy(), own.copy()
    score, best = competitors(keys, own, streams, stored)
    room = (score - best) / 2 / (np.linalg.norm(keys, axis=1) * np.linalg.norm(own, axis=1))
    least = min(reach or TIGHT, TIGHT) if sphere else reach or ROOM
    worst = np.zeros((len(own), 0), np.int64)  # competitors that a key has been fitted to
    tight, near = np.flatnonzero(room < least), min(NEAREST, len(streams) - 1)
    for _ in range(ROUNDS):
        if not len(tight):
            break
        blocks = _scores(keys[tight], streams, stored[tight])  # the highest scores are the nearest
        nearest = [np.argpartition(-x, near - 1, axis=1)[:, :near] for x in blocks]
        worst = np.concatenate([worst[: len(tight)], np.concatenate(nearest)], axis=1)
        fitted = _fitted(own[tight], streams, worst, GAP * least)
        again, other = competitors(fitted, own[tight], streams, stored[tight])
        size = np.linalg.norm(fitted, axis=1) * np.linalg.norm(own[tight], axis=1)
        new = (again - other) / 2 / size
        better = new > room[tight]
        chosen = tight[better]
        keys[tight] = fitted  # the next competitors are those of the fitted key
        score[chosen], best[chosen] = again[better], other[better]
        kept[chosen], room[chosen] = fitted[better], new[better]
        open_ = room[tight] < least
        worst, tight = worst[open_], tight[open_]
    if (room <= 0).any():
        raise AssumptionError(
            f"{int((room <= 0).sum()):,} contexts cannot be told from the others by a neuron; "
            "give the model more width or heads."
        )
    if reach is not None:
        room = np.minimum(room, reach)
    radius = room * np.linalg.norm(kept, axis=1) * np.linalg.norm(own, axis=1)
    slope = z / radius
    return Memory(slope[:, None] * kept, -slope * (score - radius), room)


@single()
def _fitted(own: Floats, streams: Floats, worst: Ints, gap: float) -> Floats:
    """The keys nearest to the own streams that score lower by `gap` |u|^2 at these competitors.

    For the differences a_j of the own stream u and its competitors, that is u + sum of l_j a_j with
    l_j >= 0 that minimise |sum l_j a_j|^2 / 2 - sum l_j (gap |u|^2 - <u, a_j>). Staying near u
    keeps non-members out, too, which no competitor stands for.
    """
    from scipy.optimize import nnls  # slow to import

    result = np.empty_like(own)
    for row, (stream, others) in enumerate(zip(own, worst, strict=True)):
        apart = stream - streams[others]  # [count, d]
        gram = apart @ apart.T
        gram[np.diag_indices(len(gram))] += 1e-9 * np.trace(gram) / len(gram)
        root = np.linalg.cholesky(gram)
        lacking = gap * stream @ stream - apart @ stream
        result[row] = stream + nnls(root.T, np.linalg.solve(root, lacking))[0] @ apart
    return result
