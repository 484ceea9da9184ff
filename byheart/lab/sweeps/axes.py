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

from ...architectures import ARCHITECTURES
from ...architectures import SIZES as ALIASES
from ...errors import ByheartError
from .sweep import SEQUENCES, Axis, complete

MOST = 10_000  # values of one axis
DECIDED = ("vocabulary", "length", "labels", "attention_biases")  # by the data, or by the authors
LARGEST = 10**12 - 1
NUMBER = "[0-9]+"
SIGNED = f"-?{NUMBER}"
RANGE = re.compile(rf"({NUMBER})-({NUMBER})(?:([+x])({NUMBER}))?")


def size_names(architecture: str) -> tuple[str, ...]:
    """The sizes of an architecture that one may choose."""
    takes = inspect.signature(ARCHITECTURES[architecture]).parameters
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
        name, _, value = (part.strip() for part in text.partition("="))
        size = _size(architecture, name, "--set", size_names(architecture))
        if not re.fullmatch(SIGNED, value):
            raise ByheartError(f"--set is NAME=NUMBER such as dimension=16, not {_short(text)!r}.")
        if size in found:
            raise ByheartError(f"--set fixes {size} twice.")
        found[size] = _whole(value, f"--set {name}")
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


def values(text: str, option: str = "--axis") -> tuple[int, ...]:
    """The numbers of a list of numbers and ranges, increasing, each once.

    option  the axis as an error names it
    """
    found: set[int] = set()
    for part in text.split(","):
        found.update(_range(part.strip(), option))
        if len(found) > MOST:
            raise ByheartError(f"{option} has at most {MOST:,} values; {_short(text)!r} has more.")
    return tuple(sorted(found))


def _axis(architecture: str, text: str) -> Axis:
    name, equals, listed = text.partition("=")
    size = _size(architecture, name.strip(), "--axis", (*size_names(architecture), SEQUENCES))
    if not equals or not listed.strip():
        raise ByheartError(f"--axis {name} has no values; write {name}=4,8,16 or {name}=4-64x2.")
    return size, values(listed, f"--axis {name.strip()}")


def _size(architecture: str, name: str, option: str, names: tuple[str, ...]) -> str:
    """The name of a size, which `width` is where the paper says neurons."""
    own = name.replace("-", "_")
    found = own if own in names else ALIASES.get(own, own)
    if found not in names:
        raise ByheartError(f"{option}: {architecture} has no {name!r}; it has {', '.join(names)}.")
    return found


def _range(part: str, option: str) -> Iterable[int]:
    """The numbers of one part; a range that grows by no step would never end."""
    if re.fullmatch(SIGNED, part):
        return (_whole(part, option),)
    match = RANGE.fullmatch(part)
    if match is None:
        raise ByheartError(
            f"{option} takes numbers and ranges such as 4,8,16 or 1-31 or 4-512x2, "
            f"not {_short(part)!r}."
        )
    first, last, step = (_whole(match[group] or "1", option) for group in (1, 2, 4))
    if last < first:
        raise ByheartError(f"{option}: the range {part} ends below its beginning.")
    if match[3] != "x":
        return range(first, min(last, first + step * MOST) + 1, step)
    if step == 1:
        raise ByheartError(f"{option}: the factor of the range {part} must be 2 or more.")
    return _products(first, last, step)


def _whole(text: str, option: str) -> int:
    """The number of some digits; they are counted first, as there may be thousands."""
    digits = text.lstrip("0") or "0"
    found = int(digits) if len(digits) <= len(str(LARGEST)) else 0
    if not 1 <= found <= LARGEST:
        raise ByheartError(
            f"{option} takes whole numbers from 1 to {LARGEST:,}, not {_short(text)}."
        )
    return found


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def _products(first: int, last: int, factor: int) -> Iterable[int]:
    while first <= last:
        yield first
        first *= factor
