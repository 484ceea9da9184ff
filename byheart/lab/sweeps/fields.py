"""What a row holds: its fields, and what each may be.

A file of rows may come from an older version, or from an editor. What does not fit is said in
words here, before anything is computed from it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..trial import trial

LARGEST = 2**63  # no count is so large


class Kind(NamedTuple):
    """What a field may hold, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def _number(value: Any) -> bool:
    """JSON as Python reads it has NaN, which is none."""
    return math.isfinite(value) if isinstance(value, float) else _whole(value)


def _loss(value: Any) -> bool:
    """A training that blew up has none."""
    return value is None or _number(value)


def _attempt(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return _whole(value.get("steps")) and _whole(value.get("planned", 0))


def _point(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    return _whole(value[0]) and _loss(value[1]) and _number(value[2])


def _list_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(holds, value))


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
    "attempts": Kind("a list of attempts, each with its steps", _list_of(_attempt)),
    "curve": Kind("a list of steps, losses and accuracies", _list_of(_point)),
    "seconds": NUMBER,
}


def fault(row: Mapping[str, Any]) -> str | None:
    """What is wrong with a row, in words; None if it can be used.

    Its key is the hash of its trial, so a trial that was changed is seen.
    """
    lacks = [name for name in FIELDS if name not in row]
    if lacks:
        return f"has no {', '.join(lacks)}"
    for name, kind in FIELDS.items():
        if not kind.holds(row[name]):
            return f"has a field {name} that is not {kind.words}"
    return None if _key(row["trial"]) == row["key"] else "has a key that is not that of its trial"


def _key(given: Mapping[str, Any]) -> str | None:
    """The key of a trial; None if it cannot be read as one."""
    try:
        return trial(given).key
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return None
