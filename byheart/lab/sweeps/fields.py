"""The fields of a row, and the values that each may have.

A file of rows may come from an older version, or from an editor. A field that does not fit is
described in words here, before anything is computed from it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..trial import trial

LARGEST = 2**63  # more than any count


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def _number(value: Any) -> bool:
    """Python reads NaN from JSON, which is not a number."""
    return math.isfinite(value) if isinstance(value, float) else _whole(value)


def _loss(value: Any) -> bool:
    """None for a training that diverged."""
    return value is None or _number(value)


def _attempt(value: Any) -> bool:
    return isinstance(value, dict) and all(
        map(_whole, (value.get("steps"), value.get("planned", 0)))
    )


def _place(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    steps, loss, accuracy = value
    return _whole(steps) and _loss(loss) and _number(accuracy)


def _list_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(holds, value))


def _a(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


COUNT = ("a whole number from 1 on", lambda value: _whole(value) and value > 0)
NUMBER = ("a number", _number)
FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {  # the values in words, and as a test
    "key": ("a text", _a(str)),
    "trial": ("an object", _a(dict)),
    "parameters": COUNT,
    **dict.fromkeys(("contexts", "vocabulary", "outputs", "predictions"), COUNT),
    **dict.fromkeys(("entropy", "best_accuracy"), NUMBER),
    "loss": ("a number or null", _loss),
    "accuracy": NUMBER,
    "reached": ("true or false", _a(bool)),
    "steps": ("a whole number", _whole),
    "attempts": ("a list of attempts, each with its steps", _list_of(_attempt)),
    "curve": ("a list of steps, losses and accuracies", _list_of(_place)),
    "seconds": NUMBER,
}


def fault(row: Mapping[str, Any]) -> str | None:
    """The fault of a row, in words; None if it can be used.

    Its key is the hash of its trial, so a trial that was changed is detected.
    """
    lacks = [name for name in FIELDS if name not in row]
    if lacks:
        return f"has no {', '.join(lacks)}"
    for name, (words, holds) in FIELDS.items():
        if not holds(row[name]):
            return f"has a field {name} that is not {words}"
    try:
        key = trial(row["trial"]).key
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        key = None  # it is not a trial
    return None if key == row["key"] else "has a key that is not that of its trial"
