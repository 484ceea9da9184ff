"""Python values of one file to arrays that hold them exactly, or the reason why none does."""

from collections import defaultdict
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..machine.tables import plural
from .arrays import Ints, beyond_float

NUMBERS = {int, float}
WORDS = {bool: "true or false", type(None): "null", str: "a string", int: "a number"}
WORDS |= {float: "a number", list: "a list of numbers", dict: "an object"}
MIXED_LABELS = (
    "some labels are lists and some are not; give one label per sequence or one per token"
)
MIXED_KINDS = "string and integer labels are mixed; use one kind per file"


class Fault(Exception):
    """A row is wrong; the caller, who knows the file and the line, makes a ByheartError of it."""


def numberer() -> defaultdict:
    """A dictionary that gives each new key the next number."""
    numbers: defaultdict = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def labels(given: list, lengths: Ints) -> tuple[bool, list]:
    """Whether every token has a label, and the labels in a row; `lengths` are of the inputs."""
    lists = [type(label) is list for label in given]
    if not any(lists):
        return False, given
    if not all(lists):
        raise Fault(MIXED_LABELS)
    for label, length in zip(given, lengths.tolist(), strict=True):
        if len(label) != length:
            raise Fault(
                f"the label is a list of {len(label)} and the input has {plural(length, 'token')}; "
                "give one label per token, or a single label (a list as text is one)"
            )
    return True, list(chain.from_iterable(given))


def label_kind(flat: list) -> type | None:
    """str or int, whichever all labels are; None if there are none."""
    kinds = set(map(type, flat))
    if kinds == {int}:
        integers(flat)
    elif kinds > {str} and kinds <= {str, int}:
        raise Fault(MIXED_KINDS)
    elif kinds - {str}:
        wrong = next(label for label in flat if type(label) not in (str, int))
        raise Fault(f"the label is {_word(wrong)}; a label is a string or an integer")
    return kinds.pop() if kinds else None


def counts(values: list) -> Ints:
    """How often each row was seen."""
    if set(map(type, values)) != {int} or min(values) < 1:
        raise Fault("the count is not an integer of 1 or more; correct it or leave it out")
    return integers(values)


def tokens(flat: list, strings: defaultdict) -> tuple[str, NDArray]:
    """The kind of the tokens and their values: for strings their numbers, else vectors [M, d]."""
    kinds = set(map(type, flat))
    if kinds == {str}:
        return "string", np.fromiter(map(strings.__getitem__, flat), np.int64, len(flat))
    if kinds <= NUMBERS:
        return "number", numbers(flat)[:, None]
    if kinds != {list}:
        for value in flat:
            if type(value) not in (str, int, float, list):
                raise Fault(
                    f"a token is {_word(value)}; a token is a string, a number or a list of numbers"
                )
        words = " and ".join(sorted({_word(value) for value in flat}))
        raise Fault(f"tokens of different kinds are mixed ({words}); use one kind per file")
    sizes = sorted(set(map(len, flat)))
    if len(sizes) > 1:
        raise Fault(unlike_dimensions(sizes[0], sizes[1]))
    entries = list(chain.from_iterable(flat))
    if not entries:
        raise Fault("a vector is empty; give at least one number")
    for kind in set(map(type, entries)) - NUMBERS:
        wrong = next(entry for entry in entries if type(entry) is kind)
        raise Fault(f"a vector holds {_word(wrong)}; give lists of numbers")
    return "vector", numbers(entries).reshape(len(flat), -1)


def unlike_dimensions(one: int, other: int) -> str:
    return f"vectors of {one} and of {other} numbers are mixed; give all vectors the same length"


def _word(value: object) -> str:
    return WORDS.get(type(value), f"of type {type(value).__name__}")


def numbers(flat: list) -> NDArray:
    """The numbers as int64 or float64, whichever holds all of them exactly."""
    kinds = set(map(type, flat))
    try:
        whole = integers([value for value in flat if type(value) is int])
    except Fault:  # beyond int64, but perhaps doubles
        if not all(map(_fits, flat)):
            raise
        return numbers([float(x) if abs(x) >= 2**63 else x for x in flat])
    if kinds == {int}:
        return whole
    fractions = finite(np.array([value for value in flat if type(value) is float], np.float64))
    if kinds == {float}:
        return fractions
    dtype = common_type(whole, fractions)
    return finite(np.array(flat, dtype)) if dtype == np.float64 else integers(list(map(int, flat)))


def _fits(value: float) -> bool:
    """Whether int64 or float64 holds the number."""
    if type(value) is float or -(2**63) <= value < 2**63:
        return True
    size, lowest = abs(int(value)), int(value) & -int(value)
    return size.bit_length() <= 1024 and (size // lowest).bit_length() <= 53


def integers(values: list) -> Ints:
    try:
        return np.array(values, np.int64)
    except OverflowError:
        large = next(value for value in values if not -(2**63) <= value < 2**63)
        name = large if abs(large) < 10**30 else f"of {large.bit_length()} bits"
        raise Fault(f"the integer {name} is beyond signed 64 bits; use a string") from None


def finite(values: NDArray) -> NDArray:
    """The numbers with -0.0 turned into 0.0."""
    if not np.isfinite(values).all():
        raise Fault("a number is infinite or not a number (NaN); leave such rows out")
    return values + 0.0


def common_type(integers: Ints, fractions: NDArray) -> np.dtype:
    """float64 if it holds the integers exactly, else int64 if it holds the fractions exactly."""
    if not beyond_float(integers):
        return np.dtype(np.float64)
    whole = (np.floor(fractions) == fractions) & (np.abs(fractions) < 2.0**63)
    if whole.all():
        return np.dtype(np.int64)
    raise Fault(
        "integers too large for a float64 and fractions are mixed, and no number type holds "
        "both exactly; scale the numbers or use strings"
    )
