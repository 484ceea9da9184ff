"""Options that several commands take, each written once."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import constructions
from ..data import load
from ..data.contexts import RESOLUTIONS
from ..data.readers.raw import COMPRESSED
from ..errors import ByheartError


def beginning(names: Iterable[str]) -> Callable[[str], list[str]]:
    """The completion of a word by the shell: the names that begin with it.

    Where nothing does, and for paths, the shell completes the names of files by itself.
    """
    known = tuple(dict.fromkeys(names))

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


METHODS = beginning(constructions.METHODS)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Random seed.")]
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help=f"{' '.join(load.FILES)}, also with {' '.join(COMPRESSED)}; a folder of texts or of "
        "Hugging Face datasets; - for standard input.",
    ),
]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder.")]
NewFolder = Annotated[Path, typer.Option("-o", "--output", help="The model folder to write.")]
WriteData = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the data that the new model holds, as .jsonl (documents of a stock "
        "checkpoint: .txt).",
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        help="Form of the method: small (ours) or faithful (the paper's).",
        autocompletion=beginning(("small", "faithful")),
    ),
]
Positions = Annotated[
    bool | None,
    typer.Option("--positions/--no-positions", help="Order counts (default: for words)."),
]
OnConflict = Annotated[
    str,
    typer.Option(
        help=f"Two labels for one context: {', '.join(RESOLUTIONS[:-1])} or {RESOLUTIONS[-1]}.",
        autocompletion=beginning(RESOLUTIONS),
    ),
]
Accept = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD", help="Evidence that is enough: sampled or observed."),
]
ProveLimit = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="Distributions: skip the proof if it would take longer."),
]
Jobs = Annotated[
    int | None, typer.Option(metavar="J", help="Processes of one thread (default: one per core).")
]
Address = Annotated[str | None, typer.Option(help="Address of the Ray cluster.")]
_drawn: dict[str, Any] = {"metavar": "FILE", "help": "Draw a picture: .svg, .png or .pdf."}
Picture = Annotated[Path | None, typer.Option("--plot", **_drawn)]
PictureOutput = Annotated[Path | None, typer.Option("--plot", "-o", "--output", **_drawn)]

Loading = dict[str, Any]  # what byheart.load takes beside the path
MethodOptions = dict[str, Any]  # options of a method, those that were given
Sizes = dict[str, Any]  # sizes of an architecture
Command = Callable[..., None]


def option(
    panel: str | None,
    kind: Any,
    name: str,
    help: str,
    default: object = None,
    metavar: str | None = None,
    hidden: bool = False,
) -> inspect.Parameter:
    """One option of a command, for `spread`."""
    flag = f"--{name}/--no-{name}" if kind in (bool, bool | None) else f"--{name}"
    made = typer.Option(flag, help=help, metavar=metavar, rich_help_panel=panel, hidden=hidden)
    place, only = name.replace("-", "_"), inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(place, only, default=default, annotation=Annotated[kind, made])


_reads = functools.partial(option, "How the file is read")
LOADING = tuple(
    _reads(x.type if x.default else x.type | None, x.name, x.help, x.default or None, x.metavar)
    for x in load.LOADING
)

_sizes = functools.partial(option, "Architecture (--length is its longest context as well)")
SIZES = (
    _sizes(int | None, "vocabulary", "Size of the vocabulary.", metavar="N"),
    _sizes(int | None, "dimension", "Dimension of embedded tokens.", metavar="D"),
    _sizes(int | None, "heads", "Heads per layer [1].", metavar="H"),
    _sizes(
        int | None, "head-dimension", "Dimension of queries, keys and values [D / H].", metavar="D"
    ),
    _sizes(int | None, "layers", "Layers [1].", metavar="L"),
    _sizes(int | None, "width", "Neurons per layer [4 D]; 0: none.", metavar="M"),
    _sizes(str | None, "attention", "softmax (default), hard or uniform."),
    _sizes(str | None, "activation", "relu (default), gelu, tanh, ..."),
    _sizes(int | None, "parameters", "Parameters, if you have counted them.", metavar="K"),
    _sizes(int | None, "bits", "Bits per parameter [32].", metavar="B"),
)


def sizing(command: Command) -> Command:
    """The command with the sizes of an architecture in the place of its parameter `sizes`."""
    return spread(command, "sizes", SIZES)


def repeating(command: Command) -> Command:
    """The command with the options of a file, those that were given, as its parameter `loading`.

    The others are as a model folder says.
    """

    def given(values: dict[str, Any]) -> Loading:
        return {name: value for name, value in values.items() if value not in (None, [], ())}

    panel = "How the file is read (default: as the folder says, if that leaves out nothing)"
    options = tuple(
        option(panel, x.type | None, x.name, x.help, None, x.metavar) for x in load.LOADING
    )
    return spread(command, "loading", options, given)


def reading(command: Command) -> Command:
    """The command with the options of a file in the place of its parameter `loading`."""

    def filled(given: dict[str, Any]) -> Loading:
        return {**given, "input": tuple(given["input"] or ())}

    return spread(command, "loading", LOADING, filled)


def building(command: Command, method: str | None, arguments: Sequence[str]) -> Command:
    """The command with the options of methods in the place of its parameter `chosen`.

    Those of the method that is named are in its help. Other methods are loaded only if the
    arguments contain an option that nothing else explains: it is accepted here and refused by
    `compile`, which says which methods take it.
    """
    forms = constructions.named(method) if method else []
    own = {name for construction in forms for name in construction.options()}
    flags = {word.partition("=")[0].replace("--no-", "--") for word in arguments}
    others = {*own, *inspect.signature(command).parameters, "help"}
    known = {f"--{name.replace('_', '-')}" for name in others}
    complete = all(flag in known for flag in flags if flag.startswith("--"))
    options: dict[str, inspect.Parameter] = {}
    for construction in forms if complete else (*forms, *constructions.ALL):
        for name, field in construction.options().items():
            about, kind = field.metadata["option"], construction.option_type(name) | None
            help = about.help + (f" {', '.join(about.choices)}." if about.choices else "")
            look = {"metavar": about.metavar, "hidden": name not in own}
            made = option(f"Options of {method}", kind, name.replace("_", "-"), help, **look)
            options.setdefault(name, made)

    def given(values: dict[str, Any]) -> MethodOptions:
        return {name: value for name, value in values.items() if value is not None}

    return spread(command, "chosen", tuple(options.values()), given)


def value_of(flag: str, arguments: Sequence[str]) -> str | None:
    """The value of a flag among the arguments of a command line that is not parsed yet."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None


def spread(
    command: Command,
    place: str,
    options: tuple[inspect.Parameter, ...],
    filled: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> Command:
    """The command with these options in the place of one parameter, which gets them.

    typer reads a command's options from its signature, so they are written into it.
    """
    own = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        group = {option.name: given.pop(option.name) for option in options}
        command(**given, **{place: filled(group)})

    parameters: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        kept = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        parameters += options if parameter.name == place else (kept,)
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


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
