"""verify: does a model hold what a dataset states, and on which evidence?"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..auditing.closed import is_taught
from ..claims.result import picked
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
from ..errors import ByheartError, at_least, check_seed, one_of
from ..exports.runtimes import RUNTIMES, observe
from ..machine.watch import SILENT, Watch
from ..models import source
from ..models.checker import CHECKERS, check
from ..models.kinds import kind_of
from ..models.model import Model
from ..models.sizes import counted
from .change import recompiled
from .configure import check_prove_limit
from .reading import data_for_model, model_of, weights_hash
from .summary import NOT_CHECKED, Summary, summarise
from .taught import verify_taught

STATED = ("method", "form", "search", "notes")  # what only the folder says of itself
STATED_OF_DATA = ("dataset", "conflicts", "bits.encoded", "bits.entropy", "bits.information")


@dataclass(frozen=True)
class Verified(Verification):
    """The outcome of `verify`: a Verification, and everything else that was found."""

    summary: Summary = field(kw_only=True)  # the model in numbers; with data, of this data
    checker: str | None = None  # the independent checker's verdict, if it was asked
    # of a stock checkpoint: judged on "texts" or only "tokens"; "evaluation": all that the
    # verified checker judges
    about: str | None = None
    copied: bool | None = None  # whether the checker read a copy of the data, if it was asked
    # which other library ran the model; empty if the data does not fit it
    runtime: Mapping[str, str] | None = None
    rebuilt: bool | None = None  # whether compiling the data again gives the same weights, if asked
    change: Mapping[str, Any] | None = None  # what the folder says of its edit, with the evidence
    reading: Mapping[str, Any] | None = None  # the options that the data was read with
    reading_notes: tuple[str, ...] | None = None  # what there is to say about how it was read
    # how many predictions, files and bytes were read, and of how many
    covered: Mapping[str, Any] | None = None
    command: str | None = None  # the one that accepts what was left out, if something was
    # columns that the model does not read, if nothing else was left out
    unclaimed: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()  # keys of the JSON that only the folder states

    @property
    def holds(self) -> bool:
        """Whether every prediction is proved, or there is evidence that was accepted beforehand.

        Without data: whether format, hashes and structure are right.
        """
        return super().holds if self.evidence is not None else not self.failures

    def json(self) -> dict:
        names = "checker about copied runtime verify=command reading reading_notes covered"
        names += " rebuilt change"
        optional = {name: x for name, x in picked(self, names).items() if x is not None}
        if self.runtime is not None:
            optional["runtime"] = dict(self.runtime) or None
        always = picked(self, "holds accepted=accept unchecked")
        return {**self.summary.json(), **optional, **always}


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
    checker: bool | str = False,
    rebuild: bool = False,
    runtime: str | None = None,
    base: str | Path | None = None,
    keep: Any = (),
    bound: int | None = None,
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
        checker: Run an independent checker, which shares no code with byheart, instead: True (or
            "independent"), or "verified", whose evaluation of exact networks is proved in Coq
            (`make verified` builds it) and which judges nothing but that evaluation.
        rebuild: Also compile the data again, and compare the weights: they are the same for the
            same version of byheart and, where a method computes with floats, the same versions of
            NumPy and SciPy on the same type of processor, however many cores it has.
        runtime: Run every prediction of a stock checkpoint in another library instead;
            "transformers" loads the folder itself.
        base: Of a taught folder: the folder of the checkpoint that it was before.
        keep: Of a taught folder: texts or tables at whose positions it must be what it was.
        bound: Of a taught folder: at how many contexts and kept positions, those with the least
            room, rounding is bounded to first order.
        watch: Where progress is reported.
        **loading: How to read the data: keyword arguments of `load`. Those that leave out a part
            of it (`length`, columns, `empty`, ...) count only if they are given here, whatever
            the model says; where they are not, nothing is proved, and `failures` says why.

    Returns:
        The verification: `holds`, `evidence`, `checked`, `correct`, `failures`, and `fit` of
        distributions (of a taught folder, a `TaughtVerified`); `.json()` is what `byheart verify
        --json` prints.

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
        if name not in source.TYPES:
            raise TypeError(f"verify() got an unexpected keyword argument {name!r}")
    one_of(ENGINES, engine=engine)
    at_least(1, sample=sample, bound=bound)
    check_seed(seed)
    check_prove_limit(prove_limit)
    accepted = checked_accept(accept)
    if is_taught(model):
        for name, given in (("checker", checker), ("runtime", runtime), ("sample", sample),
                            ("rebuild", rebuild)):  # fmt: skip
            if given:
                raise ByheartError(
                    f"`{name}=...` does not apply to a taught folder; leave it out (its structure "
                    "is checked independently by checker/check.py DIR --base MODEL)."
                )
        return verify_taught(model, data, base, keep, accepted, bound, loading, watch)
    for name, value in (("base", base), ("keep", keep or None), ("bound", bound)):
        if value is not None:
            raise ByheartError(f"`{name}=...` is for a folder that was taught; leave it out.")
    checker = "independent" if checker is True else checker or ""
    one_of(CHECKERS, checker=checker or None)
    one_of(RUNTIMES, runtime=runtime)
    if data is None:
        needing = {"runtime": runtime, "sample": sample, "rebuild": rebuild or None, **loading}
        for name in needing:
            if name in loading or needing[name] is not None:
                raise ByheartError(
                    f"`{name}=...` needs the data; name its file after the model folder."
                )
    if runtime is not None and (sample is not None or checker):
        other = "`checker=True`" if checker else "`sample=...`"
        raise ByheartError(f"`runtime=...` runs every prediction itself; leave out {other}.")
    started = time.perf_counter()
    watch.stage("opening")
    folder = Path(model) if isinstance(model, str | Path) else None
    model = model_of(model, "verify")
    if engine != "auto" and not model.claim.conflicts:
        raise ByheartError("`engine=...` is for models that store labels; leave it out.")
    dataset = held = about = None
    if data is not None:
        watch.stage("loading")
        dataset = data_for_model(model, data, loading)
        if not len(dataset):
            raise ByheartError("the data has no sequences.")
        held = kind_of(model).prove.reads(model, dataset)
        if model.claim.texts:
            spelled = held is not dataset and dataset.texts and "length" not in held.left_out
            about = "texts" if spelled else "tokens"
        dataset = replace(dataset, left_out=held.left_out, notes=held.notes)
    seconds = {"load": time.perf_counter() - started}
    started = time.perf_counter()
    checked = bool(checker) or held is not None
    outcome, ran, verification = None, None, NOT_CHECKED
    if checker:
        watch.stage("checking independently")
        path = Path(data) if isinstance(data, str | Path) else None
        with TemporaryDirectory(prefix="byheart-") as place:
            if folder is None:
                model.save(Path(place) / "model")
            texts = None if dataset is None else kind_of(model).prove.texts(model, dataset)
            where = folder or Path(place) / "model"
            outcome = check(where, path, held, texts, sample, seed, checker)
        verification = outcome.verification
        if held is not None and not verification.failures:
            # a tokenizer that the data was not split by, or one that the checker splits otherwise
            unfit = kind_of(model).prove.unfitting(model, held)
            differing = (unfit,) if unfit else tuple(source.differences(model, held))
            if differing:
                verification = Verification(0, 0, None, "checker", differing)
    elif held is not None:
        how = Judging(engine, sample, seed, prove_limit, progress or watch.advance)
        verification, ran = _judged(model, held, how, runtime, folder, watch)
    if checked:
        seconds["verify"] = time.perf_counter() - started
    said = reading = told = whole = settled = None
    columns: tuple[str, ...] = ()
    if dataset is not None and held is not None:
        left_out = [] if isinstance(data, Dataset) else source.unaccepted(data, dataset, loading)
        if left_out:
            alone = len(left_out) == 1 + ("header" in dataset.left_out)  # which names them
            columns = source.unclaimed(data, dataset, loading) if alone else ()
            name = str(data) if isinstance(data, str | Path) else "DATA"
            said = source.verify_command(model, str(folder or "DIR"), name, reading=dataset.loading)
        left_out += source.unspelled(data, dataset)
        if left_out:
            evidence = REFUTED if verification.refuted else None
            failures = (*left_out, *verification.failures)
            verification = replace(verification, evidence=evidence, failures=failures)
        _, settled, conflicts = source.settlement(model, held)
        record = counted(model, held, kind_of(model).prove.contexts(model, held))
        model = replace(model, record=replace(record, conflicts=conflicts))
        reading, whole = dict(dataset.loading), source.covered(data, dataset)
        told = (*dataset.notes, *source.skipped_note(dataset))
    same = None
    if rebuild and settled is not None:
        watch.stage("building again")
        again = recompiled(model, settled, prove_limit, watch)
        same = weights_hash(again) == weights_hash(model, folder)
        if not same:
            wrong = (
                "compiling the data again gives other weights; the same are promised for the same "
                "version of byheart and, where a method computes with floats, for the same "
                "versions of NumPy and SciPy on the same type of processor"
            )
            failures = (*verification.failures, wrong)
            verification = replace(verification, evidence=REFUTED, failures=failures)
    change = None
    if model.record.change is not None:
        evidence = None if same is None else PROVED if same else REFUTED
        change = {**model.record.change, "evidence": evidence}
    return Verified(
        **vars(replace(verification, accept=accepted)),
        summary=summarise(model, verification if checked else None, seconds),
        checker=None if outcome is None else outcome.verdict,
        about=about if outcome is None else outcome.about,
        copied=None if outcome is None else outcome.copied,
        runtime=ran,
        rebuilt=same,
        change=change,
        reading=reading,
        reading_notes=told,
        covered=whole,
        command=said,
        unclaimed=columns,
        unchecked=STATED if dataset is not None else STATED + STATED_OF_DATA,
    )


def _judged(
    model: Model,
    dataset: Dataset,
    how: Judging,
    runtime: str | None,
    folder: Path | None,
    watch: Watch,
) -> tuple[Verification, dict[str, str] | None]:
    """The evidence that the model keeps its claim and that this is its data; the runtime's name."""
    prove, differing = kind_of(model).prove, source.differences(model, dataset)
    ran: dict[str, str] | None = None if runtime is None else {}
    unfit = prove.unfitting(model, dataset)
    if unfit:
        return Verification(0, 0, None, runtime or how.engine, (unfit, *differing)), ran
    if runtime is None:
        watch.stage("verifying", min(len(dataset), how.sample or len(dataset)))
        outcome = prove.verify(model, dataset, how)
    else:
        watch.stage(f"running in {runtime}", len(dataset))
        outcome, library = observe(model, dataset, runtime, watch.advance, folder)
        ran = library.json()
    where = "" if how.sample is None else "in the sample, "
    wrong = (*differing, *(f"{where}{x}" for x in outcome.failures))
    return (replace(outcome, evidence=REFUTED, failures=wrong) if wrong else outcome), ran


def checked_accept(accept: Sequence[str]) -> tuple[str, ...]:
    """The evidence that is accepted beside a proof; ByheartError if a word is not evidence."""
    accept = (accept,) if isinstance(accept, str) else tuple(accept)
    for word in accept:
        one_of(ACCEPTED, accept=word)
    return accept
