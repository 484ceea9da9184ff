"""methods: the constructions, as their file headers describe them."""

from rich.console import Group, RenderableType
from rich.text import Text

from ..commands import models
from .options import Json
from .output import codes, finish, sentences


def command(json: Json = False) -> None:
    """The constructions: paper, assumptions, guarantee."""
    finish(models.methods(), json, view)


def view(answer: dict) -> Group:
    parts: list[RenderableType] = []
    for row in answer["rows"]:
        name = row["method"] + (f" --form {row['form']}" if row["form"] else "")
        about = [("paper", f"{row['paper']}, {row['item']}")]
        about += [(key, codes(row[key])) for key in ("assumptions", "guarantee")]
        parts += [Text(name, style="bold"), sentences(about), Text()]
    return Group(*parts[:-1])
