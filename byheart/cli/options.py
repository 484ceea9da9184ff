"""The options of commands, those that several take written once, and how a command gets them."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

from .. import constructions
from ..claims.verification import PROVE_LIMIT as PROVE_SECONDS
from ..data import load
from ..data.contexts import RESOLUTIONS
from ..data.readers.raw import COMPRESSED
from ..errors import ByheartError

Command = Callable[..., None]
Values = dict[str, Any]
REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Group:
    """Options that a command gets after `fill`: as one dictionary, or one by one without a name."""

    name: str
    options: tuple[inspect.Parameter, ...] = ()
    fill: Callable[[Values], Values] = dict


def taking(*parts: inspect.Parameter | Group) -> Callable[[Command], Command]:
    """A decorator: the command with these options, in the order of its help.

    typer reads a command's options from its signature, so they are written into it.
    """
    groups = [part for part in parts if isinstance(part, Group)]
    members = [part.options if isinstance(part, Group) else (part,) for part in parts]

    def decorate(command: Command) -> Command:
        def run(**values: Any) -> None:
            for group in groups:
                members = {option.name: values.pop(option.name) for option in group.options}
                filled = group.fill(members)
                values |= {group.name: filled} if group.name else filled
            command(**values)

        run.__doc__ = command.__doc__
        signature = inspect.Signature([option for each in members for option in each])
        run.__signature__ = signature  # type: ignore[attr-defined]
        return run

    return decorate


def option(
    name: str,
    help: str,
    kind: Any = str,
    default: Any = None,
    metavar: str | None = None,
    *,
    flags: tuple[str, ...] = (),
    names: Iterable[str] = (),
    **look: Any,
) -> inspect.Parameter:
    """One option of a command; the shell completes `names`, and None stands for no value."""
    flag = f"--{name.replace('_', '-')}"
    both = f"{flag}/--no-{flag[2:]}" if kind is bool and default is not False else flag
    first, *others = flags or (both,)
    look |= {"help": help, "metavar": metavar, **completed(names)}
    return _parameter(name, kind, default, typer.Option(first, *others, **look))


def argument(
    name: str,
    help: str,
    kind: Any = Path,
    default: Any = REQUIRED,
    metavar: str | None = None,
    names: Iterable[str] = (),
) -> inspect.Parameter:
    """What stands on the command line without a flag."""
    about = typer.Argument(metavar=metavar or name.upper(), help=help, **completed(names))
    return _parameter(name, kind, default, about)


def _parameter(name: str, kind: Any, default: Any, about: Any) -> inspect.Parameter:
    only = inspect.Parameter.KEYWORD_ONLY
    if default is None and get_origin(kind) is list:
        default = []
    kind = kind | None if default is None else kind
    return inspect.Parameter(name, only, default=default, annotation=Annotated[kind, about])


def completed(names: Iterable[str]) -> Values:
    """The completion of a word by the shell: the names that begin with it.

    Where nothing does, and for paths, the shell completes the names of files by itself.
    """
    known = tuple(dict.fromkeys(names))

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return {"autocompletion": complete} if known else {}


def flag(name: str, help: str, **look: Any) -> inspect.Parameter:
    """An option without a value."""
    return option(name, help, bool, False, **look)


def with_models(help: str) -> inspect.Parameter:
    return option("models", help, list[Path], metavar="DIR", flags=("--with",))


def either(names: Sequence[str]) -> str:
    """The names in a sentence: a, b or c."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def given(values: Values) -> Values:
    """The options that have a value."""
    return {name: value for name, value in values.items() if value not in (None, [], ())}


METHODS = constructions.METHODS
JSON = flag("json", "Print one JSON object.")
FORCE = flag("force", "Replace existing output.")
SEED = option("seed", "Random seed.", int, 0, "N", min=0)
DATA = argument(
    "data",
    f"{' '.join(load.FILES)}, also with {' '.join(COMPRESSED)}; a folder of texts or of "
    "Hugging Face datasets; - for standard input.",
)
DIRECTORY = argument("model", "A model folder.", metavar="DIR")
OUTPUT = ("-o", "--output")
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


_READ = "How the file is read"
READING = Group(  # what byheart.load takes beside the path
    "loading",
    tuple(
        option(x.name, x.help, x.type, x.default or None, x.metavar, rich_help_panel=_READ)
        for x in load.LOADING
    ),
    lambda values: {**values, "input": tuple(values["input"] or ())},
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
    """An option that is a list of whole numbers."""
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
