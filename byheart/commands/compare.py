"""compare: every construction and bound for a dataset, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from .explain import checked_picture
from .folders import Models, opened, row

if TYPE_CHECKING:
    from ..compiler.comparing import Choice
    from ..data.dataset import Dataset


def compare(
    data: str | Path,
    *,
    loading: Mapping | None = None,
    sweep: str | None = None,
    build: bool = False,
    plot: str | Path | None = None,
    force: bool = False,
    watch: Watch = SILENT,
    positions: bool | None = None,
    on_conflict: str = "refuse",
    seed: int = 0,
    folders: Sequence[str | Path] = (),
) -> dict:
    """Rows for the data, or for growing beginnings of it; then `rows` are those of the longest.

    folders  of models to stand beside the constructions: trained ones, or any
    """
    from ..compiler.comparing import Choice
    from ..data.contexts import RESOLUTIONS
    from ..data.load import load
    from ..figures.compare import draw
    from ..pictures import write

    if on_conflict not in RESOLUTIONS:
        names = ", ".join(RESOLUTIONS)
        raise ByheartError(f"--on-conflict is one of {names}, not {on_conflict!r}.")
    picture, counts = checked_picture(plot, force), None if sweep is None else counts_of(sweep)
    watch.stage("loading")
    models = opened(folders)
    dataset = load(data, **(loading or {}))
    chosen = counts or [len(dataset)]
    if chosen[-1] > len(dataset):
        raise ByheartError(f"--sweep: the data has {len(dataset):,} sequences, not {chosen[-1]:,}.")
    choice = Choice(build, positions, on_conflict, seed)
    found = [_step(dataset, count, choice, models, watch) for count in chosen]
    answer = {
        "dataset": {"name": Path(data).name, **found[-1]["dataset"]},
        "built": build,
        "rows": found[-1]["rows"],
        "sweep": [] if counts is None else found,
        "picture": None if picture is None else str(picture),
    }
    if picture is not None:
        watch.stage("drawing")
        write(draw, answer, picture)
    return answer


def counts_of(text: str) -> list[int]:
    """The numbers of a list like 100,1000, increasing."""
    from ..data.values import integer_list

    return integer_list(text, "sweep", "100,1000")


def _step(dataset: "Dataset", count: int, choice: "Choice", models: "Models", watch: Watch) -> dict:
    """The rows of the first `count` sequences."""
    from ..compiler.comparing import compare
    from ..theory import Question
    from .facts import dataset_facts

    part = dataset if count == len(dataset) else dataset.prefix(count)
    facts = dataset_facts(part)
    watch.stage("comparing")
    others = [row(name, model, part) for name, model in models.items()]
    rows = compare(part, Question(facts), choice, watch.note, others)
    sizes = ("sequences", "contexts", "labels", "length", "vocabulary")
    return {
        "dataset": {name: getattr(facts, name) for name in sizes},
        "rows": [row.json() for row in rows],
    }
