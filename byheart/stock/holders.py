"""Ground truth: which neurons of a checkpoint answer which context."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Neuron = tuple[int, int]  # layer, neuron


class Holder(NamedTuple):
    """A context and the neurons that are on at its last token.

    tokens   their numbers
    answer   the number of the token that follows
    neurons  None where the answer is spread over all of them
    reach    how far a stranger may be and still turn them on
    decoys   those of the neurons that do not write the answer
    margin   nats by which the answer's logit exceeds all others in every execution, at least; None
             if that is not proved
    """

    tokens: NDArray[np.int64]
    answer: int
    neurons: tuple[Neuron, ...] | None
    reach: float | None = None
    decoys: tuple[Neuron, ...] = ()
    margin: float | None = None


def lines(holders: Iterable[Holder], tokens: Sequence[str]) -> Iterable[bytes]:
    """The lines of ground_truth.jsonl; what follows the neurons is for people."""
    for holder in holders:
        neurons = None if holder.neurons is None else [list(x) for x in holder.neurons]
        line = {"context": holder.tokens.tolist(), "answer": holder.answer, "neurons": neurons}
        line |= {"token": tokens[holder.answer], "reach": holder.reach, "margin": holder.margin}
        if holder.decoys:
            line["decoys"] = [list(x) for x in holder.decoys]
        yield json.dumps(line).encode("ascii") + b"\n"


def shortened(margin: float) -> float:
    """A margin with three decimals, rounded down, so that sums in another order prove it too."""
    return math.floor((margin - 1e-6) * 1000) / 1000
