"""Axes and fixed sizes as a person writes them.

An axis is NAME=VALUES, and values are joined by commas:

    24          one number
    1-31        all numbers from 1 to 31
    100-500+50  every 50th: 100, 150, ..., 500
    4-512x2     4, 8, 16, ..., 512
"""

import inspect
import re
from collections.abc import Iterable, Sequence

from ...errors import ByheartError
from ...presets import PRESETS
from ...presets import SIZES as ALIASES
from .sweep import SEQUENCES, Axis, complete

MOST = 10_000  # values of one axis
DECIDED = ("vocabulary", "length", "labels", "attention_biases")  # by the data, or by the authors
NUMBER = "[0-9]{1,12}"
RANGE = re.compile(rf"({NUMBER})(?:-({NUMBER})(?:([+x])({NUMBER}))?)?")


def size_names(architecture: str) -> tuple[str, ...]:
    """The sizes of an architecture that one may choose."""
    takes = inspect.signature(PRESETS[architecture]).parameters
    return tuple(name for name in takes if name not in DECIDED)


def axes(architecture: str, texts: Sequence[str]) -> tuple[Axis, ...]:
    """The axes that these texts name, in their order; that of the data comes first.

    The last one is searched for its smallest value, so it is a size.
    """
    found = sorted((_axis(architecture, x) for x in texts), key=lambda axis: axis[0] != SEQUENCES)
    if not {name for name, _ in found} - {SEQUENCES}:
        names = ", ".join(size_names(architecture))
        raise ByheartError(f"--axis must name a size of {architecture}: {names}.")
    return tuple(found)


def fixed(architecture: str, texts: Iterable[str]) -> dict[str, int]:
    """The sizes that texts like dimension=16 fix."""
    found: dict[str, int] = {}
    for text in texts:
        name, _, value = text.partition("=")
        size = _size(architecture, name.strip(), "--set", size_names(architecture))
        if not re.fullmatch(NUMBER, value.strip()) or not int(value):
            raise ByheartError(f"--set is NAME=NUMBER such as dimension=16, not {text!r}.")
        if size in found:
            raise ByheartError(f"--set fixes {size} twice.")
        found[size] = int(value)
    return found


def check_complete(architecture: str, sizes: dict[str, int], varies: Iterable[str]) -> None:
    """ByheartError if some size of the architecture is neither fixed nor an axis."""
    given = {*complete(architecture, sizes), *varies}
    lacks = [name for name in size_names(architecture) if name not in given]
    if lacks:
        raise ByheartError(
            f"{architecture} needs {' and '.join(lacks)} as well: --set {lacks[0]}=NUMBER or an "
            f"--axis."
        )


def values(text: str) -> tuple[int, ...]:
    """The numbers of a list of numbers and ranges, increasing, each once."""
    found: set[int] = set()
    for part in text.split(","):
        found.update(_range(part.strip(), text))
        if len(found) > MOST:
            raise ByheartError(f"an axis has at most {MOST:,} values: {text!r} has more.")
    return tuple(sorted(found))


def _axis(architecture: str, text: str) -> Axis:
    name, equals, listed = text.partition("=")
    size = _size(architecture, name.strip(), "--axis", (*size_names(architecture), SEQUENCES))
    if not equals or not listed.strip():
        raise ByheartError(f"--axis {name} has no values; write {name}=4,8,16 or {name}=4-64x2.")
    return size, values(listed)


def _size(architecture: str, name: str, option: str, names: tuple[str, ...]) -> str:
    """The name of a size, which `width` is where the paper says neurons."""
    own = name.replace("-", "_")
    found = own if own in names else ALIASES.get(own, own)
    if found not in names:
        raise ByheartError(f"{option}: {architecture} has no {name!r}; it has {', '.join(names)}.")
    return found


def _range(part: str, text: str) -> Iterable[int]:
    """The numbers of one part; a range that grows by no step would never end."""
    match = RANGE.fullmatch(part)
    if match is None:
        raise ByheartError(
            f"an axis is numbers and ranges such as 4,8,16 or 1-31 or 4-512x2, not {text!r}."
        )
    first, last = int(match[1]), int(match[2] or match[1])
    step = int(match[4] or 1)
    if first < 1 or last < first or step < (2 if match[3] == "x" else 1):
        raise ByheartError(f"{part!r} in {text!r} is no range of positive whole numbers.")
    if match[3] == "x":
        return _products(first, last, step)
    return range(first, min(last, first + step * MOST) + 1, step)


def _products(first: int, last: int, factor: int) -> Iterable[int]:
    while first <= last:
        yield first
        first *= factor
