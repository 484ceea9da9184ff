"""How a command gets its options: rows that are written into its signature, which typer reads."""

import csv
import inspect
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer
from rich.markup import escape
from typer.core import HAS_RICH

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
    look |= {"help": literal(help), "metavar": metavar, **completed(names)}
    return _parameter(name, kind, default, typer.Option(first, *others, **look))


KINDS: dict[str, Any] = {x.__name__: x for x in (str, int, float, bool, Path)}
KINDS |= {"flag": bool, "list[str]": list[str], "list[Path]": list[Path]}


def listed(
    command: str, taken: Container[str] | None = None, words: str = "", **look: Any
) -> tuple[inspect.Parameter, ...]:
    """The options that options.csv has for a command; all but those `taken` are hidden.

    words  what stands for {words} in a help
    """
    text = Path(__file__).with_name("options.csv").read_text("utf-8")
    options = []
    for row in csv.DictReader(text.splitlines()):
        if row["command"] != command:
            continue
        kind: Any = KINDS[row["type"]]
        default = kind(row["default"]) if row["default"] or row["type"] == "flag" else None
        settings: dict[str, Any] = {"flags": tuple(row["flags"].split()), **look}
        if taken is not None:
            settings["hidden"] = row["name"] not in taken
        settings |= dict(zip(("min", "max"), map(int, row["limits"].split()), strict=False))
        help, metavar = row["help"].format(words=words), row["metavar"] or None
        options.append(option(row["name"], help, kind, default, metavar, **settings))
    return tuple(options)


def argument(
    name: str,
    help: str,
    kind: Any = Path,
    default: Any = REQUIRED,
    metavar: str | None = None,
    names: Iterable[str] = (),
) -> inspect.Parameter:
    """What stands on the command line without a flag."""
    about = typer.Argument(metavar=metavar or name.upper(), help=literal(help), **completed(names))
    return _parameter(name, kind, default, about)


def _parameter(name: str, kind: Any, default: Any, about: Any) -> inspect.Parameter:
    only = inspect.Parameter.KEYWORD_ONLY
    if default is None and get_origin(kind) is list:
        default = []
    kind = kind | None if default is None else kind
    return inspect.Parameter(name, only, default=default, annotation=Annotated[kind, about])


def literal(help: str) -> str:
    """The help as typer shows it word for word: rich takes [studio] for a style, and drops it."""
    return escape(help) if HAS_RICH else help


def completed(names: Iterable[str]) -> Values:
    """The completion of a word by the shell: the names that begin with it.

    Where nothing does, and for paths, the shell completes the names of files by itself.
    """
    known = tuple(dict.fromkeys(names))

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return {"autocompletion": complete} if known else {}


def flag(name: str, help: str, **look: Any) -> inspect.Parameter:
    return option(name, help, bool, False, **look)


JSON = flag("json", "Print one JSON object.")
FORCE = flag("force", "Replace existing output.")
DIRECTORY = argument("model", "A model folder.", metavar="DIR")
OUTPUT = ("-o", "--output")
