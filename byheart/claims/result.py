"""Result: a frozen answer, and its JSON."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import PurePath
from typing import Any


class Result:
    """A frozen dataclass whose JSON has its fields in their order."""

    def json(self) -> dict:
        return {x.name: plain(getattr(self, x.name)) for x in fields(self)}  # type: ignore[arg-type]


def picked(value: object, names: str) -> dict[str, Any]:
    """The JSON of these attributes, under other names where there is an equals sign.

    >>> picked(Fraction(2, 7), "numerator below=denominator")
    {'numerator': 2, 'below': 7}
    """
    pairs = (name.partition("=") for name in names.split())
    return {key: plain(getattr(value, name or key)) for key, _, name in pairs}


def plain(value: Any) -> Any:
    """The value as JSON has it: what has a JSON of its own is that, a fraction its digits.

    >>> plain({"values": (Fraction(1, 2), None)})
    {'values': ['1/2', None]}
    """
    if hasattr(value, "json"):
        return value.json()
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if is_dataclass(value):
        return picked(value, " ".join(x.name for x in fields(value)))
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, Fraction | PurePath):
        return str(value)
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
