"""Messages of the library in the words of the command line."""

import re
import shlex

OPTIONS = frozenset(
    """
    accept activation add address all architecture attention axis between bits blocks branching
    browser build checker coefficients conflicts contexts copies count criterion data dataset
    decoys delimiter delta device dimension dimensions distance documents draw dtype editable
    edited edits effective effort empty encoder engine epsilon every exponent file find force
    forgotten form format gap head_dimension header heads input inputs item items jobs json
    label label_only labels layers length loss memory method minimise model neurons numbers
    numeric objects on_conflict output parameters places plot port position_values positions
    prefix protocol prove_limit quick radius reach rebuild records reference reject_unknown
    relations reverse rows runtime sample save seed seeds separation separator sequences set
    show skew skip sort steps strangers subjects suffix superposed sweep table tight to
    token_values tokenizer trace train unit until version vocabulary weights width window with
    work write_data
    """.split()
)  # of all commands; a test compares them
RENAMED = {"axes": "axis", "folder": "output", "models": "with", "picture": "plot", "sizes": "set"}
KEYWORD = re.compile(
    r"""(?<![\w.'"/=-])([a-z][a-z_]*)=(?:(True|False)\b|'([^']+)'|"([^"]+)"|(\.\.\.)"""
    r"""|(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w,-]?\w))"""
)
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
