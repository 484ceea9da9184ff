"""measure: train every size of an architecture, and report the smallest that memorises."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..architectures import ADAPTED
from ..architectures.trainable import TrainingBounds, trainable
from ..claims.result import picked, plain
from ..data.contexts import RESOLUTIONS, contexts, resolve
from ..data.dataset import Dataset
from ..data.load import load, name_of
from ..errors import ByheartError, OptionError, one_of
from ..machine.engines import Workers
from ..machine.swap import check_place
from ..machine.tables import Content, Tabular, plural
from ..machine.watch import SILENT, Watch
from .checkpoint import check_ids
from .checkpoint import save as save_checkpoint
from .material import Material
from .protocol import protocol as protocol_of
from .sweeps.axes import Values, check_complete, fixed
from .sweeps.axes import axes as axes_of
from .sweeps.capacity import Capacity, capacity
from .sweeps.results import Cell, Point, cells
from .sweeps.sweep import SEQUENCES, Sweep
from .train import train
from .trial import Criterion
from .trial import criterion as criterion_of
from .workers import check_packages, rows_of

LOSSES = ("cross-entropy", "squared")
MOST = 100_000  # trials


@dataclass(frozen=True)
class MeasuredData:
    """The data: its name, whether it is vectors, whether the loss is squared, and facts."""

    name: str
    sequences: int
    contexts: int
    length: int
    vectors: bool
    squared: bool
    vocabulary: int
    outputs: int
    predictions: int
    entropy: float
    best_accuracy: float


class Trials(NamedTuple):
    """How many in all, how many ran now, and how many had a row."""

    total: int
    ran: int
    kept: int


class Seconds(NamedTuple):
    """Of processors for all trials, and how long this call took."""

    training: float
    this_run: float


class SavedModel(NamedTuple):
    """What was written: a folder, the sizes of its network, and its data if that is its own."""

    folder: str
    sizes: Mapping[str, int]
    sequences: int
    data: str | None
    evidence: str | None


@dataclass(frozen=True, repr=False)
class Measurement(Tabular):
    """The answer of `measure`.

    sweep      the question: architecture, sizes, axes, seeds, protocol and criterion
    cells      one per combination of all axes except the last, which is searched
    folder     of the rows
    save       where the smallest network that memorises was to go
    saved      what was written there; None if nothing was
    not_saved  why not
    picture    drawn from this
    """

    sweep: Sweep = field(repr=False)
    dataset: MeasuredData
    cells: tuple[Cell, ...]
    trials: Trials
    seconds: Seconds
    folder: str
    save: str | None = None
    saved: SavedModel | None = None
    not_saved: str | None = None
    picture: str | None = None

    @property
    def measures_capacity(self) -> bool:
        """Whether memorised bits are measured, instead of the smallest size."""
        return trainable(self.sweep.architecture).capacity

    def theory(self, cell: Cell) -> TrainingBounds | None:
        """Bounds for any data with as many contexts, if theorems are about this architecture."""
        bounds = trainable(self.sweep.architecture).theory
        if bounds is None or cell.facts is None or cell.facts.outputs < 2:
            return None
        return bounds(cell.facts.contexts, cell.facts.outputs)

    def capacity(self, cell: Cell) -> Capacity | None:
        """The bits that a size memorises, if that is what was asked."""
        return capacity(cell) if self.measures_capacity else None

    def json(self) -> dict[str, Any]:
        """The answer of `byheart measure --json`."""
        question = self.sweep.json()
        keys = ("architecture", "sizes", "criterion", "axes", "seeds")
        return {
            **{key: question[key] for key in keys},
            "protocol": self.sweep.protocol.name,
            **picked(self, "trials"),
            "cells": [self._cell(cell) for cell in self.cells],
            "seconds": {"training": self.seconds.training, "this run": self.seconds.this_run},
            **picked(self, "dataset folder save saved not_saved picture"),
        }

    def _cell(self, cell: Cell) -> dict[str, Any]:
        theory = self.theory(cell)
        answer = {**cell.json(), "theory": plain(theory)}
        if self.measures_capacity:
            for row, point in zip(answer["points"], cell.points, strict=True):
                row |= {"bits": asdict(point.spread("bits")), "information": point.information}
            answer["capacity"] = plain(self.capacity(cell))
        return answer

    def table(self) -> Content:
        """Of each cell the smallest size that memorises, or the most bits that a size memorised."""
        name = self.sweep.searched[0].replace("_", " ")
        title = f"{self.sweep.architecture} on {self.dataset.name} ({self.sweep.criterion})"
        lines: list[tuple[object, ...]] = []
        for cell in self.cells:
            at = ", ".join(f"{name} {value:,}" for name, value in cell.at.items())
            smallest, most = cell.smallest, self.capacity(cell)
            words = "nothing was trained"
            if most is not None:
                words = f"{most.bits:,.0f} bits, {most.per_parameter:.3g} per parameter"
            elif smallest is not None:
                words = f"{name} {smallest.value:,} ({plural(smallest.parameters, 'parameter')})"
            elif cell.points:
                steps = max(point.steps for point in cell.points)
                largest = cell.points[-1].value
                words = f"{name} up to {largest:,} not reached in {plural(steps, 'step')}"
            lines.append((at, words))
        head = "memorised" if self.measures_capacity else "smallest that memorises"
        return title, ("", head), lines


def measure(
    data: Any,
    folder: str | Path,
    *,
    architecture: str,
    axes: Mapping[str, Values],
    sizes: Mapping[str, int | str] | None = None,
    adapter: str | None = None,
    protocol: str = "fast",
    criterion: str | None = None,
    seeds: int = 3,
    steps: int | None = None,
    find: bool = False,
    loss: str = LOSSES[0],
    workers: Workers | int | None = None,
    save: str | Path | None = None,
    on_conflict: str = "refuse",
    force: bool = False,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
) -> Measurement:
    """Train sizes of an architecture, and report the smallest that memorises a dataset.

    Every finished training is a row of `folder`. The same call again resumes: it trains only what
    the rows do not have yet.

    Args:
        data: A dataset, or whatever byheart.load reads: a path, a data frame, rows.
        folder: Where the rows are kept.
        architecture: "madden2024", "dana2024", "dana2024-program", "dana2024-mlp",
            "kajitsuka2025", or "gpt2", whose capacity is measured: how many bits it memorises.
        axes: The sizes to train by name, as numbers or as a text such as "4-64x2". The last one is
            searched for its smallest value; "sequences" takes the first sequences of the data.
            For "gpt2", bits are measured against "sequences".
        sizes: Sizes that stay the same.
        adapter: "lora" trains adapters of a size "rank" on top of a fixed "gpt2".
        protocol: "fast" (ours), "paper", or "script" (dana2024).
        criterion: When data counts as memorised: "gap=SHARE", "loss=NATS" or "accuracy=SHARE"; or
            "plateau=SHARE", when the bits do: twice the steps change them by no more than this.
        seeds: Trainings of each size.
        steps: Of each attempt, instead of the protocol's.
        find: Bisect the last axis instead of training all of it.
        loss: "cross-entropy", or "squared" (kajitsuka2025, two labels).
        workers: How many processes train (by default one per core), or a Workers for a cluster.
        save: A folder for the smallest network that memorises, as a verified model; for "gpt2" a
            Hugging Face folder with what memorised the most bits.
        on_conflict: As in byheart.compile, for a saved network that stores labels.
        force: Replace an older model in `save`.
        loading: Options of byheart.load, if `data` is not a dataset.
        watch: Follows the progress.

    Returns:
        A Measurement: `.cells` with the smallest size and its evidence, and `.json()`.

    Raises:
        ByheartError: If an option does not fit, or training cannot run here. A model that cannot be
            saved raises nothing: `.not_saved` has the reason.

    Example:
        >>> import byheart, tempfile
        >>> data = byheart.Dataset.from_rows(
        ...     [(["a", "b"], "c"), (["b", "a"], "a"), (["c", "a"], "a")]
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     answer = byheart.measure(
        ...         data,
        ...         folder,
        ...         architecture="dana2024",
        ...         axes={"heads": [1, 2]},
        ...         seeds=1,
        ...         steps=200,
        ...         workers=1,
        ...     )
        >>> answer.cells[0].smallest.value
        1
    """
    started = time.perf_counter()
    folder = Path(folder)
    where = workers if isinstance(workers, Workers) else Workers(jobs=workers)
    one_of(RESOLUTIONS, on_conflict=on_conflict)
    target = None if save is None else Path(save)
    if target is not None:
        check_place(target, force)
    # The question, before any data is read.
    if adapter is not None:
        if (architecture, adapter) != ("gpt2", "lora"):
            raise ByheartError("`adapter='lora'` is for gpt2, and there is no other; leave it out.")
        architecture = ADAPTED
    record = trainable(architecture)
    if loss not in LOSSES:
        raise OptionError("loss", loss, f"must be {' or '.join(LOSSES)}")
    if loss == "squared" and not record.squared:
        raise ByheartError(
            f"{architecture} is not trained with the squared loss; use `loss='cross-entropy'`."
        )
    grid = fixed(architecture, sizes or {}), axes_of(architecture, axes)
    how = protocol_of(architecture, protocol, steps)
    aim = Criterion(*record.criterion) if criterion is None else criterion_of(criterion)
    sweep = Sweep(architecture, *grid, {}, how, aim, seeds, find)
    check_complete(architecture, sweep.sizes, [name for name, _ in sweep.axes])
    if sweep.size > MOST:
        raise ByheartError(f"that is {sweep.size:,} trials; at most {MOST:,} are possible.")
    if folder.exists() and not folder.is_dir():
        raise ByheartError(f"{folder} is a file; rows go to a folder.")
    if (folder / "config.json").exists():
        raise ByheartError(f"{folder} is a model folder; rows go to another one.")
    if target is not None and target.resolve() == folder.resolve():
        raise ByheartError(f"{folder} is the folder of the rows; save the model in another one.")

    watch.stage("loading")
    dataset = data if isinstance(data, Dataset) else load(data, **(loading or {}))
    material = Material(dataset, architecture, loss == "squared")
    squared = {"loss": "squared"} if material.squared else {}
    facts = {"sha256": dataset.sha256(), SEQUENCES: len(dataset), **squared}
    sweep = replace(sweep, data=facts)  # trials without an axis of sequences take all of them
    counts = dict(sweep.axes).get(SEQUENCES, (len(dataset),))
    if counts[-1] > len(dataset):
        raise ByheartError(f"the data has {plural(len(dataset), 'sequence')}, not {counts[-1]:,}.")
    for count in counts:
        try:
            sweep.criterion.check(material.problem(count))
        except ByheartError as error:
            if count == len(dataset):
                raise
            raise ByheartError(
                f"the first {count:,} sequences cannot be judged: {error.message.marked}"
            ) from error
    if target is not None and record.capacity:
        check_ids(material.part(counts[-1]))
    elif target is not None and not record.decoder:
        _check_labels(material, counts, on_conflict)

    rows, ran = rows_of(sweep, material, folder, where, watch)
    measured = tuple(cells(sweep, rows))
    saved, not_saved = None, None
    try:
        if target is not None and record.capacity:
            saved = _save_fullest(sweep, material, measured, target, watch)
        elif target is not None and (best := [x.smallest for x in measured if x.smallest]):
            saved = _save(best[-1], material, target, on_conflict, force, watch)
    except ByheartError as error:  # what was measured counts all the same
        not_saved = str(error)
    problem = material.problem(counts[-1])
    keys = {trial.key for trial in sweep.trials()}
    spent = sum(row["seconds"] for key, row in rows.items() if key in keys)
    known = problem.facts._asdict()
    kind = {"vectors": problem.reads_vectors, "squared": problem.squared}
    about = MeasuredData(name_of(data), counts[-1], length=problem.length, **kind, **known)
    tried = Trials(sweep.total(rows), ran, sweep.done(rows) - ran)
    seconds = Seconds(round(spent, 3), round(time.perf_counter() - started, 3))
    place = None if save is None else str(save)
    return Measurement(sweep, about, measured, tried, seconds, str(folder), place, saved, not_saved)


def _check_labels(material: Material, counts: tuple[int, ...], on_conflict: str) -> None:
    """ByheartError if it is not clear which label of a context a saved network would store."""
    from .certified.convert import tied

    problems = [material.problem(count) for count in counts]
    if on_conflict == "refuse" and any(x.best_accuracy < 1 for x in problems):
        raise ByheartError(
            "some contexts have two labels, and a saved network stores one per context; use "
            "`on_conflict='majority'` or `on_conflict='drop'`."
        )
    if on_conflict == "majority" and any(map(tied, problems)):
        raise ByheartError(
            "some contexts have two labels equally often, and neither is the one that training "
            "must make larger; use `on_conflict='drop'`."
        )


def _save(
    best: Point, material: Material, target: Path, on_conflict: str, force: bool, watch: Watch
) -> SavedModel:
    """Train the smallest again, and write the model of the first seed that can be certified."""
    from .certified import convert

    trials = [result.trial for result in best.results if result.reached]
    check_packages(trials[0].protocol)
    watch.stage("saving")
    for trial in trials:
        try:
            model, row = convert.model(trial, material.dataset, on_conflict, watch)
            if row["reached"]:
                break
            raise ByheartError(
                "its row says that it memorises, but trained again it does not; rows of another "
                "machine, or of other versions, cannot be repeated to the bit."
            )
        except ByheartError:
            if trial is trials[-1]:
                raise
    count = trial.data[SEQUENCES]
    held = material.part(count)
    if not trainable(material.architecture).decoder:
        held = resolve(held, contexts(held, positions=False), on_conflict)
    part = None if held is material.dataset else held  # data of its own, unlike the file's
    model.save(target, force=force, data=part)
    own = None if part is None else str(target / "data.jsonl")
    verification = model.record.verification
    assert verification is not None
    return SavedModel(str(target), dict(trial.sizes), count, own, verification.evidence)


def _save_fullest(
    sweep: Sweep, material: Material, cells_: tuple[Cell, ...], target: Path, watch: Watch
) -> SavedModel | None:
    """Train again what memorised the most bits, and write it; None if every training diverged."""
    results = [x for cell in cells_ for point in cell.points for x in point.results]
    known = [(x.bits, x.trial) for x in results if x.bits is not None]
    if not known:
        return None
    check_packages(sweep.protocol)
    watch.stage("saving")
    _, trial = max(known, key=lambda one: one[0])
    problem = material.of(trial)
    _, learner = train(trial, problem)
    tensors = {name: x.detach().numpy() for name, x in learner.named().items()}
    save_checkpoint(trial.architecture_for(problem), tensors, target)
    return SavedModel(str(target), dict(trial.sizes), trial.data[SEQUENCES], None, "observed")
