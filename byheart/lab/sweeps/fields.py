"""The fields of a row, and the values that each may have.

A file of rows may come from an older version, or from an editor. A field that does not fit is
described in words here, before anything is computed from it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..trial import trial

LARGEST = 2**63  # more than any count


class Kind(NamedTuple):
    """The values of a field, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def _number(value: Any) -> bool:
    """Python reads NaN from JSON, which is not a number."""
    return math.isfinite(value) if isinstance(value, float) else _whole(value)


def _loss(value: Any) -> bool:
    """None for a training that diverged."""
    return value is None or _number(value)


def _attempts(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(x, dict) and _whole(x.get("steps")) and _whole(x.get("planned", 0))
        for x in value
    )


def _curve(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(x, list) and len(x) == 3 and _whole(x[0]) and _loss(x[1]) and _number(x[2])
        for x in value
    )


COUNT = Kind("a whole number from 1 on", lambda value: _whole(value) and value > 0)
NUMBER = Kind("a number", _number)
FACTS = {  # of the data
    "contexts": COUNT,
    "vocabulary": COUNT,
    "outputs": COUNT,
    "predictions": COUNT,
    "entropy": NUMBER,
    "best_accuracy": NUMBER,
}
FIELDS = {
    "key": Kind("a text", lambda value: isinstance(value, str)),
    "trial": Kind("an object", lambda value: isinstance(value, dict)),
    "parameters": COUNT,
    **FACTS,
    "loss": Kind("a number or null", _loss),
    "accuracy": NUMBER,
    "reached": Kind("true or false", lambda value: isinstance(value, bool)),
    "steps": Kind("a whole number", _whole),
    "attempts": Kind("a list of attempts, each with its steps", _attempts),
    "curve": Kind("a list of steps, losses and accuracies", _curve),
    "seconds": NUMBER,
}


def fault(row: Mapping[str, Any]) -> str | None:
    """The fault of a row, in words; None if it can be used.

    Its key is the hash of its trial, so a trial that was changed is detected.
    """
    lacks = [name for name in FIELDS if name not in row]
    if lacks:
        return f"has no {', '.join(lacks)}"
    for name, kind in FIELDS.items():
        if not kind.holds(row[name]):
            return f"has a field {name} that is not {kind.words}"
    try:
        key = trial(row["trial"]).key
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        key = None  # it is not a trial
    return None if key == row["key"] else "has a key that is not that of its trial"
