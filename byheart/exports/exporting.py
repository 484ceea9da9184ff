"""export: a model for another tool, run there on all of its data before it appears."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..data.dataset import Dataset
from ..errors import ByheartError
from ..machine.files import refuse_existing
from ..machine.watch import SILENT, Watch
from ..models.claims import Recites
from ..models.folder.swap import sync
from ..models.model import Model
from ..models.source import load_for, settlement
from ..models.verification import Verification
from . import gguf_file, huggingface, onnx_graph, pytorch
from .judging import Runtime, observed
from .packages import package
from .readme import card

TARGETS = ("torch", "onnx", "huggingface", "gguf")


@dataclass(frozen=True)
class Export:
    """What an export wrote, and what its runtime answers.

    output        the folder; None if a prediction was wrong there, and nothing was written
    files         in it
    runtime       that ran it: name, version, dtype; None if none did
    verification  "observed" if all predictions were right, "refuted" if one was not; None if
                  nothing was run
    note          why nothing was run
    """

    to: str
    output: Path | None
    files: tuple[str, ...]
    runtime: dict[str, str] | None
    verification: Verification | None
    note: str | None = None

    def __bool__(self) -> bool:
        return self.output is not None


def export(
    model: Model,
    to: str,
    output: str | os.PathLike[str],
    data: Dataset | None = None,
    *,
    watch: Watch = SILENT,
) -> Export:
    """Write a model as a folder that other tools read, and run it there on all of its data.

    Args:
        model: What `compile` returned or `open` read.
        to: "torch" (a module in a file of its own), "onnx", "huggingface" or "gguf".
        output: The folder to write, which must not exist.
        data: What the model was compiled from. If its runtime answers one item wrongly there,
            nothing is written.
        watch: Where progress is reported.

    Returns:
        The export: `output`, `files`, `runtime` and the `verification` in that runtime.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> model = byheart.compile(data, method="float64")
        >>> found = byheart.export(model, "torch", "doubles.torch", data)
        >>> found.verification.evidence, found.verification.correct
        ('observed', 2)
    """
    if not isinstance(model, Model):
        raise ByheartError("export takes a Model; byheart.open(folder) reads one.")
    if to not in TARGETS:
        raise ByheartError(f"to must be one of {', '.join(TARGETS)}, not {to!r}.")
    place = Path(os.path.abspath(output))
    refuse_existing(place, force=False)
    held = None if data is None else held_by(model, data)
    stock = isinstance(model.claim, Recites)
    with _appearing(place) as (folder, keep):
        watch.stage("exporting")
        if to == "onnx":
            onnx_graph.write(model, folder)
        elif to == "gguf":
            gguf_file.write(model, folder)
        else:
            made = huggingface.files(model) if to == "huggingface" else pytorch.files(model)
            for name, pieces in made.items():
                with open(folder / name, "xb") as file:
                    file.writelines(pieces)
        found: Verification | None = None
        ran: Runtime | None = None
        note = "no data was given, so nothing was run"
        if held is not None and to == "gguf" and not _installed("xllamacpp"):
            note = "llama.cpp is not installed (the package xllamacpp), so nothing was run"
        elif held is not None:
            if to == "torch":
                ran = pytorch.runtime(folder)
            elif to == "onnx":
                ran = onnx_graph.runtime(folder / "model.onnx")
            elif to == "huggingface":
                ran = huggingface.runtime(model, folder)
            else:
                ran = gguf_file.runtime(folder / "model.gguf", model.network)
            watch.stage(f"running in {ran.name}", len(held))
            found = observed(model, held, ran, watch.advance)
        said = None if found is not None else note
        if found is None or not found.refuted:
            (folder / "README.md").write_text(card(model, to, ran, found, stock), encoding="utf-8")
            keep()
        names = tuple(sorted(path.name for path in folder.iterdir()))
    whole = found is None or not found.refuted
    described = None if ran is None else ran.json()
    return Export(to, place if whole else None, names if whole else (), described, found, said)


def held_by(model: Model, data: Dataset) -> Dataset:
    """The data as the network is asked about it; ByheartError if it is not the model's."""
    if not isinstance(data, Dataset):
        data = load_for(model, data)
    asked = model.claim.reads(model, data)
    unfit = model.claim.unfitting(model, asked)
    if unfit:
        raise ByheartError(f"{unfit}.")
    _, held, _ = settlement(model, asked)
    if held.sha256() != model.about["data"]["sha256"]:
        raise ByheartError(
            "the data is not what the model was made from: its hash differs; give that file, or "
            "export without data."
        )
    return held


def _installed(name: str) -> bool:
    try:
        package(name, "a run")
    except ByheartError:
        return False
    return True


@contextmanager
def _appearing(place: Path) -> Iterator:
    """A folder to fill, which becomes `place` if it is kept and vanishes otherwise."""
    part = place.with_name(f".byheart-export-{secrets.token_hex(8)}.part")
    kept: list[bool] = []
    try:
        os.mkdir(part)
        yield part, lambda: kept.append(True)
        if kept:
            for path in part.iterdir():
                sync(path)
            sync(part)
            os.rename(part, place)
            sync(place.parent)
    except OSError as error:
        raise ByheartError(f"{place} cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
