"""verify: does a model folder hold what a file states?"""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ..compiler.compiling import sizes_of
from ..compiler.editing import recompiled
from ..data.dataset import Dataset
from ..data.load import is_corpus
from ..errors import ByheartError
from ..exports.runtimes import RUNTIMES, observe
from ..machine.watch import SILENT, Watch
from ..machine.words import brief
from ..models.checker import check
from ..models.folder.read import open as open_folder
from ..models.model import Model
from ..models.source import (
    covered,
    differences,
    load_for,
    settlement,
    unaccepted,
    verify_command,
)
from ..models.verification import (
    PROVE_LIMIT,
    PROVED,
    REFUTED,
    Verification,
    checked_accept,
    verify,
)
from . import options
from .messages import flags
from .options import Directory, Json, ProveLimit
from .output import (
    bit_rows,
    check_prove_limit,
    copied,
    finish,
    model_answer,
    number,
    plural,
    recites,
    rows,
    size_rows,
    stores_distributions,
    timed,
    verdict,
)
from .progress import watching

ENGINES = ("auto", "exact", "limbs")
SAID = ("method", "form", "search", "notes")  # what only the folder says of itself
SAID_OF_DATA = ("dataset", "conflicts", "bits.encoded", "bits.entropy", "bits.information")


@options.repeating
def command(
    directory: Directory,
    loading: options.Loading,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="The file that it is judged on.")
    ] = None,
    accept: options.Accept = None,
    checker: Annotated[
        bool, typer.Option("--checker", help="Run the independent checker instead.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Also compile DATA again, and compare the weights.")
    ] = False,
    engine: Annotated[str, typer.Option(help="auto, exact or limbs.")] = "auto",
    sample: Annotated[
        int | None, typer.Option(metavar="K", help="Only K random sequences: not a proof.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the sample.")] = 0,
    prove_limit: ProveLimit = PROVE_LIMIT,
    runtime: Annotated[
        str | None,
        typer.Option(
            help=f"Stock checkpoints: run in {', '.join(RUNTIMES[:-1])} or {RUNTIMES[-1]}.",
            autocompletion=options.beginning(RUNTIMES),
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check a model folder; with DATA, every prediction of that file as it stands there.

    Labels are evaluated in exact arithmetic; of a model that stores distributions, every context's
    divergence from the data is enclosed by rigorous bounds; of a stock checkpoint in float32, the
    margin of every next token (16-bit types are observed in NumPy). --runtime runs every prediction
    in another library instead. The exit code is 0 only if every prediction of the file is proved,
    or there is evidence that --accept names.
    """
    how: dict[str, Any] = {"engine": engine, "sample": sample, "seed": seed}
    how |= {"prove_limit": prove_limit, "runtime": runtime}
    with watching() as watch:
        answer = verified(
            directory, data, checker, loading, accept or (), rebuild, watch=watch, **how
        )
    finish(answer, json, view)
    if "verify" in answer and not json:
        copied(f"\nto accept what was left out, run: {answer['verify']}")
    if not answer["holds"]:
        raise typer.Exit(1)


def verified(
    directory: Path,
    data: Path | None = None,
    checker: bool = False,
    loading: options.Loading | None = None,
    accept: Sequence[str] = (),
    rebuild: bool = False,
    *,
    engine: str = "auto",
    sample: int | None = None,
    seed: int = 0,
    prove_limit: float = PROVE_LIMIT,
    runtime: str | None = None,
    watch: Watch = SILENT,
) -> dict:
    """The answer of the command; without data only format, hashes and structure are checked.

    loading  the options of the file that the user gave
    """
    if engine not in ENGINES:
        raise ByheartError(f"--engine must be one of {', '.join(ENGINES)}, not {engine!r}.")
    if sample is not None and sample < 1:
        raise ByheartError(f"--sample must be an integer of at least 1, not {sample}.")
    check_prove_limit(prove_limit)
    check_runtime(runtime, data, sample, checker)
    accepted, given = checked_accept(accept), dict(loading or {})
    if data is None:
        needing = {"sample": sample is not None, "rebuild": rebuild}
        for name in (*needing, *given):
            if needing.get(name, True):
                raise ByheartError(
                    f"--{name} needs the data; name its file after the model folder."
                )
    started = time.perf_counter()
    watch.stage("opening")
    model = open_folder(directory)
    if engine != "auto" and not model.claim.conflicts:
        raise ByheartError("--engine is for models that store labels; leave it out.")
    dataset = None
    if data is not None:
        watch.stage("loading")
        dataset = load_for(model, data, given)
    held = None if dataset is None else model.claim.reads(model, dataset)
    seconds = {"load": time.perf_counter() - started}
    started = time.perf_counter()
    more: dict[str, Any] = {}
    found: Verification | None = None
    if checker:
        watch.stage("checking independently")
        outcome = check(Path(directory), data, held, sample, seed)
        more = {"checker": outcome["verdict"], "copied": outcome["copied"]}
        counts = {key: outcome[key] for key in ("checked", "correct", "evidence")}
        found = Verification(**counts, engine="checker", failures=tuple(outcome["failures"]))
    elif held is not None and runtime is not None:
        found, more["runtime"] = run_in(model, held, runtime, watch)
    elif held is not None:
        found = judged(model, held, watch, engine, sample, seed, prove_limit)
    if found is not None:
        seconds["verify"] = time.perf_counter() - started
        found = replace(found, accept=accepted)
    if found is not None and dataset is not None and data is not None:
        left_out = list(map(flags, unaccepted(data, dataset, given)))
        if left_out:
            more["verify"] = verify_command(model, str(directory), str(data))
            found = found.short_of(left_out)
        model = recounted(model, held)  # type: ignore[arg-type]
        corpus = is_corpus(data, dataset.loading.get("format"))  # type: ignore[arg-type]
        more |= {"reading": dict(dataset.loading), "covered": covered(dataset, corpus)}
    if rebuild and dataset is not None and found is not None:
        watch.stage("building again")
        same = rebuilt(model, dataset, Path(directory), prove_limit, watch)
        more["rebuilt"] = same
        if not same:
            wrong = "compiling the data again gives other weights"
            found = replace(found, evidence=REFUTED, failures=(*found.failures, wrong))
    if "change" in model.about:
        done = more.get("rebuilt")
        evidence = None if done is None else PROVED if done else REFUTED
        more["change"] = {**model.about["change"], "evidence": evidence}
    failures = found.failures if found is not None else ()
    return {
        **model_answer(model, found, seconds, failures),
        **more,
        "holds": not failures if found is None or found.evidence is None else found.holds,
        "accepted": list(accepted),
        "unchecked": list(SAID if dataset is not None else SAID + SAID_OF_DATA),
    }


def judged(
    model: Model,
    dataset: Dataset,
    watch: Watch,
    engine: str,
    sample: int | None,
    seed: int,
    prove_limit: float,
) -> Verification:
    """The evidence that the model keeps its claim about the data, and that this is its data."""
    unfit = model.claim.unfitting(model, dataset)
    if unfit:
        return Verification(0, 0, REFUTED, engine, (unfit, *differences(model, dataset)))
    watch.stage("verifying", min(len(dataset), sample or len(dataset)))
    found = verify(model, dataset, engine, watch.advance, sample, seed, prove_limit)
    where = "" if sample is None else "in the sample, "
    wrong = (*differences(model, dataset), *(f"{where}{x}" for x in found.failures))
    return replace(found, evidence=REFUTED, failures=wrong) if wrong else found


def check_runtime(
    runtime: str | None, data: Path | None, sample: int | None, checker: bool
) -> None:
    """ByheartError if a runtime is no name of one, or does not go with the other options."""
    if runtime is None:
        return
    if runtime not in RUNTIMES:
        raise ByheartError(f"--runtime must be one of {', '.join(RUNTIMES)}, not {runtime!r}.")
    if data is None:
        raise ByheartError("--runtime needs the data; name its file after the model folder.")
    if sample is not None or checker:
        other = "--checker" if checker else "--sample"
        raise ByheartError(f"--runtime runs every prediction itself; leave out {other}.")


def run_in(
    model: Model, dataset: Dataset, runtime: str, watch: Watch
) -> tuple[Verification, dict[str, str] | None]:
    """The evidence of a run in another library, and which library it was."""
    unfit = model.claim.unfitting(model, dataset)
    if unfit:
        return Verification(0, 0, REFUTED, runtime, (unfit, *differences(model, dataset))), None
    watch.stage(f"running in {runtime}", len(dataset))
    found, ran = observe(model, dataset, runtime, watch.advance)
    wrong = (*differences(model, dataset), *found.failures)
    found = replace(found, evidence=REFUTED, failures=wrong) if wrong else found
    return found, ran.json()


def rebuilt(
    model: Model, dataset: Dataset, directory: Path, prove_limit: float, watch: Watch
) -> bool:
    """Whether the folder's options make of this data the very bytes of its weights."""
    _, held, _ = settlement(model, model.claim.reads(model, dataset))
    made = recompiled(model, held, prove_limit, watch)
    digest = hashlib.sha256()
    for piece in made.claim.weights(made):
        digest.update(piece)
    with open(directory / model.claim.weights_file, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest.hexdigest()


def recounted(model: Model, dataset: Dataset) -> Model:
    """The model with counts of this data instead of those that its folder states."""
    contexts = model.claim.contexts(model, dataset)
    _, _, conflicts = settlement(model, dataset)
    counted = sizes_of(dataset, model.network, contexts) | {"conflicts": conflicts}
    return replace(model, about=model.about | counted)


def view(answer: dict) -> Group:
    """The verdict, the failures, how the file was read, and the size of the network."""
    checker, evidence = answer.get("checker"), answer["verified"]["evidence"]
    parts: list[RenderableType] = []
    if checker:
        about = ", about a copy of the data as byheart reads it" if answer["copied"] else ""
        parts.append(Text(f"the independent checker says {checker}{about}"))
    parts.append(verdict(answer))
    if not answer["failures"] and not answer["holds"]:
        parts.append(Text(f"  that is no proof; --accept {evidence} takes it for enough"))
    elif evidence in answer["accepted"]:
        parts.append(Text(f"  that is no proof, and enough by --accept {evidence}"))
    # only the verdict begins at the left, whatever the words of the folder are
    parts += [Padding(Text(sentence), (0, 0, 0, 2)) for sentence in answer["failures"]]
    if answer.get("rebuilt"):
        parts.append(Text("compiling the data again gives the same weights, byte for byte"))
    if "change" in answer:
        parts.append(Text(changed(answer["change"], recites(answer))))
    if "reading" in answer:
        parts.append(Text(f"read as {reading(answer)}"))
    if stores_distributions(answer) or recites(answer):
        sizes = size_rows(answer)
    else:
        depth = f"nonzero; depth {number(answer['depth'])}"
        sizes = [
            ("method", brief(answer["method"]), "by the folder's own account"),
            ("parameters", number(answer["parameters"]["nonzero"]), depth),
        ]
        if "reading" in answer:  # there is data, so the bits that it needs are known
            sizes += bit_rows(answer["bits"])
    return Group(*parts, rows(sizes), timed(answer))


def changed(change: dict, tokenizer: bool) -> str:
    """What the folder says of its change, and on what evidence.

    tokenizer  whether the model has one of its own, which the data was split by
    """
    says = f"the folder says that it comes from another one by {change['kind']}"
    split = " with this tokenizer" if tokenizer else ""
    means = {
        "proved": f"proved: it is what compile makes of this data{split}, whatever was there "
        "before",
        "refuted": "refuted: it is not what compile makes of this data",
        None: "not checked: --rebuild does",
    }
    return f"{says}; {means[change['evidence']]}"


def reading(answer: dict) -> str:
    """How the file was read, and how much of it."""
    chosen = []
    for name, value in answer["reading"].items():
        shown = " ".join(map(str, value)) if isinstance(value, list) else str(value)
        shown = shown if shown.strip() else repr(shown)  # a delimiter
        chosen.append(f"{name} {shown}")
    count, settled = answer["covered"], answer["conflicts"]
    how = ", ".join(chosen) or "sequences with their labels"
    words = {
        "relabelled": ("label", "that the folder changed"),
        "dropped": ("sequence", "it left out"),
    }
    told = [f"{plural(settled[x], y)} {z}" for x, (y, z) in words.items() if settled.get(x)]
    size = f"{number(count['predictions'])} of {plural(count['of'], 'prediction')}"
    return "; ".join([f"{how}: {size}", *told])
