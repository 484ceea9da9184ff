"""Options that several commands take, each written once."""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from .. import constructions
from ..claims.verification import PROVE_LIMIT as PROVE_SECONDS
from ..data import load
from ..data.contexts import RESOLUTIONS
from ..data.readers.raw import COMPRESSED
from ..errors import ByheartError
from .declaring import (
    DIRECTORY,
    FORCE,
    JSON,
    OUTPUT,
    REQUIRED,
    Command,
    Group,
    Values,
    argument,
    option,
    taking,
)


def with_models(help: str) -> inspect.Parameter:
    return option("models", help, list[Path], metavar="DIR", flags=("--with",))


def either(names: Sequence[str]) -> str:
    """The names in a sentence: a, b or c."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def given(values: Values) -> Values:
    return {name: value for name, value in values.items() if value not in (None, [], ())}


METHODS = constructions.METHODS
SEED = option("seed", "Random seed.", int, 0, "N", min=0)
DATA = argument(
    "data",
    f"{' '.join(load.FILES)}, also with {' '.join(COMPRESSED)}; a folder of texts or of "
    "Hugging Face datasets; - for standard input.",
)
KEEP = option(
    "keep",
    "Taught folders: what must not change, to the bit: texts or tables; repeatable.",
    list[Path],
    metavar="FILE",
)
NEW_FOLDER = option("output", "The model folder to write.", Path, REQUIRED, flags=OUTPUT)
_HELD = (
    "Write the data that the new model holds, as .jsonl (documents of a stock checkpoint: .txt)."
)
WRITE_DATA = option("write_data", _HELD, Path, metavar="FILE")
_FORMS = "Form of the method: small (ours) or faithful (the paper's)."
FORM = option("form", _FORMS, names=("small", "faithful"))
POSITIONS = option("positions", "Order counts (default: for words).", bool)
_TWO_LABELS = f"Two labels for one context: {either(RESOLUTIONS)}."
ON_CONFLICT = option("on_conflict", _TWO_LABELS, default="refuse", names=RESOLUTIONS)
_ENOUGH = "Evidence that is enough: sampled or observed."
ACCEPT = option("accept", _ENOUGH, list[str], metavar="WORD")
_SKIPPED = "Distributions: skip the proof if it would take longer."
PROVE_LIMIT = option("prove_limit", _SKIPPED, float, PROVE_SECONDS, "SECONDS")
JOBS = option("jobs", "Processes of one thread (default: one per core).", int, metavar="J")
ADDRESS = option("address", "Address of the Ray cluster.")
_DRAWN = "Draw a picture: .svg, .png or .pdf."
PLOT = option("plot", _DRAWN, Path, metavar="FILE")
PLOT_OR_OUTPUT = option("plot", _DRAWN, Path, metavar="FILE", flags=("--plot", *OUTPUT))


SEVERAL = {x.name for x in load.LOADING if x.several}
_READ = "How the file is read"
READING = Group(  # what byheart.load takes beside the path
    "loading",
    tuple(
        option(x.name, x.help, x.type, x.default or None, x.metavar, rich_help_panel=_READ)
        for x in load.LOADING
    ),
    lambda values: {**values, **{x: tuple(values[x] or ()) for x in values if x in SEVERAL}},
)
_REPEATED = f"{_READ} (default: as the folder says, if that leaves out nothing)"
REPEATING = Group(  # the same, of a model folder: only what was given
    "loading",
    tuple(
        option(x.name, x.help, x.type, None, x.metavar, rich_help_panel=_REPEATED)
        for x in load.LOADING
    ),
    given,
)
FOLDER_READING = replace(REPEATING, name="")
CHOSEN = Group("")  # the options of methods, see `building`
# options that follow one another in several commands
DATASET = (DATA, READING)
CONFLICTS = (POSITIONS, ON_CONFLICT, SEED)
PICTURE = (PLOT, FORCE, JSON)
PICTURE_OUTPUT = (PLOT_OR_OUTPUT, FORCE, JSON)
CHANGED = (DIRECTORY, DATA, NEW_FOLDER, FOLDER_READING)
WRITTEN = (WRITE_DATA, PROVE_LIMIT, FORCE, JSON)


def building(
    parts: Sequence[inspect.Parameter | Group], method: str | None, arguments: Sequence[str]
) -> Callable[[Command], Command]:
    """`taking`, with the options of methods in the place of CHOSEN.

    Those of the method that is named are in its help. Other methods are loaded only if the
    arguments contain an option that nothing else explains: it is accepted here and refused by
    `compile`, which says which methods take it.
    """
    forms = constructions.named(method) if method else []
    own = {name for construction in forms for name in construction.options()}
    members = [part.options if isinstance(part, Group) else (part,) for part in parts]
    others = {*own, "help", *(option.name for each in members for option in each)}
    known = {f"--{name.replace('_', '-')}" for name in others}
    words = {word.partition("=")[0].replace("--no-", "--") for word in arguments}
    complete = all(word in known for word in words if word.startswith("--"))
    options: dict[str, inspect.Parameter] = {}
    for construction in forms if complete else (*forms, *constructions.ALL):
        for name, field in construction.options().items():
            about, kind = field.metadata["option"], construction.option_type(name)
            help = about.help + (f" {', '.join(about.choices)}." if about.choices else "")
            look: Values = {"rich_help_panel": f"Options of {method}", "hidden": name not in own}
            options.setdefault(name, option(name, help, kind, None, about.metavar, **look))
    chosen = replace(CHOSEN, options=tuple(options.values()), fill=given)
    return taking(*(chosen if part is CHOSEN else part for part in parts))


def numbers(name: str, help: str, metavar: str, example: str) -> Group:
    flag = f"--{name}"
    own = (option(name, help, metavar=metavar),)
    return Group("", own, lambda values: {name: whole_numbers(values[name], flag, example)})


def whole_numbers(text: str | None, option: str, example: str) -> list[int] | None:
    """The numbers of a list such as 16,24,32, increasing; None if nothing was given.

    >>> whole_numbers("32, 16,24,16", "--bits", "16,24,32")
    [16, 24, 32]
    """
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,9}", word) and int(word) for word in words):
        raise ByheartError(
            f"{option} is a list of positive whole numbers such as {example}, not {text!r}."
        )
    return sorted({int(word) for word in words})
