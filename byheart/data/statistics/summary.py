"""From counts to statistics, the same for labelled data and for a corpus.

Paper        madden2024, Lemma 2 (entropy); dana2024, section 4 (T_epsilon).
Statement    No model has a smaller cross-entropy than the entropy of the empirical next-token
             distributions, summed over contexts with their counts.
Departures   D1  dana2024 defines T_epsilon with "greater than 1 - epsilon". We take "at least":
                 only so is T_0 the number of sequences that occur, as the same paragraph says.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ...machine.tables import html_table
from ..arrays import Ints, totals
from ..targets import entropy
from .separation import Separation, separation

EPSILONS = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class Conflicts:
    """Contexts with two labels or more, the sequences in them, and such multisets."""

    contexts: int
    sequences: int
    multisets: int


@dataclass(frozen=True)
class Entropy:
    """In nats: of all predictions, per prediction, and of labels whose contexts are unknown."""

    total: float
    per_token: float
    labels: float


@dataclass(frozen=True, repr=False)
class Statistics:
    """The statistics of a dataset or of documents.

    sequences      how many there are; for documents, predictions
    tokens         of all sequences together
    contexts       distinct sequences
    multisets      distinct contexts if order does not count, except for the last token
    vocabulary     distinct tokens in contexts
    labels         distinct labels
    conflicts      contexts with two labels or more
    best_accuracy  the largest share of correct predictions with one label per context
    entropy        the least cross-entropy of any model
    separation     largest norm of a token and smallest distance of two
    t_epsilon      pairs: epsilon, and the fewest contexts that hold 1 - epsilon of all predictions
    skipped        documents too short for a prediction
    """

    sequences: int
    tokens: int
    contexts: int
    multisets: int
    vocabulary: int
    labels: int
    conflicts: Conflicts
    best_accuracy: float
    entropy: Entropy
    separation: Separation
    t_epsilon: tuple[tuple[float, int], ...]
    skipped: int

    def json(self) -> dict:
        counts = {field.name: getattr(self, field.name) for field in fields(Statistics)}
        groups = ("conflicts", "entropy", "separation")
        counts |= {name: asdict(getattr(self, name)) for name in groups}
        return counts | {"t_epsilon": [list(pair) for pair in self.t_epsilon]}

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for name, value in Statistics.json(self).items():
            if isinstance(value, dict):
                shown = ", ".join(f"{key} {_shown(part)}" for key, part in value.items())
            elif isinstance(value, list):
                shown = ", ".join(f"{epsilon:g}: {count:,}" for epsilon, count in value)
            else:
                shown = _shown(value)
            rows.append((name, shown))
        return rows

    def __repr__(self) -> str:
        return "\n".join(["Statistics", *(f"  {name:13}  {text}" for name, text in self._rows())])

    def _repr_html_(self) -> str:
        return html_table("Statistics", ("", ""), self._rows())


def _shown(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else "none" if value is None else f"{value:.6g}"


def derived(
    rows: Ints,
    vectors: NDArray,
    right: int,
    seen_labels: Ints,
    epsilons: Sequence[float],
    **counts: Any,
) -> Statistics:
    """The statistics that follow from these, with the `counts` that are among them already.

    rows         [whole, part, times]: `times` times a context seen `whole` times was followed
                 `part` < `whole` times by one of its labels; part = 0 is the context itself
    right        the most correct predictions with one label per context
    seen_labels  how often each label occurs
    """
    itself = rows[:, 1] == 0
    kinds = totals(rows[itself][:, [0, 2]])[::-1]  # those seen most often first
    predictions = int(kinds.prod(axis=1).sum())
    total = entropy(*rows[~itself].T)
    return Statistics(
        **counts,
        contexts=int(kinds[:, 1].sum()),
        vocabulary=len(vectors),
        best_accuracy=right / predictions,
        entropy=Entropy(
            total=total,
            per_token=total / predictions,
            labels=entropy(np.full_like(seen_labels, predictions), seen_labels),
        ),
        separation=separation(vectors),
        t_epsilon=tuple((epsilon, _t_epsilon(kinds, epsilon)) for epsilon in epsilons),
    )


def _t_epsilon(kinds: Ints, epsilon: float) -> int:
    """The fewest contexts that together have at least 1 - epsilon of all predictions (D1).

    A kind is [how often seen, how many contexts], decreasing; of the last one only as many contexts
    as are needed. Counts are integers, so it is enough to reach the next integer: no rounding is
    involved.
    """
    if not 0 <= epsilon <= 1:
        raise OptionError("epsilon", epsilon, "must be a number from 0 to 1")
    reached = np.cumsum(kinds.prod(axis=1))
    wanted = math.ceil((1 - Fraction(repr(float(epsilon)))) * int(reached[-1]))
    if wanted == 0:
        return 0
    last = int(np.searchsorted(reached, wanted))
    before = int(reached[last - 1]) if last else 0
    return int(kinds[:last, 1].sum()) + math.ceil(Fraction(wanted - before, int(kinds[last, 0])))
