"""What a page may ask: the arguments of every task, judged before anything of them is kept.

The server is light and does not import the tasks; a test compares the names here with theirs.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ByheartError

LEVELS = 16  # of lists and objects inside one another
LARGEST = 1 << 63
TRAINED = re.compile(r"bpe:[0-9]{1,9}(:used)?")  # a tokenizer specification, not a path
LOADING = (
    "format input label template answer count records table shape delimiter header numeric "
    "between empty unit tokenizer documents length window dtype separator include encoding"
).split()  # the options of how a file is read
SEVERAL = ("input", "template", "include")  # that are lists of texts


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < LARGEST


def _kind(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _list(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(x, kind) for x in value)


Kind = tuple[str, Callable[[Any], bool]]
TEXT: Kind = "text", _kind(str)
WHOLE: Kind = "a whole number from 0", _whole
SWITCH: Kind = "true or false", _kind(bool)
OBJECT: Kind = "an object", _kind(dict)
TEXTS: Kind = "a list of texts", _list(str)
OBJECTS: Kind = "a list of objects", _list(dict)
WORD: Kind = "text or a whole number from 0", lambda value: isinstance(value, str) or _whole(value)

MODEL, READING = {"model": TEXT}, {"loading": OBJECT}
TASKS: dict[str, dict[str, Kind]] = {
    "read": READING,
    "compare": {**READING, "on_conflict": TEXT},
    "compile": {
        **READING, "method": TEXT, "form": TEXT, "on_conflict": TEXT, "seed": WHOLE,
        "options": OBJECT,
    },
    "open": MODEL,
    "ask": {**MODEL, "text": TEXT},
    "edit": {**MODEL, "edits": OBJECTS, "rebuild": SWITCH},
    "forget": {**MODEL, "items": TEXTS, "label_only": SWITCH},
    "audit": {
        **MODEL, **READING, "reference": TEXT, "strangers": TEXT, "prefix": WHOLE, "suffix": WHOLE,
        "seed": WHOLE,
    },
    "items": MODEL,
    "recite": MODEL,
}  # fmt: skip
NEEDED = ("model", "text", "edits", "items")  # wherever a task takes them


def check(task: str, asked: Mapping[str, Any]) -> None:
    """ByheartError if the arguments are not those of the task."""
    known = TASKS[task]
    if {"data", "folder", "output", "name"} & asked.keys():
        raise ByheartError("a page names no files.")
    for name, value in asked.items():
        if name not in known:
            raise ByheartError(f"{task} has no argument {name[:40]!a}; it has {', '.join(known)}.")
        _expect(name, value, known[name])
    for name in NEEDED:
        if name in known and name not in asked:
            raise ByheartError(f"{task} needs the argument {name}.")
    chosen(asked.get("loading", {}))


def chosen(loading: Mapping[str, Any]) -> dict[str, Any]:
    """The loading options that a page may choose; ByheartError for one that names a file."""
    for name, value in loading.items():
        if name not in LOADING:
            raise ByheartError(f"there is no option {name[:40]!a} of how a file is read.")
        _expect(name, value, TEXTS if name in SEVERAL else WORD)
    tokenizer = loading.get("tokenizer")
    if tokenizer is not None and not TRAINED.fullmatch(str(tokenizer)):
        raise ByheartError(
            "the page opens no files by their names; use bpe:8000 as the tokenizer, or load the "
            "file on the command line."
        )
    return {name: tuple(x) if name in SEVERAL else x for name, x in loading.items()}


def _expect(name: str, value: Any, kind: Kind) -> None:
    words, fits = kind
    if not fits(value):
        raise ByheartError(f"{name} must be {words}.")


def check_nesting(value: Any) -> None:
    """ByheartError for JSON that a page could not be sent: too deep, or with infinite numbers."""
    level = [value]
    for _ in range(LEVELS + 1):
        if any(isinstance(each, float) and not math.isfinite(each) for each in level):
            raise ByheartError("the request has a number that is not finite.")
        inside = [each for each in level if isinstance(each, dict | list)]
        if not inside:
            return
        level = [x for each in inside for x in (each.values() if type(each) is dict else each)]
    raise ByheartError(f"the request nests lists and objects in more than {LEVELS} levels.")
