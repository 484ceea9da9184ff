"""encoder: how near to the data any model of dimension d can come."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import AssumptionError, ByheartError
from ..machine.watch import SILENT, Watch
from .explain import checked_picture

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..data.targets import Targets

GAP = 1e-9


def encoder(
    data: str | Path,
    *,
    dimensions: str | None = None,
    loading: Mapping | None = None,
    gap: float = GAP,
    seed: int = 0,
    output: str | Path | None = None,
    force: bool = False,
    watch: Watch = SILENT,
) -> dict:
    """d_KL(pi, L(N, S, d)) over d: closed forms, or upper bounds; a picture if one is asked for."""
    from ..data.load import load
    from ..encoders.sweep import steps, sweep
    from ..figures.encoder import draw
    from ..machine.threads import single
    from ..pictures import write

    wanted = None if dimensions is None else dimensions_of(dimensions)
    _check_gap(gap)
    picture = checked_picture(output, force)
    watch.stage("loading")
    dataset = load(data, **(loading or {}))
    targets = _targets(dataset)
    watch.stage("searching")
    with single():
        rows = list(sweep(targets, wanted or steps(targets), gap, seed, watch.note))
    answer = _answer(dataset, targets, Path(data).name)
    answer |= {"gap": gap, "seed": seed, "rows": rows}
    answer["output"] = None if picture is None else str(picture)
    if picture is not None:
        watch.stage("drawing")
        write(draw, answer, picture)
    return answer


def dimensions_of(text: str) -> list[int]:
    """The numbers of a list like 2,5,10."""
    from ..data.values import integer_list

    return integer_list(text, "dimensions", "2,5,10")


def _check_gap(gap: float) -> None:
    from ..compiler.compiling import LARGEST_GAP, SMALLEST_GAP

    if not SMALLEST_GAP <= gap <= LARGEST_GAP:
        raise ByheartError(
            f"--gap is a number of nats from {SMALLEST_GAP:g} to {LARGEST_GAP:g}, not {gap:g}."
        )


def _targets(dataset: "Dataset") -> "Targets":
    """What follows each ordered context; refused where nothing does."""
    from ..data.contexts import contexts
    from ..data.targets import targets

    if dataset.every:
        raise AssumptionError(
            "an encoder gives a sequence one distribution, and in this data every token has a "
            "label; use data with a label a sequence"
        )
    if not dataset.has_vocabulary:
        raise AssumptionError(
            "an encoder reads words or integers, and this data has tokens that are neither; "
            "number them"
        )
    return targets(dataset, contexts(dataset, True))


def _answer(dataset: "Dataset", targets: "Targets", name: str) -> dict:
    """What was measured: the data, its entropy a prediction, and from where on the infimum is 0."""
    from ..encoders import certain
    from ..encoders.encoder import merged
    from ..encoders.polytope import vanishing

    rows = merged(targets)
    return {
        "dataset": {
            "name": name,
            "sequences": int(dataset.counts.sum()),
            "contexts": len(targets),
            "distributions": len(rows.targets),
            "associations": certain(targets),
            "vocabulary": len(targets.vocabulary),
            "length": targets.length,
        },
        "entropy": targets.entropy / int(targets.counts.sum()),
        "vanishing": vanishing(rows),
    }
