"""compile: dataset in, verified model out; `compile_folder` also writes its folder."""

import lzma
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..claims.record import Record, Search
from ..claims.result import Result, picked
from ..claims.verification import PROVE_LIMIT
from ..constructions import find
from ..constructions.base import Construction
from ..data.contexts import settled
from ..data.dataset import Dataset
from ..data.load import dataset_of
from ..errors import ByheartError, at_least
from ..machine.swap import check_place
from ..machine.threads import single
from ..machine.watch import SILENT, Watch
from ..models.folder.write import check_packed
from ..models.kinds import kind_of
from ..models.model import Model
from ..models.questions import typed
from ..models.sizes import counted
from ..models.source import settlement, verify_command
from ..models.verification import verify
from . import configure
from .reading import data_for_method, reading_of
from .summary import Summary, summarise

PACKED = 2 << 20  # bytes of a file that is packed by xz to compare
SAMPLE = 100  # sequences verified where all of them would take too long
FIRST = 20  # rows, of which one is shown as a question


@single(scipy=False)  # which constructions that use it load within a limit of their own
def compile(
    data: Any,
    method: str | Construction | None = None,
    form: str | None = None,
    *,
    on_conflict: str = "refuse",
    sample: int | None = None,
    prove_limit: float = PROVE_LIMIT,
    seed: int = 0,
    watch: Watch = SILENT,
    **options: Any,
) -> Model:
    """Build the network of a construction for a dataset, and verify it on all of the data.

    The model is verified before it is returned. Where a construction says that more contexts than
    it names take too long, a sample is verified, and the evidence says so.

    Args:
        data: What is to be memorised: a Dataset, or whatever `byheart.load` reads (a path, a data
            frame, records, pairs). Text for gpt2 and llama is split by their own tokenizer.
        method: A construction by its name ("one-layer", see `byheart.methods`) or as an object
            (`byheart.methods.OneLayer(gap=1e-9)`). Default: hash-fold-retrieve, or seq2seq if
            every token has a label.
        form: "small" (ours) or "faithful" (the paper's), of methods that have both.
        on_conflict: For contexts with two labels: "refuse", "majority" or "drop".
        sample: Verify only this many sequences; the evidence is then "sampled".
        prove_limit: Seconds; where proving distributions takes longer, they are observed.
        seed: Random seed of the construction and of the sample.
        watch: Where progress is reported.
        **options: The options of the method (`byheart.methods("one-layer")` lists them), and
            those of `byheart.load`: byheart.compile(frame, input="title", label="author").

    Returns:
        A model whose claim holds.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> byheart.compile(data, "hash-fold-retrieve", reject_unknown=8).recall(["a", "b"])
        'x'
    """
    at_least(1, sample=sample)
    loading, options = reading_of(None, options)
    named = None if method is None else configure.configured(method, form, seed, options)
    if isinstance(data, Dataset):
        dataset_of(data, loading)  # refuses options of a file
    dataset = dataset_of(data_for_method(data, named, loading))
    default = configure.default_method(dataset)
    construction = named or configure.configured(default, form, seed, options)
    construction = configure.with_positions(construction, dataset)
    started = time.perf_counter()
    configure.check_fits(construction, dataset)
    dataset = construction.prepared(dataset)
    prepared, grouped = configure.prepare(construction, dataset, on_conflict)
    built = construction.build(prepared, grouped, watch)
    seconds = {"build": time.perf_counter() - started}
    recorded = {"on_conflict": on_conflict} if construction.claim.conflicts else {}
    recorded |= {name: getattr(construction, name) for name in construction.options()}
    record = Record(
        method=construction.name,
        form=construction.form,
        paper=construction.header.paper,
        item=construction.header.item,
        options=recorded,
        conflicts=settled(dataset, prepared),
        loading=dict(prepared.loading),
        search=Search(construction.seed, built.tries, built.structure),
        notes=built.notes,
        unordered=configure.order_note(construction, prepared, grouped),
        tokenizer=prepared.tokenizer,
        layout=prepared.layout,
    )
    model = Model(built.network, built.words, built.claim, record)
    model = replace(model, record=counted(model, prepared, grouped))
    if sample is None and len(grouped) > (construction.provable or math.inf):
        sample = SAMPLE
        watch.note(f"all of {len(prepared)} sequences take too long: verifying {sample} of them")
    watch.stage("verifying", min(len(prepared), sample or len(prepared)))
    verification = verify(
        model, prepared, sample=sample, seed=seed, progress=watch.advance, prove_limit=prove_limit
    )
    if verification.refuted:
        correct = f"{verification.correct} of {verification.checked} {built.claim.noun}"
        raise ByheartError(
            f"the network gives {correct} and is not returned: this is an error in byheart, please "
            "report it with the data and the seed."
        )
    seconds["verify"] = time.perf_counter() - started - seconds["build"]
    record = replace(model.record, verification=verification, seconds=seconds)
    claim = kind_of(model).prove.recorded(model, prepared, verification)
    return replace(model, claim=claim, record=record)


@dataclass(frozen=True)
class Disk(Result):
    """Bytes: of the folder and its vocabulary, of the file and the file by xz; None if not known.

    A packed model is one file and no folder, and its vocabulary no file.
    """

    folder: int
    vocabulary: int | None
    file: int | None
    xz: int | None
    once: int  # labels that occur once: of these the vocabulary holds all that there is to know


@dataclass(frozen=True)
class Compiled:
    """A model folder that `compile_folder` wrote."""

    summary: Summary
    output: str
    editable: bool  # whether `edit` and `forget` can change it
    verify: str | None  # the command that verifies it on its file; None if that has other labels
    reading: Mapping[str, Any]  # the options that turned the file into data
    reading_notes: tuple[str, ...]  # what there is to say about how the file was read
    skipped: int  # documents or rows that the loader left out
    disk: Disk  # what the folder and the file take
    # the first one of the data as a person types it, if it is one to type
    question: str | None = None

    @property
    def model(self) -> Model:
        return self.summary.model

    def json(self) -> dict:
        own = picked(self, "editable verify reading reading_notes skipped disk")
        return {**self.summary.json(), **own}


def compile_folder(
    data: Any,
    output: str | Path,
    method: str | Construction | None = None,
    form: str | None = None,
    *,
    loading: Mapping[str, Any] | None = None,
    force: bool = False,
    write_data: bool = False,
    packed: bool = False,
    watch: Watch = SILENT,
    **options: Any,
) -> Compiled:
    """Compile data and write the model folder, or one packed file.

    `options` are further arguments of `compile`.
    """
    place = Path(output)
    if packed and write_data:
        raise ByheartError("`packed=True` writes one file without data; leave out `write_data`.")
    check_packed(None, place, force) if packed else check_place(place, force)
    started = time.perf_counter()
    watch.stage("loading")
    named: str | Construction | None = method
    if isinstance(method, str):  # its options may choose another tokenizer
        own = {name: x for name, x in options.items() if name in find(method, form).options()}
        named = configure.configured(method, form, options.get("seed", 0), own)
    dataset = data_for_method(data, named, loading)
    loaded = time.perf_counter() - started
    watch.stage("building", len(dataset))
    model = compile(dataset, method, form, watch=watch, **options)
    watch.stage("writing")
    asked = kind_of(model).prove.reads(model, dataset)
    _, held, _ = settlement(model, asked)
    model.save(place, force=force, data=held if write_data else None, packed=packed)
    verify_with = None
    if held is asked:
        name = str(data) if isinstance(data, str | Path) else "DATA"
        verify_with = verify_command(model, str(output), name)
    elif write_data:
        verify_with = verify_command(model, str(output), str(place / "data.jsonl"), canonical=True)
    first = (typed(model, dataset.sequence(i), True) for i in range(min(FIRST, len(dataset))))
    frequent = configure.frequent_note(configure.construction_of(model), held)
    return Compiled(
        summary=summarise(model, model.verification, {"load": loaded, **model.record.seconds}),
        output=str(output),
        editable=configure.construction_of(model).edits,
        verify=verify_with,
        reading=dict(dataset.loading),
        reading_notes=(*asked.notes, *filter(None, (model.record.unordered, frequent))),
        skipped=dataset.skipped,
        disk=_disk(place, data, held),
        question=next(filter(None, first), None),
    )


def _disk(folder: Path, data: Any, held: Dataset) -> Disk:
    files = folder.iterdir() if folder.is_dir() else [folder]
    sizes = {path.name: path.stat().st_size for path in files if path.is_file()}
    words = sizes.get("vocabulary.json") or sizes.get("tokenizer.json")
    file = packed = None
    if isinstance(data, str | Path) and Path(data).is_file():
        file = Path(data).stat().st_size
        if file <= PACKED:
            packed = len(lzma.compress(Path(data).read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    once = int((np.bincount(held.labels) == 1).sum())
    return Disk(sum(sizes.values()) - sizes.get("data.jsonl", 0), words, file, packed, once)
