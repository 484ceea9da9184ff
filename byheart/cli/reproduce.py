"""reproduce: figures of the papers from trained rows."""

from pathlib import Path
from typing import Any

from ..api.reproduce import reproduce
from ..errors import ByheartError
from ..figures import FIGURES
from ..machine.engines import Workers
from ..views.reproduce import view
from .declaring import JSON, OUTPUT, argument, flag, option, taking
from .output import answer

PICTURES = "A folder for the pictures (default: beside the rows), or one .svg, .png or .pdf."
NAMES = tuple(figure.name for figure in FIGURES)


@taking(
    argument("names", "madden-1, dana-1a, ...", list[str], None, "NAME", NAMES),
    flag("everything", "Every figure that has rows.", flags=("--all",)),
    option("rows", "DIR/NAME/LABEL/rows.jsonl [results].", Path, None, "DIR"),
    option("output", PICTURES, Path, None, "DIR", flags=(*OUTPUT, "--plot")),
    flag("train", "Train what the rows lack; resumes where it stopped."),
    flag("quick", "Train a small version, in DIR/NAME-quick."),
    option("data", "Training data: a file, a folder, or huggingface.", metavar="FILE"),
    option("seeds", "Seeds to train (default: the figure's own).", int),
    option("jobs", "Training processes (default: one per core).", int),
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
