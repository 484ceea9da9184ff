"""Exact numbers from text and from files."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import ByheartError, OptionError

LISTS = ("coefficients", "inputs", "weights", "token_values", "position_values")
SINGLE = ("radius", "distance", "delta")
NUMBER = re.compile(r"[+-]?[0-9]{1,60}(/[0-9]{1,60}|(\.[0-9]{0,60})?(e[+-]?[0-9]{1,3})?)")


def number_list(text: str, name: str, single: bool = False) -> list[Fraction]:
    """The numbers of a list such as 1,-0.5,2/7, exactly.

    >>> number_list("1, -0.5,2/7", "inputs")
    [Fraction(1, 1), Fraction(-1, 2), Fraction(2, 7)]
    """
    words = [word.strip() for word in text.split(",")]
    good = all(NUMBER.fullmatch(word) and not re.search(r"/0+$", word) for word in words)
    if not good or single and len(words) > 1:
        what = "a number such as 2/7" if single else "a list of numbers such as 1,-0.5,2/7"
        raise OptionError(name, text, f"must be {what}")
    return [Fraction(word) for word in words]


def numbers_of(path: Path) -> dict[str, list[Fraction]]:
    """Lists of numbers by name, from a .json object of lists or the arrays of an .npz file."""
    content: dict[str, Any] = {}
    if path.suffix.lower() == ".npz":
        import numpy as np

        try:
            with np.load(path, allow_pickle=False) as archive:
                content = {name: archive[name].ravel().tolist() for name in archive.files}
        except Exception:  # whatever a damaged archive leads to
            raise ByheartError(f"{path} is not an .npz file of plain arrays of numbers.") from None
    elif path.suffix.lower() == ".json":
        try:
            content = json.loads(path.read_text("utf-8"), parse_float=str, parse_int=str)
        except (ValueError, RecursionError):
            raise ByheartError(f"{path} is not a JSON file.") from None
    else:
        raise ByheartError(f"{path}: the name must end in .json or .npz.")
    if not isinstance(content, dict) or not all(isinstance(x, list) for x in content.values()):
        raise ByheartError(f'{path} must be an object of lists, such as {{"inputs": [1, 2]}}.')
    for name in content:
        if name not in LISTS:
            raise ByheartError(f"{path} holds {name!r}; lists are named {', '.join(LISTS)}.")
    lists: dict[str, list[Fraction]] = {}
    for name, values in content.items():
        try:
            lists[name] = [
                number_list(x, name, single=True)[0] if isinstance(x, str) else Fraction(x)
                for x in values
            ]
        except (ValueError, TypeError, OverflowError):
            raise ByheartError(f"{path}: {name} must be a list of finite numbers.") from None
    return lists
