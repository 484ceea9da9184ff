"""Ground truth: which neurons of a checkpoint answer which context."""

import json
import math
from collections.abc import Iterable, Sequence

from ..claims.claim import Holder


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
