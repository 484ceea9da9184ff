"""The sizes that a measurement varies and those that it fixes, checked.

Values of an axis are whole numbers, or a text in which numbers and ranges are joined by commas:

    24          one number
    1-31        all numbers from 1 to 31
    100-500+50  every 50th: 100, 150, ..., 500
    4-512x2     4, 8, 16, ..., 512
"""

import inspect
import operator
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ...architectures import ARCHITECTURES
from ...architectures import SIZES as ALIASES
from ...architectures.trainable import trainable
from ...errors import ByheartError
from .rows import short
from .sweep import SEQUENCES, Axis

MOST = 10_000  # values of one axis
LARGEST = 10**12 - 1
NUMBER = "[0-9]+"
SIGNED = f"-?{NUMBER}"
RANGE = re.compile(rf"({NUMBER})-({NUMBER})(?:([+x])({NUMBER}))?")
Values = int | str | Iterable[int]


def size_names(architecture: str) -> tuple[str, ...]:
    """The sizes of an architecture that the user may choose."""
    record = trainable(architecture)
    takes = inspect.signature(ARCHITECTURES[architecture]).parameters
    return tuple(x for x in takes if x not in record.from_data and x not in record.always)


def parsed(texts: Iterable[str], kind: str, example: str) -> dict[str, str]:
    """Names and values of texts such as "width=4,8,16"; `kind` is what a message calls them."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if not value:
            name = short(name)
            raise ByheartError(f"the {kind} {name} has no values; write '{name}={example}'.")
        if name in pairs:
            raise ByheartError(f"the {kind} {name} is given twice.")
        pairs[name] = value
    return pairs


def axes(architecture: str, given: Mapping[str, Values]) -> tuple[Axis, ...]:
    """The axes in their order, except that the one of the data comes first.

    The last one is searched for its smallest value, so it is a size. Where capacity is measured,
    bits are measured against the number of sequences, so that axis is needed and comes last.
    """
    names, capacity = size_names(architecture), trainable(architecture).capacity
    axes_ = [
        (_own(architecture, "axis", name, (*names, SEQUENCES)), values(some, f"the axis {name}"))
        for name, some in given.items()
    ]
    if capacity and SEQUENCES not in dict(axes_):
        raise ByheartError(
            f"{architecture} is measured by the bits that it memorises of more and more sequences: "
            f"one axis must be {SEQUENCES}."
        )
    if not capacity and not {name for name, _ in axes_} - {SEQUENCES}:
        raise ByheartError(f"one axis must be a size of {architecture}: {', '.join(names)}.")
    return tuple(sorted(axes_, key=lambda axis: (axis[0] != SEQUENCES) != capacity))


def fixed(architecture: str, given: Mapping[str, int | str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, value in given.items():
        size = _own(architecture, "size", name, size_names(architecture))
        if size in sizes:
            raise ByheartError(f"the size {size} is given twice.")
        sizes[size] = _whole(value, f"the size {name}")
    return sizes


def check_complete(architecture: str, sizes: Mapping[str, int], varies: Iterable[str]) -> None:
    """ByheartError if some size of the architecture is neither fixed nor an axis."""
    record = trainable(architecture)
    given = {*record.complete(sizes), *record.optional, *varies}
    missing = [name for name in size_names(architecture) if name not in given]
    if missing:
        raise ByheartError(
            f"{architecture} needs {' and '.join(missing)} as well: vary it with `axes=...` or fix "
            "it with `sizes=...`."
        )


def values(given: Values, axis: str = "the axis") -> tuple[int, ...]:
    """The numbers of an axis, increasing, each once; `axis` is its name in a message."""
    listed = given.split(",") if isinstance(given, str) else given
    parts: Iterable[Any] = listed if isinstance(listed, Iterable) else [listed]
    found: set[int] = set()
    for part in parts:
        found.update(_range(part.strip(), axis) if isinstance(part, str) else [_whole(part, axis)])
        if len(found) > MOST:
            text = f"; {short(given)!r} has more" if isinstance(given, str) else ""
            raise ByheartError(f"{axis} has at most {MOST:,} values{text}.")
    return tuple(sorted(found))


def _own(architecture: str, kind: str, name: str, names: tuple[str, ...]) -> str:
    """The architecture's name of a size, such as neurons for width."""
    own = name.replace("-", "_")
    size = own if own in names else ALIASES.get(own, own)
    if size not in names:
        raise ByheartError(f"{architecture} has no {kind} {name!r}; it has {', '.join(names)}.")
    return size


def _range(part: str, axis: str) -> Iterable[int]:
    """The numbers of one part of a text; a range whose step is 0 would never end."""
    if re.fullmatch(SIGNED, part):
        return (_whole(part, axis),)
    match = RANGE.fullmatch(part)
    if match is None:
        raise ByheartError(
            f"{axis} takes numbers and ranges such as 4,8,16 or 1-31 or 4-512x2, "
            f"not {short(part)!r}."
        )
    first, last, step = (_whole(match[group] or "1", axis) for group in (1, 2, 4))
    if last < first:
        raise ByheartError(f"{axis}: the range {part} ends below its beginning.")
    if match[3] != "x":
        return range(first, min(last, first + step * MOST) + 1, step)
    if step == 1:
        raise ByheartError(f"{axis}: the factor of the range {part} must be 2 or more.")
    products = [first]
    while products[-1] * step <= last:
        products.append(products[-1] * step)
    return products


def _whole(value: Any, what: str) -> int:
    """A number, or that of some digits; they are counted first, as there may be thousands."""
    number = 0
    if not isinstance(value, str):
        number = operator.index(value) if hasattr(value, "__index__") else 0
    elif re.fullmatch(SIGNED, value):
        digits = value.lstrip("0") or "0"
        number = int(digits) if len(digits) <= len(str(LARGEST)) else 0
    if not 1 <= number <= LARGEST:
        given = short(str(value))
        raise ByheartError(f"{what} takes whole numbers from 1 to {LARGEST:,}, not {given}.")
    return number
