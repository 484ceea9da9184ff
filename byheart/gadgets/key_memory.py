"""Neurons as a memory: neuron i is on at context i and off at all others.

Let u_1 ... u_N be what a norm gives after each context, and k_i the key of neuron i. With the
scores a_ij = <k_i, u_j> and m_i the largest a_ij over the other contexts, the neuron with weights
(z / r_i) k_i and bias -(z / r_i) (a_ii - r_i) has the argument z at context i and at most -z at all
others, whenever 0 < r_i <= (a_ii - m_i) / 2. All that is needed is a_ii > m_i.

Theorem. If all u lie on one sphere, k_i = u_i will do: <u_i, u_j> < |u_i|^2 for u_j different from
u_i, by Cauchy and Schwarz. A layer norm puts them there.

`reach` = r_i / (|k_i| |u_i|) is how far a stranger may be and still turn the neuron on (in cosines,
if the key is u_i). It is also the room for rounding: an error of the score below r_i changes
nothing. So a small reach rejects more strangers, and a large one bears more rounding.
"""

from typing import NamedTuple

import numpy as np

from ..data.targets import Floats
from ..errors import AssumptionError

BLOCK = 1 << 22  # scores computed at once
NEAREST = (8, 24)  # competitors that the tightest keys are fitted to
TIGHT = 0.02  # of the contexts, the share whose keys are fitted


class Memory(NamedTuple):
    """The neurons of N contexts.

    weights  [N, d]
    biases   [N]
    reach    of each, relative
    """

    weights: Floats
    biases: Floats
    reach: Floats


def competitors(keys: Floats, own: Floats, streams: Floats, at: np.ndarray) -> tuple[Floats, Floats]:
    """a_ii and the largest a_ij over the other streams; key i belongs to stream at[i]."""
    best = np.empty(len(keys))
    score = np.einsum("ij,ij->i", keys, own)
    step = max(1, BLOCK // len(streams))
    for first in range(0, len(keys), step):
        part = slice(first, first + step)
        scores = keys[part] @ streams.T
        scores[np.arange(len(scores)), at[part]] = -np.inf
        best[part] = scores.max(axis=1)
    return score, best


def memory(
    streams: Floats, stored: np.ndarray, z: float, reach: float | None, sphere: bool
) -> Memory:
    """Neurons for the streams whose numbers are `stored`, off at all the others.

    reach   the largest one wanted; None: half way to the nearest other context
    sphere  whether the streams have one length; otherwise keys are fitted to competitors
    """
    own = streams[stored]
    keys = own.copy()
    score, best = competitors(keys, own, streams, stored)
    room = (score - best) / 2 / (np.linalg.norm(keys, axis=1) * np.linalg.norm(own, axis=1))
    for near in NEAREST:
        least = np.inf if not sphere else TIGHT
        tight = np.argsort(room)[: max(64, len(own) // 20)]
        tight = tight[room[tight] < least]
        if not len(tight):
            break
        fitted = _fitted(own[tight], keys[tight], streams, stored[tight], near)
        again, other = competitors(fitted, own[tight], streams, stored[tight])
        size = np.linalg.norm(fitted, axis=1) * np.linalg.norm(own[tight], axis=1)
        new = (again - other) / 2 / size
        better = new > room[tight]
        chosen = tight[better]
        keys[chosen], score[chosen], best[chosen] = fitted[better], again[better], other[better]
        room[chosen] = new[better]
    if (room <= 0).any():
        raise AssumptionError(
            f"{int((room <= 0).sum()):,} contexts cannot be told from the others by a neuron; "
            "give the model more width or heads."
        )
    if reach is not None:
        room = np.minimum(room, reach)
    radius = room * np.linalg.norm(keys, axis=1) * np.linalg.norm(own, axis=1)
    slope = z / radius
    return Memory(slope[:, None] * keys, -slope * (score - radius), room)


def _fitted(own: Floats, keys: Floats, streams: Floats, at: np.ndarray, near: int) -> Floats:
    """The shortest keys that are 1 higher at their own stream than at each of the nearest ones."""
    near = min(near, len(streams) - 1)
    scores = keys @ streams.T
    scores[np.arange(len(keys)), at] = -np.inf
    worst = np.argpartition(-scores, near - 1, axis=1)[:, :near]
    apart = own[:, None] - streams[worst]  # [rows, near, d]
    gram = apart @ apart.swapaxes(1, 2)
    ridge = 1e-4 * np.trace(gram, axis1=1, axis2=2)[:, None, None] / near * np.eye(near)
    weight = np.linalg.solve(gram + ridge, np.ones((len(own), near, 1)))
    return (weight * apart).sum(axis=1)
