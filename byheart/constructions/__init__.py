"""The constructions, one per theorem and form. A new one is one file and one line of registry.csv.

A construction is imported when its options or its builder are asked for. Where a method has two
forms, the first is the default.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ByheartError

if TYPE_CHECKING:
    from .base import Construction

_LINES = Path(__file__).with_name("registry.csv").read_text("ascii").splitlines()[1:]
# method, form, file:class
REGISTRY = tuple((name, form or None, code) for name, form, code in (x.split(",") for x in _LINES))
METHODS = tuple(dict.fromkeys(name for name, _, _ in REGISTRY))


class Constructions(Sequence["Construction"]):
    """All constructions, in the order of the registry; each is imported when it is reached."""

    def __len__(self) -> int:
        return len(REGISTRY)

    def __getitem__(self, index: Any) -> Any:
        return construct(REGISTRY[index])


@cache
def construct(row: tuple[str, str | None, str]) -> "Construction":
    file, _, name = row[2].partition(":")
    return getattr(import_module(f".{file}", __package__), name)()


ALL = Constructions()


def named(method: str) -> "list[Construction]":
    """The forms of a method, the default one first; none if there is no such method."""
    return [construct(row) for row in REGISTRY if row[0] == method]


def find(method: str, form: str | None = None) -> "Construction":
    """The construction of that name, in its small form if there are two and none is named."""
    forms = named(method)
    if not forms:
        raise ByheartError(f"there is no method {method!r}; there are {', '.join(METHODS)}.")
    for construction in forms:
        if form is None or construction.form == form:
            return construction
    names = [c.form for c in forms if c.form]
    has = f"the forms {' and '.join(names)}, not {form!r}" if names else "only one form"
    both = [method for method, other, _ in REGISTRY if other == form]
    others = f"; these have a {form} form: {', '.join(both)}" if both and not names else ""
    raise ByheartError(f"the method {method} has {has}{others}.")
