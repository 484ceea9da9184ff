"""reproduce: figures of the papers from trained rows."""

from pathlib import Path
from typing import Any

from ..api.reproduce import reproduce
from ..errors import ByheartError
from ..figures import FIGURES
from ..machine.engines import Workers
from ..views.reproduce import view
from .declaring import JSON, argument, listed, taking
from .output import answer

NAMES = tuple(figure.name for figure in FIGURES)


@taking(
    argument("names", "madden-1, dana-1a, ...", list[str], None, "NAME", NAMES),
    *listed("reproduce"),
    JSON,
)
def command(
    names: list[str], everything: bool, rows: Path | None, jobs: int | None, **how: Any
) -> None:
    """Redraw figures of the papers from trained rows, beside published numbers and bounds.

    Drawing needs the rows alone. Training is for --train and --quick.
    """
    if everything == bool(names):
        known = ", ".join(NAMES)
        raise ByheartError(f"name figures or give --all, not both; there are: {known}.")
    how |= {"names": names or None, "rows": rows, "workers": Workers(jobs=jobs)}
    answer(reproduce, view, each="training", kept=rows or Path("results"), **how)
