"""audit: how much a trained checkpoint holds of a file, in bits, beside what it could hold."""

from functools import partial
from pathlib import Path
from typing import Any

from ..auditing.answer import TABLES, Audit, check_name
from ..auditing.audit import audit
from ..machine.files import refuse_existing
from ..views.audit import draw, view
from ..views.report import FORMS, repeated, write_report
from . import options
from .declaring import argument, listed, taking
from .output import answer


@taking(
    argument("model", "A Hugging Face folder with safetensors, or a byheart model."),
    options.DATA,
    options.REPEATING,
    *listed("audit"),
    options.SEED,
    *options.PICTURE,
)
def command(
    items: Path | None, report: Path | None, output: Path | None, force: bool, all: bool, **how: Any
) -> None:
    """Measure how many bits of a file a checkpoint holds, and which items it recites.

    Nothing is downloaded and no code of the model is run. Text is split by the model's own
    tokenizer; .bin and .npz hold token ids. Every figure is observed: a float run, not a proof.
    """

    def audited(**arguments: Any) -> Audit:
        for path, what, endings in ((items, "table of items", TABLES), (report, "report", FORMS)):
            if path is not None:
                check_name(path, what, endings)
                refuse_existing(path, force)
        result = audit(folder=output, **arguments)
        result = result if items is None else result.save_items(items)
        return result if report is None else write_report(result, report, repeated(how), force)

    answer(audited, partial(view, all=all), draw, kept=output, force=force, **how)
