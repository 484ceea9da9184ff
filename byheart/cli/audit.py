"""audit: how much a trained checkpoint holds of a file, in bits, beside what it could hold."""

from pathlib import Path
from typing import Any

from ..auditing.answer import Audit, check_table
from ..auditing.audit import audit
from ..machine.files import refuse_existing
from ..views.audit import draw, view
from . import options
from .declaring import argument, option, taking
from .options import OUTPUT
from .output import answer


@taking(
    argument("model", "A Hugging Face folder with safetensors, or a byheart model."),
    options.DATA,
    options.REPEATING,
    option(
        "reference",
        "What is known without the data: uniform, unigram, or the folder of a second model, "
        "which alone separates memory from language.",
        default="uniform",
        metavar="WHAT",
    ),
    option("prefix", "Tokens after which a document is to be recited.", int, 32, "N"),
    option("suffix", "Tokens to recite, at most.", int, 50, "N"),
    option(
        "non_members",
        "Items that the model has not seen, for the AUC and exposures; or random, for random "
        "tokens.",
        metavar="FILE",
    ),
    option("items", "Write the table per item: .jsonl or .csv.", Path, metavar="FILE"),
    option(
        "output", "Keep finished batches: run again to resume.", Path, None, "DIR", flags=OUTPUT
    ),
    option("device", "Of PyTorch: cpu, cuda, ...", default="cpu"),
    options.SEED,
    *options.PICTURE,
)
def command(items: Path | None, output: Path | None, force: bool, **how: Any) -> None:
    """Measure how many bits of a file a checkpoint holds, and which items it recites.

    Nothing is downloaded and no code of the model is run. Text is split by the model's own
    tokenizer; .bin and .npz hold token ids. Every figure is observed: a float run, not a proof.
    """

    def audited(**arguments: Any) -> Audit:
        if items is not None:
            check_table(items)
            refuse_existing(items, force)
        result = audit(folder=output, **arguments)
        return result if items is None else result.save_items(items)

    answer(audited, view, draw, kept=output, force=force, **how)
