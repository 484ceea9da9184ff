"""explain: the network of a method for a dataset, stage by stage."""

from collections.abc import Mapping
from pathlib import Path

from ..machine.watch import SILENT, Watch
from .data import refuse_existing
from .models import build


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
    from ..compiler.explaining import explain as explain_model
    from ..constructions import find
    from ..data.load import load
    from ..figures.pipeline import draw
    from ..pictures import write

    find(method, options.get("form"))  # type: ignore[arg-type]
    picture = checked_picture(output, force)
    watch.stage("loading")
    model = build(load(data, **(loading or {})), watch, method=method, **options)
    answer = explain_model(model).json()
    answer["dataset"]["name"] = Path(data).name
    answer["verified"] = model.about["verification"].json()
    answer["picture"] = None if picture is None else str(picture)
    if picture is not None:
        watch.stage("drawing")
        write(draw, answer, picture)
    return answer


def checked_picture(output: str | Path | None, force: bool) -> Path | None:
    """Where the picture goes; refused before any work if it cannot go there."""
    from ..pictures import check_picture

    if output is None:
        return None
    check_picture(Path(output))
    refuse_existing(Path(output), force)
    return Path(output)
