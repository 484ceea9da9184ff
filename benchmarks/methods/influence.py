"""Influence functions (Koh and Liang 2017): g(query) H^-1 g(item), with gradients g of the loss.

H is the empirical Fisher matrix, the mean of g g^T over the items, with DAMPING of its mean
eigenvalue in their span added (as Grosse et al. 2023 add a tenth of the mean eigenvalue). By the
identity of Woodbury that is n (K + n damping)^-1 k, with the dot products K of the items' gradients
and k of the query's with these: exact, so that no series for the inverse is needed.
Departures: all weights; the empirical Fisher matrix instead of the Hessian.
"""

from collections.abc import Sequence
from typing import Any

from .common import Fact, gradients, loss, whitened

DAMPING = 0.1


def attribute(model: Any, tokenizer: Any, query: Fact, items: Sequence[Fact]) -> list[float]:
    every = gradients(model, tokenizer, [*items, query], loss)
    return (len(items) * whitened(every[:-1], every[-1], DAMPING)).tolist()
