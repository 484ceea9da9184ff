"""check: does a statement of a paper hold for these numbers, this data or this model?"""

import functools
import json as decoder
import re
import zipfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ..compiler.checks import CHECKS, check, find
from ..data.load import LOADING, applicable, load
from ..errors import ByheartError
from ..machine.watch import Watch
from ..models.folder.read import open as open_folder
from ..models.source import stored
from ..models.verification import ACCEPTED, checked_accept
from ..theory.madden2024.balls import FUNCTIONS
from ..theory.papers import cited
from .options import (
    Accept,
    Command,
    Json,
    Loading,
    MethodOptions,
    Seed,
    beginning,
    option,
    reading,
    spread,
)
from .output import STYLES, finish, number, plural, sentences
from .progress import watching

PLACES = ("model", "data")  # what stands on the command line without a flag, in this order
LISTS = ("coefficients", "inputs", "weights", "token_values", "position_values")
SINGLE = ("radius", "distance", "delta")
NUMBER = re.compile(r"[+-]?[0-9]{1,60}(/[0-9]{1,60}|(\.[0-9]{0,60})?(e[+-]?[0-9]{1,3})?)")
OPTIONS = (
    (str, "coefficients", "Of the polynomial: of 1, x, x^2, ...", "C,..."),
    (str, "activation", f"{', '.join(FUNCTIONS)}.", "NAME"),
    (str, "inputs", "Numbers of the contexts, b.", "X,..."),
    (str, "weights", "Weights of the neurons, a; drawn if not given.", "W,..."),
    (int, "neurons", "How many weights to draw (default: as many as inputs).", "M"),
    (str, "token-values", "z, one per token; drawn if not given.", "Z,..."),
    (str, "position-values", "u, one per position; drawn if not given.", "U,..."),
    (int, "vocabulary", "Number of tokens, if there is no data.", "N"),
    (int, "contexts", "Number of contexts, if there is no data.", "T"),
    (int, "dimension", "Dimension of embedded tokens.", "D"),
    (int, "heads", "Number of heads.", "H"),
    (int, "head-dimension", "Dimension of queries, keys and values [D].", "D"),
    (str, "radius", "r: the largest norm, or id, that is allowed.", "R"),
    (str, "distance", "delta: the smallest distance that is allowed.", "D"),
    (bool, "every", "Ids of all tokens, or of the last (default: where the model answers).", None),
    (str, "delta", "delta of eq. (16) [1/10].", "D"),
)


def command_for(arguments: Sequence[str]) -> Command:
    """The command; its help lists the options of the check that the arguments name."""
    name = next((word for word in arguments if word in CHECKS), None)
    own = CHECKS[name].takes if name else ()
    options = tuple(
        option(
            f"What {name} takes" if name else None,
            kind | None,
            flag,
            help,
            metavar=metavar,
            hidden=flag.replace("-", "_") not in own,
        )
        for kind, flag, help, metavar in OPTIONS
    )
    made = reading(functools.partial(spread, place="chosen", options=options)(command))
    if name:
        found = CHECKS[name]
        about = f"{cited(found.paper)}, {found.item}: {found.says}"
        made.__doc__ = f"{about}\n\nExample: byheart check {name} {found.example}"
    return made


def command(
    loading: Loading,
    chosen: MethodOptions,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="madden-theorem-2, separation, ...",
            autocompletion=beginning(CHECKS),
        ),
    ] = None,
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR] [DATA]", help="A model folder, a data file: as NAME needs."),
    ] = None,
    numbers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=".json or .npz with lists named as the options are."),
    ] = None,
    accept: Accept = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Check a statement of a paper on your own numbers, data or model. Without NAME, list them.

    Numbers are exact: 0.1 is 1/10, and 2/7 is a number too.

    Exit codes: 0 it holds, 1 it does not hold or is not decided, 2 bad input.
    """
    if name is None:
        finish({"rows": [row(each) for each in CHECKS]}, json, listing)
        return
    accepted = checked_accept(accept or ())
    takes = find(name).takes
    given = {key: value for key, value in chosen.items() if value is not None}
    for key in given:
        if key not in takes:
            flags = [f"--{x.replace('_', '-')}" for x in takes if x not in PLACES]
            listed = f"; it takes {', '.join(flags)}" if flags else ""
            raise ByheartError(f"{name} takes no --{key.replace('_', '-')}{listed}.")
    for key in LISTS:
        if key in given:
            given[key] = number_list(given[key], key)
    for key in SINGLE:
        if key in given:
            (given[key],) = number_list(given[key], key, single=True)
    for key, values in (numbers_of(numbers) if numbers is not None else {}).items():
        if key in given:
            raise ByheartError(f"{numbers} holds {key}, which is also on the command line.")
        given[key] = values
    if "seed" in takes:
        given["seed"] = seed
    with watching() as watch:
        read = opened(name, places or [], loading, given, watch)
        watch.stage("checking")
        found = check(name, **given)
    finish({**found.json(), "accepted": list(accepted), "reading": read}, json, view)
    if found.evidence not in ("proved", *accepted):
        raise typer.Exit(1)


def opened(
    name: str, places: Sequence[Path], loading: Loading, given: dict[str, Any], watch: Watch
) -> dict | None:
    """Put the model and the data among what is given, and return how the data was read.

    The model says how text is split into tokens if the command line does not; nothing else that it
    records changes how the file is read.
    """
    takes = find(name).takes
    wanted = [x for x in PLACES if x in takes]
    if len(places) > len(wanted):
        raise ByheartError(f"{name} takes {len(wanted)} files or folders, not {len(places)}.")
    if "length" in takes and not places:
        given["length"], loading = loading["length"], {**loading, "length": None}
    named = dict(zip(wanted, places, strict=False))
    how = dict(loading)
    if "model" in named:
        watch.stage("opening")
        given["model"] = open_folder(named["model"])
        if how["unit"] == "word" and how["tokenizer"] is None:
            split = {k: v for k, v in stored(given["model"]).items() if k in ("unit", "tokenizer")}
            how |= applicable(named["data"], split) if "data" in named else {}
    for place in wanted[len(places) :]:
        if place in find(name).required:
            what = {"model": "a model folder", "data": "a data file"}[place]
            usage = " ".join([name, *({"model": "DIR", "data": "DATA"}[x] for x in wanted)])
            raise ByheartError(f"{name} needs {what}: byheart check {usage}.")
    if "data" not in named:
        for x in LOADING:
            if loading[x.name] not in (x.default, None, ()):
                raise ByheartError(f"--{x.name} is for a data file, and none was named.")
        return None
    watch.stage("loading")
    given["data"] = load(named["data"], **how)
    options = {k: str(v) if isinstance(v, Path) else v for k, v in given["data"].loading.items()}
    return {"file": str(named["data"]), "sequences": len(given["data"]), "options": options}


def number_list(text: str, name: str, single: bool = False) -> list[Fraction]:
    """The numbers of a list such as 1,-0.5,2/7, exactly.

    >>> number_list("1, -0.5,2/7", "inputs")
    [Fraction(1, 1), Fraction(-1, 2), Fraction(2, 7)]
    """
    words = [word.strip() for word in text.split(",")]
    good = all(NUMBER.fullmatch(word) and not re.search(r"/0+$", word) for word in words)
    if not good or single and len(words) > 1:
        what = "a number such as 2/7" if single else "a list of numbers such as 1,-0.5,2/7"
        raise ByheartError(f"--{name.replace('_', '-')} must be {what}, not {text!r}.")
    return [Fraction(word) for word in words]


def numbers_of(path: Path) -> dict[str, list[Fraction]]:
    """Lists of numbers by name, from a .json object of lists or the arrays of an .npz file."""
    found: dict[str, Any] = {}
    if path.suffix.lower() == ".npz":
        import numpy as np

        from ..data.readers.npz import DAMAGED

        try:
            with np.load(path, allow_pickle=False) as archive:
                found = {name: archive[name].ravel().tolist() for name in archive.files}
        except (*DAMAGED, zipfile.BadZipFile):
            raise ByheartError(f"{path} is not an .npz file of plain arrays of numbers.") from None
    elif path.suffix.lower() == ".json":
        try:
            found = decoder.loads(path.read_text("utf-8"), parse_float=str, parse_int=str)
        except (ValueError, RecursionError):
            raise ByheartError(f"{path} is not a JSON file.") from None
    else:
        raise ByheartError(f"{path}: the name must end in .json or .npz.")
    if not isinstance(found, dict) or not all(isinstance(x, list) for x in found.values()):
        raise ByheartError(f'{path} must be an object of lists, such as {{"inputs": [1, 2]}}.')
    for name in found:
        if name not in LISTS:
            raise ByheartError(f"{path} holds {name!r}; lists are named {', '.join(LISTS)}.")
    lists: dict[str, list[Fraction]] = {}
    for name, values in found.items():
        try:
            lists[name] = [
                number_list(x, name, single=True)[0] if isinstance(x, str) else Fraction(x)
                for x in values
            ]
        except (ValueError, TypeError, OverflowError):
            raise ByheartError(f"{path}: {name} must be a list of finite numbers.") from None
    return lists


def row(name: str) -> dict:
    """A check as the list shows it."""
    found = CHECKS[name]
    return {
        "check": name,
        "paper": found.paper,
        "item": found.item,
        "says": found.says,
        "needs": found.needs,
        "example": f"byheart check {name} {found.example}",
    }


def listing(answer: dict) -> Group:
    parts: list[RenderableType] = []
    for found in answer["rows"]:
        about = [
            ("", found["says"]),
            ("needs", found["needs"]),
            ("example", found["example"]),
        ]
        title = Text(found["check"], style="bold").append(
            f"  {cited(found['paper'])}, {found['item']}", "not bold dim"
        )
        parts += [title, sentences(about), Text()]
    return Group(*parts[:-1])


def view(answer: dict) -> Group:
    """The verdict, the counterexample, how the data was read, and what was computed."""
    word = answer["evidence"]
    line = Text(word or "not decided", style=STYLES.get(word, "yellow"))
    line.append(f"  {answer['detail']}", "not bold default")
    parts: list[RenderableType] = [
        Text(f"{cited(answer['paper'])}, {answer['item']}: {answer['says']}", style="dim"),
        line,
    ]
    if word in ACCEPTED and word not in answer["accepted"]:
        parts.append(Text(f"that is no proof; --accept {word} takes it for enough"))
    if answer["counterexample"] is not None:
        shown = [(worded(key), spelt(value)) for key, value in answer["counterexample"].items()]
        parts += [Text("counterexample", style="bold"), sentences(shown)]
    known = {key: value for key, value in answer["facts"].items() if value is not None}
    parts.append(sentences((worded(key), spelt(value)) for key, value in known.items()))
    read = answer["reading"]
    if read is not None:
        how = " ".join(f"--{key} {value}" for key, value in read["options"].items())
        options = f" read with {how}" if how else ""
        parts.append(
            Text(f"{read['file']}: {plural(read['sequences'], 'sequence')}{options}", "dim")
        )
    return Group(*parts)


def worded(key: str) -> str:
    return key.replace("_", " ")


def spelt(value: Any) -> str:
    """Numbers and words side by side; a list within a list in brackets.

    >>> spelt([["a", 1], ["b", 2]]), spelt([1, "2/7"]), spelt({"place": "sequence 1"})
    ('[a, 1], [b, 2]', '1, 2/7', 'place: sequence 1')
    """
    if isinstance(value, dict):
        return "; ".join(f"{worded(key)}: {spelt(x)}" for key, x in value.items() if x is not None)
    if isinstance(value, list):
        return ", ".join(f"[{spelt(x)}]" if isinstance(x, list) else spelt(x) for x in value)
    return number(value)
