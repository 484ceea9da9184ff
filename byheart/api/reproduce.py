"""reproduce: the figures of the papers, drawn from rows that were really trained."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..claims.result import Result, picked
from ..errors import ByheartError
from ..figures import FIGURES
from ..figures.data import HUGGING_FACE
from ..figures.figure import Figure, Settings, Table, censored, picture, trainings
from ..figures.fits import Fit
from ..lab.material import Material
from ..lab.sweeps.rows import checked
from ..lab.workers import rows_of
from ..machine.engines import Workers
from ..machine.watch import SILENT, Watch
from ..pictures import ENDINGS, check_picture, write

MOST_SEEDS = 1000
HERE = "results"


@dataclass(frozen=True)
class Redrawn:
    """A figure that was drawn."""

    figure: Figure
    trials: int  # the number of trainings behind it
    censored: int  # how many of them did not reach their criterion
    fits: tuple[Fit, ...]  # the laws that were fitted, ours and the published numbers'
    caption: str  # what is drawn, what is censored and what differs from the paper
    table: Table  # the numbers, ours beside the published ones
    files: tuple[Path, ...]

    def json(self) -> dict:
        figure = picked(self.figure, "name title paper")
        return {**figure, **picked(self, "trials censored fits caption table files")}


@dataclass(frozen=True)
class Reproduction(Result):
    """The figures that were drawn, and the names of those that have no rows."""

    figures: tuple[Redrawn, ...]
    missing: tuple[str, ...]


def own_rows() -> Path:
    """The rows that lie beside the package in a checkout; an installed wheel has none."""
    return Path(__file__).resolve().parents[2] / HERE


def reproduce(
    names: Sequence[str] | None = None,
    *,
    rows: str | Path | None = None,
    output: str | Path | None = None,
    train: bool = False,
    quick: bool = False,
    data: str | Path | None = None,
    seeds: int | None = None,
    workers: Workers = Workers(),  # noqa: B008 - frozen
    watch: Watch = SILENT,
) -> Reproduction:
    """Draw figures from their rows; with `train` or `quick`, train first what the rows lack.

    Args:
        names: The figures, such as "madden-1". None draws all that have rows.
        rows: The folder of rows: those of a part are in `rows/NAME/LABEL/rows.jsonl`. None takes
            the folder results here or, where there is none, that of byheart's own checkout.
        output: The folder of pictures, `output/NAME/NAME.svg`, or the file of one figure's picture.
            None writes them beside the rows, or here if the rows are those of the checkout.
        train: Train what is missing; resumes where an earlier run stopped.
        quick: Train a small version, whose folder is `NAME-quick`.
        data: To train on: a file, a folder of files, or "huggingface".
        seeds: To train with. None takes the figure's default.
        workers: Where trials run.
        watch: Receives the progress.

    Returns:
        Each figure with its caption, fits and files; the names of figures without rows.

    Raises:
        ByheartError: A figure is unknown, named and has no rows, or none at all has rows.

    Example:
        >>> import byheart
        >>> try:
        ...     byheart.reproduce(["madden-1"], rows="elsewhere")
        ... except byheart.ByheartError as refusal:
        ...     print(str(refusal).partition(";")[0])
        elsewhere holds no rows of madden-1
    """
    chosen, rows = rows, Path(HERE if rows is None else rows)
    if chosen is None and not rows.is_dir() and not (train or quick) and own_rows().is_dir():
        rows, output = own_rows(), HERE if output is None else output
    known = {figure.name: figure for figure in FIGURES}
    for name in known if names is None else names:
        if name not in known:
            raise ByheartError(f"there is no figure {name!r}; there are: {', '.join(known)}.")
    figures = [known[name] for name in dict.fromkeys(known if names is None else names)]
    for option, value in (("data", data), ("seeds", seeds), ("jobs", workers.jobs)):
        if value is not None and not (train or quick):
            raise ByheartError(f"{option} is only for training: add `train=True` or `quick=True`.")
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise ByheartError(f"`seeds` must be 1 to {MOST_SEEDS:,}, not {seeds:,}.")

    folders = {one.name: one.name + ("-quick" if quick else "") for one in figures}
    files = {
        name: tuple(Path(output or rows, folder, folder + ending) for ending in ENDINGS)
        for name, folder in folders.items()
    }
    if output is not None and Path(output).suffix in ENDINGS:
        if len(files) != 1:
            raise ByheartError("a picture is of one figure: name one, or a folder for all.")
        files = {name: (Path(output),) for name in files}
    for paths in files.values():
        for path in paths:
            check_picture(path)
    if train or quick:
        watch.stage("loading")  # all data first, so that a missing file is reported at once
        source = data if data is None or str(data) == HUGGING_FACE else Path(data)
        settings = Settings(quick, source, seeds)
        trained = [(folders[one.name], part) for one in figures for part in one.parts(settings)]
        for folder, part in trained:
            watch.note(f"{folder}, {part.label}")
            sweep = replace(part.sweep, data={"sequences": len(part.dataset), **part.sweep.data})
            squared = sweep.data.get("loss") == "squared"
            material = Material(part.dataset, sweep.architecture, squared)
            rows_of(sweep, material, Path(rows, folder, part.label), workers, watch)

    watch.stage("drawing")
    every, drawable = {}, {}
    for figure in figures:
        parts = sorted(Path(rows, folders[figure.name]).glob("*/rows.jsonl"))
        by_label = {path.parent.name: checked(path.parent) for path in parts}
        every[figure.name] = {label: x for label, x in by_label.items() if x}
        drawable[figure.name] = figure.own(every[figure.name])
    missing = tuple(name for name, some in drawable.items() if not some)
    if missing and (names is not None or len(missing) == len(figures)):
        raise ByheartError(
            f"{rows} holds no rows of {missing[0]}; name another folder with `rows=...` (that of "
            "byheart's repository is results), or train with `train=True` or `quick=True`."
        )
    drawn = []
    for figure in figures:
        if some := drawable[figure.name]:
            for path in files[figure.name]:
                path.parent.mkdir(parents=True, exist_ok=True)
                write(partial(picture, figure), dict(some), path)
            table, fits = figure.table(some), tuple(figure.fits(some))
            counts = (len(trainings(some)), censored(some))
            caption = figure.caption(every[figure.name])
            drawn.append(Redrawn(figure, *counts, fits, caption, table, files[figure.name]))
    return Reproduction(tuple(drawn), missing)
