"""encoder: how near to the data any model of dimension d can come."""

import re
from collections.abc import Mapping
from pathlib import Path

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from .explain import checked_picture

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
    from ..encoders.curve import encoder as curve_of
    from ..figures.encoder import draw
    from ..pictures import write

    wanted = None if dimensions is None else dimensions_of(dimensions)
    _check_gap(gap)
    picture = checked_picture(output, force)
    watch.stage("loading")
    dataset = load(data, **(loading or {}))
    answer = curve_of(dataset, wanted, gap, seed, watch).json()
    answer["dataset"] = {"name": Path(data).name, **answer["dataset"]}
    answer["output"] = None if picture is None else str(picture)
    if picture is not None:
        watch.stage("drawing")
        write(draw, answer, picture)
    return answer


def dimensions_of(text: str) -> list[int]:
    """The numbers of a list like 2,5,10."""
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,9}", word) and int(word) for word in words):
        raise ByheartError(
            f"--dimensions is a list of positive whole numbers like 2,5,10, not {text!r}."
        )
    return sorted({int(word) for word in words})


def _check_gap(gap: float) -> None:
    from ..gadgets.logits import LARGEST_GAP, SMALLEST_GAP

    if not SMALLEST_GAP <= gap <= LARGEST_GAP:
        raise ByheartError(
            f"--gap is a number of nats from {SMALLEST_GAP:g} to {LARGEST_GAP:g}, not {gap:g}."
        )
