"""benchmark: methods of other people on models whose truth is known."""

from functools import partial
from pathlib import Path
from typing import Any

from ..api.benchmark import LIMIT, benchmark, table
from ..api.scoring.methods import TASKS
from ..errors import ByheartError
from ..views.benchmark import draw, view
from . import options
from .declaring import argument, option, taking
from .output import answer


@taking(
    argument("task", f"{', '.join(TASKS)}; or a file of rows to show.", str, names=TASKS),
    argument("pack", "A folder that byheart generate pack wrote.", Path, None, "[PACK]"),
    option(
        "method",
        "FILE.py:FUNCTION, whose code is run; exact (the exact operation) or random; repeatable.",
        list[str],
        metavar="METHOD",
        names=("exact", "random"),
    ),
    option("output", "Add rows here; those that it has are kept.", Path, None, "FILE",
           flags=options.OUTPUT),
    option("limit", "All calls of a method.", float, LIMIT, "SECONDS"),
    options.SEED,
    *options.PICTURE,
)  # fmt: skip
def command(
    task: str, pack: Path | None, method: list[str], output: Path | None, limit: float, seed: int,
    **how: Any,
) -> None:  # fmt: skip
    """Score a method that locates, edits, unlearns, extracts or attributes, where truth is known.

    byheart benchmark locate PACK --method my_file.py:locate -o rows.jsonl scores a function of your
    file, whose code is run; nothing of the pack is executed. byheart benchmark rows.jsonl --plot
    picture.svg shows the rows of a file. A method that fails is a row that says so.
    """
    if pack is None and task.endswith(".jsonl"):
        if method or output is not None:
            raise ByheartError("a file of rows is only shown; leave out --method and -o.")
        answer(table, view, draw, path=task, **how)
        return
    if pack is None:
        raise ByheartError("name the folder of a pack; byheart generate pack single -o DIR.")
    verb = partial(benchmark, task, pack, method, output=output, limit=limit, seed=seed)
    answer(verb, view, draw, **how)
