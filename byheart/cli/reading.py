"""The options that say how a file is read, for every command that reads one."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

Loading = dict[str, Any]  # what byheart.load takes beside the path


def _option(kind: Any, name: str, help: str, default: object = None) -> inspect.Parameter:
    panel = typer.Option(f"--{name}", help=help, rich_help_panel="How the file is read")
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=Annotated[kind, panel],
    )


OPTIONS = (
    _option(list[str] | None, "input", "Tables: a column of words; may be repeated."),
    _option(str | None, "label", "Tables: the column of labels."),
    _option(str, "unit", "Text: word or char.", "word"),
    _option(Path | None, "tokenizer", "Text: a tokenizer.json."),
    _option(str, "documents", "Text: auto, separator, blank, line or whole.", "auto"),
    _option(int | None, "length", "Cut documents to so many tokens."),
    _option(str | None, "window", "Look back so many tokens; auto: as few as leave no conflict."),
    _option(str, "dtype", ".bin: uint16 or uint32.", "uint16"),
    _option(int | None, "separator", ".bin: the id that ends a document."),
)


def reading(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in the place of its parameter `loading`, which gets them.

    typer reads a command's options from its signature, so they are written into it.
    """
    own = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        loading = {option.name: given.pop(option.name) for option in OPTIONS}
        loading["input"] = tuple(loading["input"] or ())
        command(**given, loading=loading)

    parameters: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        parameters += OPTIONS if parameter.name == "loading" else (parameter,)
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
