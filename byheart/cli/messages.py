"""Messages of the library in the words of the command line, and text from files made harmless.

A model folder comes from anywhere: its words may hold characters that steer a terminal.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Any

OPTIONS = frozenset(
    """
    accept activation address all architecture attention axis between bits branching build checker
    coefficients contexts count criterion data dataset delimiter delta dimension dimensions distance
    documents draw dtype effective empty encoder engine epsilon every exponent file find force form
    format gap head_dimension heads input inputs jobs json label labels layers length loss method
    minimise neurons numbers numeric on_conflict output parameters plot position_values positions
    protocol prove_limit quick radius records reject_unknown rows sample save seed seeds separation
    separator sequences set show skew skip sort steps sweep table tight token_values tokenizer trace
    train unit until version vocabulary weights width window with write_data
    """.split()
)  # of all commands; a test compares them
RENAMED = {"axes": "axis", "models": "with", "picture": "plot", "sizes": "set"}
KEYWORD = re.compile(
    r"""(?<![\w.'"/=-])([a-z][a-z_]*)=(?:(True|False)\b|'([^']+)'|"([^"]+)"|(\.\.\.)"""
    r"""|(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w,-]?\w))"""
)
# what moves a cursor, erases, rings or turns the direction of writing, all but line feed and tab
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
FLAG = re.compile(r"(?<!\S)--[a-z]")


def flags(message: str) -> str:
    """The message with options as flags; one that names a flag already is left as it is.

    >>> flags("Two labels for one context; use positions=True or on_conflict='majority'.")
    'Two labels for one context; use --positions or --on-conflict majority.'
    >>> flags("Use bits=40 or more, or leave out length=....")
    'Use --bits 40 or more, or leave out --length.'
    >>> flags("head_dimension must be an integer from 1 to 1,048,576, not 0.")
    '--head-dimension must be an integer from 1 to 1,048,576, not 0.'
    """

    def flag(found: re.Match[str]) -> str:
        name, truth, quoted, also, _, number = found.groups()
        name = RENAMED.get(name, name)
        if name not in OPTIONS:
            return found[0]
        dashed, value = name.replace("_", "-"), quoted or also or number
        if truth == "False":
            return f"--no-{dashed}"
        return f"--{dashed} {shlex.quote(value)}" if value else f"--{dashed}"

    if FLAG.search(message):
        return message
    first, _, rest = message.partition(" must be ")
    if first in OPTIONS and rest:
        message = f"--{first.replace('_', '-')} must be {rest}"
    return KEYWORD.sub(flag, message)


def translate(rows: list[dict]) -> None:
    """Put the reasons of rows into the words of the command line."""
    for row in rows:
        row["reason"] = row["reason"] and flags(row["reason"])


def printable(text: str) -> str:
    """The text with every character that steers a terminal shown as its escape.

    >>> printable("\\x1b[2Jproved")
    '\\\\x1b[2Jproved'
    """
    return STEERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def harmless(answer: Any) -> Any:
    """An answer whose words can be printed: each stays on its line, and steers nothing."""
    if isinstance(answer, str):
        return printable(answer).replace("\n", "\\n").replace("\t", "\\t")
    if isinstance(answer, Mapping):
        return {harmless(key): harmless(value) for key, value in answer.items()}
    return [harmless(x) for x in answer] if isinstance(answer, list | tuple) else answer
