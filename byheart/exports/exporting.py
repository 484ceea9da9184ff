"""export: a model for another tool, run there on all of its data before it appears."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..claims.card import plain
from ..claims.kind import Progress, Runtime
from ..claims.verification import OBSERVED, REFUTED, Verification
from ..data.dataset import Dataset
from ..errors import ByheartError
from ..machine.files import refuse_existing, unfinished
from ..machine.names import EXPORTED, KNOWN
from ..machine.swap import settle, sync
from ..machine.watch import SILENT, Watch
from ..machine.words import brief
from ..models.kinds import kind_of
from ..models.model import Model
from ..models.source import load_for, settlement
from .formats import ASKED, Format, format_of
from .packages import installed

SHOWN = 10  # failures
MAX_ASKED = 200  # characters of the example of a card


@dataclass(frozen=True)
class Export:
    """What an export wrote, and what its runtime answers.

    output        the folder; None if a prediction was wrong there, and nothing was written
    files         in it
    runtime       that ran it: name, version, dtype; None if none did
    verification  "observed" if all predictions were right, "refuted" if one was not; None if
                  nothing was run
    note          why nothing was run
    remark        what else there is to say about such an export
    """

    to: str
    output: Path | None
    files: tuple[str, ...]
    runtime: dict[str, str] | None
    verification: Verification | None
    note: str | None = None
    remark: str | None = None

    def __bool__(self) -> bool:
        return self.output is not None


def export(
    model: Model,
    to: str,
    output: str | os.PathLike[str],
    data: Dataset | None = None,
    *,
    force: bool = False,
    watch: Watch = SILENT,
) -> Export:
    """Write a model as a folder that other tools read, and run it there on all of its data.

    If its runtime answers one item wrongly there, nothing is written.
    """
    if not isinstance(model, Model):
        raise ByheartError("export takes a Model; byheart.open(folder) reads one.")
    form = format_of(model, to)
    place = Path(os.path.abspath(output))
    check_replaceable(place, force)
    held = None if data is None else held_by(model, data)
    with _appearing(place, force) as (folder, keep):
        watch.stage("exporting")
        remark = form.write(model, folder, *([held] if form.about_data else []))
        found: Verification | None = None
        ran: Runtime | None = None
        note = None
        if form.runtime is None:
            pass  # what it is for does not run models
        elif held is None:
            note = "no data was given, so nothing was run"
        elif form.needs is not None and not installed(form.needs):
            note = f"the package {form.needs} is not installed, so nothing was run"
        else:
            ran = form.runtime(model, folder)
            watch.stage(f"running in {ran.name}", len(held))
            found = observed(model, held, ran, watch.advance)
        whole = found is None or not found.refuted
        if whole:
            text = _card(model, to, form, found, held)
            (folder / "README.md").write_text(text, encoding="utf-8")
            keep()
        names = tuple(sorted(path.name for path in folder.iterdir()))
    described = None if ran is None else ran.json()
    path, files = (place, names) if whole else (None, ())
    return Export(to, path, files, described, found, note, remark or form.note)


def observed(
    model: Model, dataset: Dataset, runtime: Runtime, progress: Progress = None
) -> Verification:
    """Run every item of the data and compare; the data is as the claim reads it."""
    run = runtime.judged or partial(
        kind_of(model).prove.observed, model, dataset, runtime, progress
    )
    count, failures = run()
    evidence = REFUTED if failures else OBSERVED
    shown = tuple(failures[:SHOWN])
    return Verification(count, count - len(failures), evidence, runtime.sentence, shown)


def _card(
    model: Model, to: str, form: Format, found: Verification | None, held: Dataset | None
) -> str:
    """README.md of an export: what the files are, how to use them, and what was observed."""
    evidence = "It was not run on its data when it was exported."
    if found is not None:  # its engine is the runtime
        evidence = (
            f"Observed when it was exported: {found.correct:,} of {found.checked:,} "
            f"{model.claim.answered} right in {found.engine}. That is a run, not a proof. "
            + form.right
        )
    own = model.tokens[:1] if model.tokens else [1]
    asked = json.dumps(held.sequence(0) if held is not None and len(held) else list(own))
    use = form.use.replace(ASKED, asked if len(asked) <= MAX_ASKED else "TOKENS")
    return (
        f"# A model that byheart compiled and exported to {to}\n\n"
        f"Method {plain(brief(model.record.method))}. {evidence.strip()}\n\n{use}"
    )


def check_replaceable(path: Path, force: bool) -> None:
    """ByheartError if something is there that is not to be replaced, or that no export wrote."""
    refuse_existing(path, force)
    if os.path.lexists(path):
        whole = path.is_dir() and not path.is_symlink()
        names = {entry.name for entry in os.scandir(path)} if whole else {""}
        if not names <= {*KNOWN, *EXPORTED} - {"certificate.json"}:  # which a model has
            raise ByheartError(f"{path} is not a folder that an export wrote; choose another name.")


def held_by(model: Model, data: Dataset) -> Dataset:
    """The data as the network is asked about it; ByheartError if it is not the model's."""
    if not isinstance(data, Dataset):
        data = load_for(model, data)
    prove = kind_of(model).prove
    asked = prove.reads(model, data)
    unfit = prove.unfitting(model, asked)
    if not unfit and "tokenizer" in asked.left_out:
        unfit = "the model's tokenizer does not spell all texts of the data"
    if unfit:
        raise ByheartError(f"{unfit}.")
    _, held, _ = settlement(model, asked)
    if held.sha256() != model.record.data.sha256:
        raise ByheartError(
            "the data is not what the model was made from: its hash differs; give that file, or "
            "export without data."
        )
    return held


@contextmanager
def _appearing(place: Path, force: bool) -> Iterator:
    """A folder to fill, which becomes `place` if it is kept and vanishes otherwise."""
    kept = list[bool]()
    try:
        with unfinished(place, folder=True) as part, ExitStack() as stack:
            stack.callback(shutil.rmtree, part, ignore_errors=True)
            yield part, lambda: kept.append(True)
            if kept:
                for path in part.iterdir():
                    sync(path)
                sync(part)
                settle(part, place, lambda: check_replaceable(place, force))
    except OSError as error:
        raise ByheartError(f"{place} cannot be written: {error.strerror or error}.") from error
