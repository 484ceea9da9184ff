"""The errors a user can meet: bad input, an assumption that fails, a folder that disagrees.

The texts of errors and notes name options between backticks, as Python writes them:
"use `positions=True`". Each door shows them its own way, see `Message`.
"""

import re
import shlex
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass, replace
from typing import Any

OPTION = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")
FLAGS = {  # where the command line has another name
    "axes": "axis",
    "folder": "output",
    "models": "with",
    "picture": "plot",
    "sizes": "set",
    "workers": "engine",
}


class Message(str):
    """A sentence for users as Python shows it; `marked` is the text with options in backticks.

    >>> Message("order does not count; `positions=True` changes that")
    'order does not count; positions=True changes that'
    """

    marked: str

    def __new__(cls, marked: str) -> "Message":
        message = super().__new__(cls, OPTION.sub(lambda option: option[0].strip("`"), marked))
        message.marked = marked
        return message


def flags(value: Any, option: Callable[[re.Match[str]], str] | None = None) -> Any:
    """The value with every message in it as the command line shows it, or another door.

    Of a dataclass all fields but those with `repr=False`, which nobody is shown.

    >>> flags({"reason": Message("use `bits=40` or `on_conflict='drop'`."), "rows": 3})
    {'reason': 'use --bits 40 or --on-conflict drop.', 'rows': 3}
    >>> flags(ByheartError("give `heads=...`, or leave out `tight=True`; `positions=False` works"))
    'give --heads, or leave out --tight; --no-positions works'
    """
    if isinstance(value, ByheartError):
        value = value.message
    if isinstance(value, Message):
        return OPTION.sub(option or _flag, value.marked)
    if isinstance(value, dict):
        return {key: flags(each, option) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {x.name: getattr(value, x.name) for x in fields(value) if x.init and x.repr}
        return replace(value, **{name: flags(each, option) for name, each in parts.items()})
    if type(value) in (list, tuple):
        return type(value)(flags(each, option) for each in value)
    return value


def on_page(option: re.Match[str]) -> str:
    """An option as the fields of the page are called.

    >>> flags(ByheartError("read it with `documents='whole'`, or give `length=...`"), on_page)
    'read it with documents: whole, or give length'
    """
    name, value = option.groups()
    name = name.replace("_", " ")
    return name if value in (None, "True", "...") else f"{name}: {value.strip(chr(39))}"


def _flag(option: re.Match[str]) -> str:
    name, value = option.groups()
    name = FLAGS.get(name, name).replace("_", "-")
    if value == "False":
        return f"--no-{name}"
    if value in (None, "True", "..."):
        return f"--{name}"
    text = value[1:-1] if value[:1] in ("'", '"') else value
    return f"--{name} {shlex.quote(text)}"


class ByheartError(ValueError):
    """Something the user gave cannot be used; the message is one sentence that says what to do.

    >>> error = ByheartError("two labels for one context; use `positions=True`.")
    >>> str(error)
    'two labels for one context; use positions=True.'
    >>> flags(error)
    'two labels for one context; use --positions.'
    """

    def __init__(self, marked: str) -> None:
        super().__init__(marked)
        self.message = Message(marked)

    def __str__(self) -> str:
        return self.message


class OptionError(ByheartError):
    """An option has a value that it does not take.

    >>> str(OptionError("sample", 0, "must be an integer of at least 1"))
    'sample must be an integer of at least 1, not 0.'
    """

    def __init__(self, option: str, value: object, problem: str, remedy: str = "") -> None:
        super().__init__(f"`{option}` {problem}, not {value!r}{remedy and f'; {remedy}'}.")
        self.args = (option, value, problem, remedy)  # a copy is made from these
        self.option, self.value, self.problem, self.remedy = self.args


class AssumptionError(ByheartError):
    """An assumption (A1, A2, ...) of a construction or bound fails for this dataset.

    Attributes:
        smallest: The smallest limit that would do, where a limit is refused as too small.
    """

    def __init__(self, marked: str, smallest: int | None = None) -> None:
        super().__init__(marked)
        self.smallest = smallest


class DisagreementError(ByheartError):
    """A model folder is readable, but a hash or a count in it disagrees with the rest."""


def at_least(least: int, **sizes: int | None) -> None:
    """ByheartError if a size that was given is smaller, or not an integer."""
    for name, size in sizes.items():
        if size is None:
            continue
        if not isinstance(size, int) or isinstance(size, bool) or size < least:
            raise OptionError(name, size, f"must be an integer of at least {least}")


def one_of(known: Collection[Any], **options: object) -> None:
    """OptionError if an option is none of the known words; None stands for not giving it."""
    for name, value in options.items():
        if value is not None and value not in known:
            raise OptionError(name, value, f"must be one of {', '.join(known)}")


def check_seed(seed: Any) -> None:
    """ByheartError if a random seed is not an integer from 0: None would not be the same twice."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise OptionError("seed", seed, "must be an integer of at least 0")
