"""explain: the network of a method for a dataset, stage by stage."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .data import refuse_existing
from .models import build
from .watch import SILENT, Watch

if TYPE_CHECKING:
    from ..construction import Header
    from .loading import AnyModel


def explain(
    method: str,
    data: str | Path,
    *,
    loading: Mapping | None = None,
    output: str | Path | None = None,
    force: bool = False,
    watch: Watch = SILENT,
    **options: object,
) -> dict:
    """Build and verify the network as compile does, and take it apart; options as there."""
    from ..compile import find
    from ..figures.picture import write
    from ..figures.pipeline import draw
    from ..load import load

    header = find(method, options.get("form")).header  # type: ignore[arg-type]
    picture = checked_picture(output, force)
    watch.stage("loading")
    model = build(load(data, **(loading or {})), watch, method=method, **options)
    answer = _parts(model, header)
    answer["dataset"]["name"] = Path(data).name
    answer["verified"] = model.about["verification"].json()
    answer["picture"] = None if picture is None else str(picture)
    if picture is not None:
        watch.stage("drawing")
        write(draw, answer, picture)
    return answer


def _parts(model: "AnyModel", header: "Header") -> dict:
    from .. import decoder_stages, explain
    from ..language_model import LanguageModel

    if isinstance(model, LanguageModel):
        return decoder_stages.explain(model, header)
    return explain.explain(model, header)


def checked_picture(output: str | Path | None, force: bool) -> Path | None:
    """Where the picture goes; refused before any work if it cannot go there."""
    from ..figures.picture import check_picture

    if output is None:
        return None
    check_picture(Path(output))
    refuse_existing(Path(output), force)
    return Path(output)
