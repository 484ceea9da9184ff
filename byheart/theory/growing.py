"""Closed forms for more contexts than a dataset has: where the asymptotic order shows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..data.dataset import Dataset
from ..errors import ByheartError
from .facts import data_facts
from .growth import Shape, crossing, sizes

FEWEST, MOST = 100, 10**15
PAIRS = (
    ("vardi2022 (small)", "park2021"),
    ("park2021", "three-layer (small)"),
    ("vardi2022 (small)", "three-layer (small)"),
)


@dataclass(frozen=True)
class Line:
    """A closed form: (contexts, parameters) of a method, for data like this."""

    name: str
    points: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Crossing:
    """From this number of contexts on the first method is smaller than the second."""

    smaller: str
    larger: str
    contexts: float

    def json(self) -> dict:
        return {"smaller": self.smaller, "larger": self.larger, "contexts": round(self.contexts)}


def growing(
    data: Dataset, known: Mapping[str, int | float | None], until: int
) -> tuple[tuple[Line, ...], tuple[Crossing, ...]]:
    """The closed forms of these methods, moved to the known sizes, and where some of them cross."""
    if not FEWEST <= until <= MOST:
        raise ByheartError(
            f"`until` must be a number of contexts from {FEWEST:,} to {MOST:,}, not {until:,}."
        )
    facts = data_facts(data)
    labels, length, vocabulary = facts.labels or 2, facts.length or 1, facts.vocabulary or 1
    shape = Shape(length, data.vectors.shape[1], max(2, labels), vocabulary)
    counts = [10.0**exponent for exponent in np.arange(2, math.log10(until) + 1e-9, 0.5)]
    forms = {round(count): sizes(shape, count) for count in counts}
    own = max(2, facts.contexts or 2)
    here = sizes(shape, own)
    shifts = {name: size - here[name] for name, size in known.items() if size and name in here}
    lines = []
    for name in forms[FEWEST]:
        if name in known:
            shift = shifts.get(name, 0.0)
            points = {count: max(1, round(form[name] + shift)) for count, form in forms.items()}
            if (size := known[name]) is not None:
                points[own] = round(size)  # through the data itself
            lines.append(Line(name, tuple(sorted(points.items()))))
    crossings = (Crossing(*pair, n) for pair in PAIRS if (n := crossing(*pair, shape, shifts)))
    return tuple(lines), tuple(crossings)
