"""Linear associative memories with random encoders, measured in whole numbers (cabannes2024).

A token x and a label y have vectors e_x and u_y of d random signs. A matrix W of d x d recalls x if
u_y W e_x is largest, and by itself, for its label. W is the sum of outer products u_y e_x^T, as in
the paper, or any whole matrix that perceptron steps reach from there. All sums are whole numbers
below 2^53, so that doubles hold them exactly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROUNDS = 400  # perceptron steps over all tokens
LARGEST = 4096  # dimension that is tried


@dataclass(frozen=True, eq=False)
class Memory:
    """Encoders and a matrix that recalls every token's label."""

    tokens: NDArray[np.float64]  # [tokens, d] signs
    labels: NDArray[np.float64]  # [labels, d] signs
    weights: NDArray[np.float64]  # [d, d] whole numbers

    @property
    def dimension(self) -> int:
        return len(self.weights)


def recalls(tokens: NDArray, labels: NDArray, weights: NDArray, wanted: NDArray) -> NDArray:
    """For each token the label whose score is largest, or -1 if that is not its own alone."""
    scores = (tokens @ weights.T) @ labels.T
    assert abs(scores).max(initial=0) < 2**53
    each = np.arange(len(wanted))
    own = scores[each, wanted].copy()
    scores[each, wanted] = -np.inf
    best = scores.argmax(axis=1)
    return np.where(own > scores[each, best], -1, best)


def memory(wanted: NDArray, dimension: int, trained: bool, seed: int = 0) -> Memory | None:
    """A memory of this dimension for the labels 0, 1, ... of tokens; None if it misses one."""
    random = np.random.default_rng(seed)
    signs = np.array([-1.0, 1.0])
    tokens = random.choice(signs, (len(wanted), dimension))
    labels = random.choice(signs, (int(wanted.max()) + 1, dimension))
    weights = labels[wanted].T @ tokens
    for _ in range(ROUNDS if trained else 1):
        rivals = recalls(tokens, labels, weights, wanted)
        wrong = np.flatnonzero(rivals >= 0)
        if not len(wrong):
            return Memory(tokens, labels, weights)
        weights = weights + (labels[wanted[wrong]] - labels[rivals[wrong]]).T @ tokens[wrong]
    return None


def smallest(wanted: NDArray, trained: bool = False, seed: int = 0) -> Memory | None:
    """The memory of the smallest dimension that a bisection finds, of one draw each."""
    low, high = 0, 8
    while (found := memory(wanted, high, trained, seed)) is None:
        low, high = high, 2 * high
        if high > LARGEST:
            return None
    while high - low > max(1, low // 16):
        middle = (low + high) // 2
        now = memory(wanted, middle, trained, seed)
        low, high, found = (low, middle, now) if now else (middle, high, found)
    return found
