"""tradeoff: parameters against bits a parameter."""

from collections.abc import Mapping
from pathlib import Path

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from .explain import checked_picture

FORMS = {"small": ("small",), "faithful": ("faithful",), "both": ("small", "faithful")}


def tradeoff(
    data: str | Path,
    *,
    loading: Mapping | None = None,
    bits: str | None = None,
    form: str = "small",
    output: str | Path | None = None,
    force: bool = False,
    watch: Watch = SILENT,
    **options: object,
) -> dict:
    """Build limited-bits under several limits, and draw what it takes; options as in compile."""
    from ..compiler import trading as found
    from ..data.load import load
    from ..figures.tradeoff import draw
    from ..pictures import write

    if form not in FORMS:
        raise ByheartError(f"--form is one of {', '.join(FORMS)}, not {form!r}.")
    limits = None if bits is None else found.limits_of(bits)
    picture = checked_picture(output, force)
    watch.stage("loading")
    dataset = load(data, **(loading or {}))
    watch.stage("building")
    answer = found.tradeoff(dataset, forms=FORMS[form], bits=limits, report=watch.note, **options)
    answer["dataset"]["name"] = Path(data).name
    answer["picture"] = None if picture is None else str(picture)
    if picture is not None:
        watch.stage("drawing")
        write(draw, answer, picture)
    return answer
