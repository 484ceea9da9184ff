"""reproduce: the figures of the papers, drawn from rows that were really trained."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..lab.workers import Workers, rows_of
from ..machine.watch import SILENT, Watch

if TYPE_CHECKING:
    from ..reproduce.figure import Figure, Part, RowsByLabel, Settings

ENDINGS = (".svg", ".png")
TRAINED = "--train or --quick"
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Asked:
    """What to do.

    rows    DIR/NAME/LABEL/rows.jsonl holds the rows of a part
    output  DIR/NAME/NAME.svg is written; None: beside the rows
    train   train first what the rows lack
    """

    rows: Path
    output: Path | None
    train: bool
    settings: "Settings"

    def name(self, figure: "Figure") -> str:
        """The folder of a figure; a quick version has its own."""
        return figure.name + ("-quick" if self.settings.quick else "")


def reproduce(
    names: Sequence[str] = (),
    *,
    everything: bool = False,
    rows: str | Path = "results",
    output: str | Path | None = None,
    train: bool = False,
    quick: bool = False,
    data: str | Path | None = None,
    seeds: int | None = None,
    workers: Workers = Workers(),  # noqa: B008 - frozen
    watch: Watch = SILENT,
) -> dict:
    """Draw figures from their rows; with `train` or `quick`, train first what the rows lack.

    With `everything`, figures without rows are named and left out.
    """
    from ..reproduce.figure import Settings

    figures = _chosen(names, everything)
    _check(train or quick, data, seeds, workers)
    settings = Settings(quick, _source(data), seeds)
    asked = Asked(Path(rows), None if output is None else Path(output), train or quick, settings)
    for figure in figures:
        _check_pictures(asked, figure)
    if asked.train:
        _train(figures, asked, workers, watch)
    watch.stage("drawing")
    found = {figure.name: figure.own(_rows(asked.rows / asked.name(figure))) for figure in figures}
    missing = [name for name, there in found.items() if not there]
    if missing and (not everything or len(missing) == len(figures)):
        raise ByheartError(_advice(missing, asked))
    drawn = [_drawn(figure, found[figure.name], asked) for figure in figures if found[figure.name]]
    return {"figures": drawn, "missing": missing}


def _chosen(names: Sequence[str], everything: bool) -> "list[Figure]":
    from ..reproduce import FIGURES

    known = {figure.name: figure for figure in FIGURES}
    if everything == bool(names):
        raise ByheartError(f"name a figure or give --all; there are: {', '.join(known)}.")
    for name in names:
        if name not in known:
            raise ByheartError(f"there is no figure {name!r}; there are: {', '.join(known)}.")
    return [known[name] for name in dict.fromkeys(names)] if names else list(FIGURES)


def _check(trains: bool, data: object, seeds: int | None, workers: Workers) -> None:
    given = {"--data": data, "--seeds": seeds, "--jobs": workers.jobs}
    for option, value in given.items():
        if value is not None and not trains:
            raise ByheartError(f"{option} is for training: give {TRAINED} as well.")
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise ByheartError(f"--seeds is 1 to {MOST_SEEDS:,}, not {seeds:,}.")


def _source(data: str | Path | None) -> Path | str | None:
    from ..reproduce.data import HUGGING_FACE

    return data if data is None or str(data) == HUGGING_FACE else Path(data)


def _pictures(asked: Asked, figure: "Figure") -> list[Path]:
    name = asked.name(figure)
    return [(asked.output or asked.rows) / name / f"{name}{ending}" for ending in ENDINGS]


def _check_pictures(asked: Asked, figure: "Figure") -> None:
    from ..pictures import check_picture

    for path in _pictures(asked, figure):
        check_picture(path)


def _advice(missing: list[str], asked: Asked) -> str:
    return (
        f"{asked.rows} holds no rows of {missing[0]}; name another folder with --rows DIR, or "
        f"train: {TRAINED}."
    )


def _rows(folder: Path) -> "RowsByLabel":
    """The rows of each part that has some."""
    from ..lab.sweeps.rows import checked

    labels = sorted(path.parent.name for path in folder.glob("*/rows.jsonl"))
    found = {label: checked(folder / label) for label in labels}
    return {label: rows for label, rows in found.items() if rows}


def _train(figures: "Sequence[Figure]", asked: Asked, workers: Workers, watch: Watch) -> None:
    """Train what the rows lack. All data is read first, so that what is missing is said at once."""
    watch.stage("loading")
    parts = {asked.name(figure): figure.sweeps(asked.settings) for figure in figures}
    for name, several in parts.items():
        for part in several:
            watch.note(f"{name}, {part.label}")
            _trained(part, asked.rows / name / part.label, workers, watch)


def _trained(part: "Part", folder: Path, workers: Workers, watch: Watch) -> None:
    """Run the trials of a part that its folder lacks."""
    from ..lab.material import Material

    sweep = replace(part.sweep, data={"sequences": len(part.dataset), **part.sweep.data})
    material = Material(part.dataset, sweep.architecture, sweep.data.get("loss") == "squared")
    rows_of(sweep, material, folder, workers, watch)


def _drawn(figure: "Figure", rows: "RowsByLabel", asked: Asked) -> dict:
    """Write the pictures, and say what is on them."""
    from ..pictures import write
    from ..reproduce.figure import censored, picture, trainings

    files = _pictures(asked, figure)
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(partial(picture, figure), dict(rows), path)
    return {
        **{key: getattr(figure, key) for key in ("name", "title", "paper")},
        "trials": len(trainings(rows)),
        "censored": censored(rows),
        "fits": [fit.json() for fit in figure.fits(rows)],
        "caption": figure.caption(rows),
        "files": [str(path) for path in files],
    }
