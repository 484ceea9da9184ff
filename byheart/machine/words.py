"""Words from files, made harmless before anybody sees them.

A model folder comes from anywhere: its words may hold characters that steer a terminal, or be so
long that a part of them stands on a line of its own.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

# what moves a cursor, erases, rings or turns the direction of writing, all but line feed and tab
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
LONGEST = 40  # letters of a name that only a folder states


def printable(text: str) -> str:
    """The text with every character that steers a terminal shown as its escape.

    >>> printable("\\x1b[2Jproved")
    '\\\\x1b[2Jproved'
    """
    return STEERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def harmless(answer: Any) -> Any:
    """An answer (its shown fields) whose words stay on their line and steer no terminal."""
    if isinstance(answer, str):
        return printable(answer).replace("\n", "\\n").replace("\t", "\\t")
    if isinstance(answer, Mapping):
        return {harmless(key): harmless(value) for key, value in answer.items()}
    if isinstance(answer, tuple) and hasattr(answer, "_fields"):
        return type(answer)(*map(harmless, answer))
    if isinstance(answer, list | tuple):
        return type(answer)(map(harmless, answer))
    if is_dataclass(answer) and not isinstance(answer, type):
        shown = [field.name for field in fields(answer) if field.init and field.repr]
        return replace(answer, **{name: harmless(getattr(answer, name)) for name in shown})
    return answer


def brief(text: object, longest: int = LONGEST) -> str:
    """A name on one line, cut where it is longer than the names that byheart gives.

    >>> brief("hash-fold-retrieve"), brief("proved  3 of 3", 8)
    ('hash-fold-retrieve', 'prove...')
    """
    shown = harmless(str(text))
    return shown if len(shown) <= longest else f"{shown[: longest - 3]}..."


def quoted(word: object, longest: int = 2 * LONGEST) -> str:
    """A word as Python writes it, without its middle where it is very long.

    >>> quoted("paris"), quoted("a" * 100, 11)
    ("'paris'", "'aaa...aaa'")
    """
    shown = repr(word)
    half = (longest - 3) // 2
    return shown if len(shown) <= longest else f"{shown[:half]}...{shown[-half:]}"
