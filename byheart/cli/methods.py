"""methods: the constructions, as their file headers describe them, and their options."""

from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ..compiler.methods import methods
from ..theory.papers import cited
from .options import METHODS, Json, type_of
from .output import codes, finish, sentences


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="One method, with its options.", autocompletion=METHODS
        ),
    ] = None,
    json: Json = False,
) -> None:
    """The constructions: paper, assumptions, guarantee. With NAME, the options of one."""
    table = methods(name)
    answer = table.json()
    if name is not None:
        for row, method in zip(answer["rows"], table, strict=True):
            row["options"] = [
                {
                    "name": option,
                    "type": type_of(method.construction, option).__name__,
                    "default": field.default,
                    "choices": list(field.metadata["option"].choices),
                    "help": field.metadata["option"].help,
                }
                for option, field in method.construction.options().items()
            ]
    finish(answer, json, view)


def view(answer: dict) -> Group:
    parts: list[RenderableType] = []
    for row in answer["rows"]:
        name = row["method"] + (f" --form {row['form']}" if row["form"] else "")
        about = [("paper", cited(f"{row['paper']}, {row['item']}"))]
        about += [(key, codes(row[key])) for key in ("assumptions", "guarantee")]
        parts += [Text(name, style="bold"), sentences(about), Text()]
        if "options" in row:
            flags = []
            for option in row["options"]:
                dashed = option["name"].replace("_", "-")
                choices = f" {' | '.join(option['choices'])}." if option["choices"] else ""
                flags.append((f"--{dashed}", f"{option['help']}{choices}"))
            parts += [sentences(flags), Text()]
    return Group(*parts[:-1])
