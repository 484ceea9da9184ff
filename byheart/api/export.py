"""export: a model for another tool, run there on all of its data before it appears."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..claims.result import picked
from ..data.dataset import Dataset
from ..errors import ByheartError, one_of
from ..exports.exporting import Export, check_replaceable
from ..exports.exporting import export as write_export
from ..exports.formats import TARGETS, format_of
from ..machine.watch import SILENT, Watch
from ..models.folder.write import check_packed
from ..models.model import Model
from ..models.source import load_for, unaccepted
from .reading import model_of
from .summary import NOT_CHECKED

PACKED = "packed"
SAME = "a packed file holds the evidence of its model; byheart verify repeats the proof"
OWN = "data.jsonl"  # that `write_data` puts beside the weights


@dataclass(frozen=True)
class Exported(Export):
    """What an export wrote, of which model, what it predicts, and what there is to say of it."""

    method: str | None = None
    folder: str = ""
    noun: str = "labels"
    notes: tuple[str, ...] = ()

    def json(self) -> dict:
        verified = NOT_CHECKED if self.verification is None else self.verification
        return {
            **picked(self, "to method"),
            "output": self.folder if self else None,
            **picked(self, "files runtime"),
            "verified": verified.json(),
            "noun": self.noun,
            "failures": list(verified.failures),
            **picked(self, "notes"),
            "holds": bool(self),
        }


def export(
    model: Model | str | Path,
    to: str,
    output: str | Path,
    data: Any = None,
    *,
    loading: Mapping[str, Any] | None = None,
    force: bool = False,
    watch: Watch = SILENT,
) -> Exported:
    """Write a model as a folder that other tools read, and run it there on all of its data.

    Args:
        model: What `compile` returned or `open` read, or the path of a folder.
        to: "torch" (a module in a file of its own), "onnx", "huggingface", "gguf",
            "lm-eval" (tasks), "coq", "vnnlib", or "packed" (a small file, which `open` reads).
        output: The folder to write, or the packed file.
        data: What the model was compiled from: a Dataset, or whatever `load` reads. If its
            runtime answers one item wrongly there, nothing is written. By default, the data.jsonl
            of the model's folder, if there is one.
        loading: The options of `load` for a file; by default, those that the folder records.
        force: Replace an existing folder that an export wrote.
        watch: Where progress is reported.

    Returns:
        The export: `output`, `files`, `runtime` and the `verification` in that runtime. It is
        false if nothing was written.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> model = byheart.compile(data, method="float64")
        >>> found = byheart.export(model, "torch", "doubles.torch", data)
        >>> found.verification.evidence, found.verification.correct
        ('observed', 2)
    """
    one_of((*TARGETS, PACKED), to=to)
    if to == PACKED:  # what is read back is the same model, and no other tool runs it
        output = Path(output)
        if data is not None:
            raise ByheartError("a packed file is not run on data; leave the data out.")
        check_packed(None, output, force)
        watch.stage("opening")
        model = model_of(model, "export")
        watch.stage("exporting")
        model.save(output, force=force, packed=True)
        about: dict[str, Any] = {"method": model.record.method, "folder": str(output)}
        return Exported(PACKED, output, (output.name,), None, None, **about, notes=(SAME,))
    check_replaceable(Path(output), force)
    given = dict(loading or {})
    if data is None and given:
        raise ByheartError(f"`{next(iter(given))}` needs the data; name its file, too.")
    watch.stage("opening")
    if data is None and isinstance(model, str | Path) and (Path(model) / OWN).is_file():
        data = Path(model) / OWN
    model = model_of(model, "export")
    format_of(model, to)  # before the data is asked for
    if data is not None and not isinstance(data, Dataset):
        watch.stage("loading")
        dataset = load_for(model, data, given)
        left_out = unaccepted(data, dataset, given)
        if left_out:
            raise ByheartError(f"{left_out[0]}; repeat the option to leave that out here, too.")
        data = dataset
    written = write_export(model, to, output, data, force=force, watch=watch)
    return Exported(
        **vars(written),
        method=model.record.method,
        folder=str(output),
        noun=model.claim.answered,
        notes=tuple(x for x in (written.note, written.remark) if x is not None),
    )
