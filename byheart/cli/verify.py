"""verify: does a model folder hold what it claims?"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..models.checker import check
from ..models.folder.read import open as open_folder
from ..models.source import differences, load_for
from ..models.verification import PROVE_LIMIT, REFUTED, Verification, verify
from .options import Directory, Json, ProveLimit
from .output import (
    NOT_CHECKED,
    check_prove_limit,
    finish,
    model_answer,
    number,
    rows,
    size_rows,
    stores_distributions,
    timed,
    verdict,
)
from .progress import watching

ENGINES = ("auto", "exact", "limbs")


def command(
    directory: Directory,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="What it was compiled from.")
    ] = None,
    checker: Annotated[
        bool, typer.Option("--checker", help="Run the independent checker instead.")
    ] = False,
    engine: Annotated[str, typer.Option(help="auto, exact or limbs.")] = "auto",
    sample: Annotated[
        int | None, typer.Option(metavar="K", help="Only K random sequences: not a proof.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the sample.")] = 0,
    prove_limit: ProveLimit = PROVE_LIMIT,
    json: Json = False,
) -> None:
    """Check a model folder; with DATA, every label in exact arithmetic.

    A model that stores distributions: every context's divergence from the data, by rigorous bounds.
    """
    with watching() as watch:
        answer = verified(directory, data, checker, engine, sample, seed, prove_limit, watch)
    finish(answer, json, view)
    if answer["failures"]:
        raise typer.Exit(1)


def verified(
    directory: Path,
    data: Path | None = None,
    checker: bool = False,
    engine: str = "auto",
    sample: int | None = None,
    seed: int = 0,
    prove_limit: float = PROVE_LIMIT,
    watch: Watch = SILENT,
) -> dict:
    """The answer of the command; without data only format, hashes and structure are checked."""
    if engine not in ENGINES:
        raise ByheartError(f"--engine must be one of {', '.join(ENGINES)}, not {engine!r}.")
    if sample is not None and sample < 1:
        raise ByheartError(f"--sample must be an integer of at least 1, not {sample}.")
    if sample is not None and data is None:
        raise ByheartError("--sample needs the data; name its file after the model folder.")
    check_prove_limit(prove_limit)
    started = time.perf_counter()
    watch.stage("opening")
    model = open_folder(directory)
    if engine != "auto" and not model.claim.conflicts:
        raise ByheartError("--engine is for models that store labels; leave it out.")
    if checker:
        started = time.perf_counter()
        watch.stage("checking independently")
        outcome = check(model, Path(directory), data, sample, seed)
        seconds = {"verify": time.perf_counter() - started}
        answer = model_answer(model, None, seconds, outcome["failures"])
        counts = {key: outcome[key] for key in NOT_CHECKED}
        return {**answer, "verified": counts, "checker": outcome["verdict"]}
    if data is None:
        return model_answer(model, None, {"load": time.perf_counter() - started})
    watch.stage("loading")
    dataset = load_for(model, data)
    loaded = time.perf_counter() - started
    unfit = model.claim.unfitting(model, dataset)
    if unfit:
        found = Verification(0, 0, REFUTED, engine, (unfit,))
    else:
        watch.stage("verifying", min(len(dataset), sample or len(dataset)))
        found = verify(model, dataset, engine, watch.advance, sample, seed, prove_limit)
        where = "" if sample is None else "in the sample, "
        wrong = (*differences(model, dataset), *(f"{where}{x}" for x in found.failures))
        found = replace(found, evidence=REFUTED, failures=wrong) if wrong else found
    seconds = {"load": loaded, "verify": time.perf_counter() - started - loaded}
    return model_answer(model, found, seconds, found.failures)


def view(answer: dict) -> Group:
    """The verdict, the failures, and the size of the network."""
    checker, data = answer.get("checker"), answer["dataset"]
    first = [Text(f"the independent checker says {checker}")] if checker else []
    failures = [Text(f"  {sentence}") for sentence in answer["failures"]]
    about: RenderableType = Text(
        f"{answer['method']}: {number(data['sequences'])} sequences, "
        f"{number(answer['parameters']['nonzero'])} nonzero parameters, "
        f"depth {number(answer['depth'])}"
    )
    if stores_distributions(answer):
        about = rows(size_rows(answer))
    return Group(*first, verdict(answer), *failures, about, timed(answer))
