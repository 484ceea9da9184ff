"""verify: does a model hold what a dataset states, and on which evidence?"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..claims.verification import (
    ACCEPTED,
    ENGINES,
    PROVE_LIMIT,
    PROVED,
    REFUTED,
    Judging,
    Verification,
)
from ..data.dataset import Dataset
from ..data.load import is_corpus
from ..errors import ByheartError, OptionError
from ..exports.runtimes import RUNTIMES, observe
from ..machine.watch import SILENT, Watch
from ..models.checker import Outcome, check
from ..models.kinds import kind_of
from ..models.model import Model
from ..models.sizes import counted
from ..models.source import (
    TYPES,
    covered,
    differences,
    settlement,
    unaccepted,
    verify_command,
)
from .change import recompiled
from .configure import check_prove_limit
from .reading import data_for_model, model_of, weights_hash
from .summary import NOT_CHECKED, Summary, summarise

STATED = ("method", "form", "search", "notes")  # what only the folder says of itself
STATED_OF_DATA = ("dataset", "conflicts", "bits.encoded", "bits.entropy", "bits.information")


@dataclass(frozen=True)
class Verified(Verification):
    """The outcome of `verify`: a Verification, and everything else that was found.

    summary    the model in numbers; with data, those of this data
    checker    the independent checker's verdict, if it was asked
    copied     whether the checker read a copy of the data, as byheart reads it
    runtime    which other library ran the model; empty if the data does not fit it
    rebuilt    whether compiling the data again gives the same weights; None if that was not asked
    change     what the folder says of the edit that it comes from, with the evidence for it
    reading    the options that the data was read with; None without data
    covered    how many predictions of the file were read, and of how many
    command    the command that accepts what was left out, if something was
    unchecked  keys of the JSON that only the folder states
    """

    summary: Summary = field(kw_only=True)
    checker: str | None = None
    copied: bool = False
    runtime: Mapping[str, str] | None = None
    rebuilt: bool | None = None
    change: Mapping[str, Any] | None = None
    reading: Mapping[str, Any] | None = None
    covered: Mapping[str, int] | None = None
    command: str | None = None
    unchecked: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every prediction is proved, or there is evidence that was accepted beforehand.

        Without data: whether format, hashes and structure are right.
        """
        return super().holds if self.evidence is not None else not self.failures

    def json(self) -> dict:
        """The answer of `byheart verify --json`."""
        answer = self.summary.json()
        if self.checker is not None:
            answer |= {"checker": self.checker, "copied": self.copied}
        if self.runtime is not None:
            answer["runtime"] = dict(self.runtime) or None
        if self.command is not None:
            answer["verify"] = self.command
        if self.reading is not None and self.covered is not None:
            answer |= {"reading": dict(self.reading), "covered": dict(self.covered)}
        if self.rebuilt is not None:
            answer["rebuilt"] = self.rebuilt
        if self.change is not None:
            answer["change"] = dict(self.change)
        return {
            **answer,
            "holds": self.holds,
            "accepted": list(self.accept),
            "unchecked": list(self.unchecked),
        }


def verify(
    model: Model | str | Path,
    data: Any = None,
    engine: str = "auto",
    progress: Callable[[int], None] | None = None,
    sample: int | None = None,
    seed: int = 0,
    prove_limit: float = PROVE_LIMIT,
    accept: Sequence[str] = (),
    *,
    checker: bool = False,
    rebuild: bool = False,
    runtime: str | None = None,
    watch: Watch = SILENT,
    **loading: Any,
) -> Verified:
    """Judge every prediction of a dataset, as it stands there, by what the model claims.

    Labels are evaluated in exact arithmetic, distributions are enclosed by rigorous bounds.

    Args:
        model: What `compile` returned or `open` read, or the path of its folder.
        data: The data to judge it on: a Dataset, or whatever `load` reads (a path, a data frame,
            records, pairs), which is then read as the data of the model was. Without data only
            format, hashes and structure of the folder are checked.
        engine: For labels: "auto", "exact" (Python integers) or "limbs" (compiled).
        progress: Called with the number of items done.
        sample: Judge only this many items; the evidence is then "sampled".
        seed: Random seed of the sample.
        prove_limit: Seconds; where proving distributions takes longer, they are observed.
        accept: Weaker evidence that is enough: "sampled", "observed". By default only what is
            proved holds.
        checker: Run the independent checker, which shares no code with byheart, instead.
        rebuild: Also compile the data again, and compare the weights.
        runtime: Run every prediction of a stock checkpoint in another library instead.
        watch: Where progress is reported.
        **loading: How to read the data: keyword arguments of `load`. Those that leave out a part
            of it (`length`, columns, `empty`, ...) count only if they are given here, whatever
            the model says; where they are not, nothing is proved, and `failures` says why.

    Returns:
        The verification: `holds`, `evidence`, `checked`, `correct`, `failures`, and `fit` of
        distributions; `.json()` is what `byheart verify --json` prints.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> byheart.verify(byheart.compile(data), data).evidence
        'proved'
        >>> pairs = [("The capital of France is", "Paris"), ("The capital of Peru is", "Lima")]
        >>> byheart.verify(byheart.compile(pairs), pairs, checker=True).holds
        True
    """
    for name in loading:
        if name not in TYPES:
            raise TypeError(f"verify() got an unexpected keyword argument {name!r}")
    if engine not in ENGINES:
        raise OptionError("engine", engine, f"must be one of {', '.join(ENGINES)}")
    if sample is not None and (not isinstance(sample, int) or sample < 1):
        raise OptionError("sample", sample, "must be an integer of at least 1")
    check_prove_limit(prove_limit)
    _check_runtime(runtime, data, sample, checker)
    accepted = checked_accept(accept)
    if data is None:
        needing = {"sample": sample is not None, "rebuild": rebuild}
        for name in (*needing, *loading):
            if needing.get(name, True):
                raise ByheartError(
                    f"`{name}=...` needs the data; name its file after the model folder."
                )
    started = time.perf_counter()
    watch.stage("opening")
    folder = Path(model) if isinstance(model, str | Path) else None
    model = model_of(model, "verify")
    if engine != "auto" and not model.claim.conflicts:
        raise ByheartError("`engine=...` is for models that store labels; leave it out.")
    dataset = held = None
    if data is not None:
        watch.stage("loading")
        dataset = data_for_model(model, data, loading)
        if not len(dataset):
            raise ByheartError("the data has no sequences.")
        held = kind_of(model).prove.reads(model, dataset)
    seconds = {"load": time.perf_counter() - started}
    started = time.perf_counter()
    how = Judging(engine, sample, seed, prove_limit, progress or watch.advance)
    outcome, ran, found = None, None, NOT_CHECKED
    if checker:
        watch.stage("checking independently")
        outcome = _checked(model, folder, data, held, sample, seed)
        counts = (outcome.checked, outcome.correct, outcome.evidence)
        found = Verification(*counts, engine="checker", failures=outcome.failures)
    elif held is not None and runtime is not None:
        found, ran = _run_in(model, held, runtime, watch)
    elif held is not None:
        found = _judged(model, held, how, watch)
    checked = outcome is not None or held is not None
    if checked:
        seconds["verify"] = time.perf_counter() - started
    command = reading = whole = None
    if dataset is not None and held is not None:
        left_out = [] if isinstance(data, Dataset) else unaccepted(data, dataset, loading)
        if left_out:
            command = verify_command(model, str(folder or "DIR"), _name(data))
            found = found.short_of(left_out)
        model = _recounted(model, held)
        reading = dict(dataset.loading)
        corpus = is_corpus(data, dataset.loading.get("format"))  # type: ignore[arg-type]
        whole = covered(dataset, corpus)
    same = None
    if rebuild and dataset is not None and held is not None:
        watch.stage("building again")
        _, settled, _ = settlement(model, held)
        again = recompiled(model, settled, prove_limit, watch)
        same = weights_hash(again) == weights_hash(model, folder)
        if not same:
            wrong = "compiling the data again gives other weights"
            found = replace(found, evidence=REFUTED, failures=(*found.failures, wrong))
    change = None
    if model.record.change is not None:
        evidence = None if same is None else PROVED if same else REFUTED
        change = {**model.record.change, "evidence": evidence}
    summary = summarise(model, found if checked else None, seconds, found.failures)
    return Verified(
        **vars(replace(found, accept=accepted)),
        summary=summary,
        checker=None if outcome is None else outcome.verdict,
        copied=outcome is not None and outcome.copied,
        runtime=ran,
        rebuilt=same,
        change=change,
        reading=reading,
        covered=whole,
        command=command,
        unchecked=STATED if dataset is not None else STATED + STATED_OF_DATA,
    )


def _check_runtime(runtime: str | None, data: Any, sample: int | None, checker: bool) -> None:
    """ByheartError if a runtime has another name, or does not go with the other options."""
    if runtime is None:
        return
    if runtime not in RUNTIMES:
        raise OptionError("runtime", runtime, f"must be one of {', '.join(RUNTIMES)}")
    if data is None:
        raise ByheartError("`runtime=...` needs the data; name its file after the model folder.")
    if sample is not None or checker:
        other = "`checker=True`" if checker else "`sample=...`"
        raise ByheartError(f"`runtime=...` runs every prediction itself; leave out {other}.")


def _name(data: Any) -> str:
    return str(data) if isinstance(data, str | Path) else "DATA"


def _checked(
    model: Model,
    folder: Path | None,
    data: Any,
    held: Dataset | None,
    sample: int | None,
    seed: int,
) -> Outcome:
    """The answer of the independent checker about the folder; a model without one is written."""
    path = Path(data) if isinstance(data, str | Path) else None
    if folder is not None:
        return check(folder, path, held, sample, seed)
    with TemporaryDirectory(prefix="byheart-") as place:
        model.save(Path(place) / "model")
        return check(Path(place) / "model", path, held, sample, seed)


def _judged(model: Model, dataset: Dataset, how: Judging, watch: Watch) -> Verification:
    """The evidence that the model keeps its claim about the data, and that this is its data."""
    unfit = kind_of(model).prove.unfitting(model, dataset)
    if unfit:
        return Verification(0, 0, REFUTED, how.engine, (unfit, *differences(model, dataset)))
    watch.stage("verifying", min(len(dataset), how.sample or len(dataset)))
    found = kind_of(model).prove.verify(model, dataset, how)
    where = "" if how.sample is None else "in the sample, "
    wrong = (*differences(model, dataset), *(f"{where}{x}" for x in found.failures))
    return replace(found, evidence=REFUTED, failures=wrong) if wrong else found


def _run_in(
    model: Model, dataset: Dataset, runtime: str, watch: Watch
) -> tuple[Verification, dict[str, str]]:
    """The evidence of a run in another library, and which library it was."""
    unfit = kind_of(model).prove.unfitting(model, dataset)
    if unfit:
        return Verification(0, 0, REFUTED, runtime, (unfit, *differences(model, dataset))), {}
    watch.stage(f"running in {runtime}", len(dataset))
    found, ran = observe(model, dataset, runtime, watch.advance)
    wrong = (*differences(model, dataset), *found.failures)
    found = replace(found, evidence=REFUTED, failures=wrong) if wrong else found
    return found, ran.json()


def _recounted(model: Model, dataset: Dataset) -> Model:
    """The model with counts of this data instead of those that its folder states."""
    contexts = kind_of(model).prove.contexts(model, dataset)
    _, _, conflicts = settlement(model, dataset)
    record = counted(model, dataset, contexts)
    return replace(model, record=replace(record, conflicts=conflicts))


def checked_accept(accept: Sequence[str]) -> tuple[str, ...]:
    """The evidence that is accepted beside a proof; ByheartError if a word is not evidence."""
    accept = (accept,) if isinstance(accept, str) else tuple(accept)
    for word in accept:
        if word not in ACCEPTED:
            raise OptionError("accept", word, f"must be one of {', '.join(ACCEPTED)}")
    return accept
