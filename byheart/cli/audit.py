"""audit: how much a trained checkpoint holds of a file, in bits, beside what it could hold."""

from functools import partial
from pathlib import Path
from typing import Any

from ..auditing.answer import Audit, check_table
from ..auditing.audit import audit
from ..machine.files import refuse_existing
from ..views.audit import draw, view
from ..views.report import check_report, repeated, write_report
from . import options
from .declaring import argument, flag, option, taking
from .options import OUTPUT
from .output import answer


@taking(
    argument("model", "A Hugging Face folder with safetensors, or a byheart model."),
    options.DATA,
    options.REPEATING,
    option(
        "reference",
        "What is known without the data: uniform (default), unigram, or the folder of a second "
        "model, which alone separates memory from language; models are repeatable.",
        list[str],
        metavar="WHAT",
    ),
    option("adapter", "A LoRA adapter of peft to add; MODEL is its base.", Path, metavar="DIR"),
    option("prefix", "Tokens after which a document is to be recited.", int, 50, "N"),
    option("suffix", "Tokens to recite, at most.", int, 50, "N"),
    option("probability", "Of an item among N samples.", float, 0.5, "P"),
    option("near", "Also generate, and count items within N edits of tokens.", int, metavar="N"),
    option(
        "non_members",
        "Items that the model has not seen, for every membership score; or random, for random "
        "tokens.",
        metavar="FILE",
    ),
    option("items", "Write the table per item: .jsonl or .csv.", Path, metavar="FILE"),
    flag("show_text", "Texts of items in the table and report, not only their hashes."),
    option("report", "Write a report of one page: .html or .md.", Path, metavar="FILE"),
    option(
        "output", "Keep finished batches: run again to resume.", Path, None, "DIR", flags=OUTPUT
    ),
    option("device", "Of PyTorch: cpu, cuda, ...", default="cpu"),
    flag("all", "Also what theorems say about contexts."),
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
        for path, check in ((items, check_table), (report, check_report)):
            if path is not None:
                check(path)
                refuse_existing(path, force)
        result = audit(folder=output, **arguments)
        result = result if items is None else result.save_items(items)
        return result if report is None else write_report(result, report, repeated(how), force)

    answer(audited, partial(view, all=all), draw, kept=output, force=force, **how)
