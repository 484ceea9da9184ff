"""compile, verify and methods: datasets to proved models."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from .data import refuse_existing

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..models.model import Model
    from ..models.verification import Verification

ENGINES = ("auto", "exact", "limbs")
PROVE_LIMIT = 60.0  # seconds


def compile(
    data: str | Path,
    output: str | Path,
    *,
    loading: Mapping | None = None,
    force: bool = False,
    write_data: bool = False,
    watch: Watch = SILENT,
    **options: object,
) -> dict:
    """Dataset to model folder, verified before it is written; options as in byheart.compile."""
    from ..data.load import load

    output = Path(output)
    check_output(output, force)
    started = time.perf_counter()
    watch.stage("loading")
    dataset = load(data, **(loading or {}))
    loaded = time.perf_counter() - started
    model = build(dataset, watch, **options)
    watch.stage("writing")
    save(model, output, force, dataset if write_data else None)
    return built_answer(model, loaded)


def check_output(output: Path, force: bool) -> None:
    """Refuse before any work: a folder that exists, or one that --force must not touch."""
    refuse_existing(output, force)
    if not output.exists():
        return
    if not output.is_dir() or (any(output.iterdir()) and not (output / "config.json").is_file()):
        raise ByheartError(f"{output} is not a model folder, so --force does not replace it.")


def build(dataset: "Dataset", watch: Watch, **options: object) -> "Model":
    """byheart.compile, watched."""
    from ..compiler.compiling import compile

    check_limit(options.get("prove_limit", PROVE_LIMIT))
    watch.stage("building", len(dataset))
    unset = (None, False, 0, "nonzero", "uniform")
    given = {
        name: value
        for name, value in options.items()
        if value not in unset or (name == "positions" and value is not None)
    }
    return compile(dataset, watch=watch, **given)  # type: ignore[arg-type]


def save(model: "Model", output: Path, force: bool, dataset: "Dataset | None") -> None:
    """Write the folder; data.jsonl holds the data the model was compiled on, conflicts resolved."""
    from ..models.source import resolved

    model.save(output, force=force, data=None if dataset is None else resolved(model, dataset))


def built_answer(model: "Model", loaded: float) -> dict:
    from .answer import answer

    return answer(model, model.about["verification"], {"load": loaded, **model.about["seconds"]})


def verify(
    directory: str | Path,
    data: str | Path | None = None,
    *,
    checker: bool = False,
    engine: str = "auto",
    sample: int | None = None,
    seed: int = 0,
    prove_limit: float = PROVE_LIMIT,
    watch: Watch = SILENT,
) -> dict:
    """Check a model folder; without data only its format, hashes and structure."""
    from ..models.folder import read as folder
    from ..models.source import load_for
    from .answer import answer

    _check_choices(engine, sample, data)
    check_limit(prove_limit)
    started = time.perf_counter()
    watch.stage("opening")
    model = folder.open(directory)
    _check_engine(model, engine)
    if checker:
        return _verify_apart(model, directory, data, sample, seed, watch)
    if data is None:
        return answer(model, None, {"load": time.perf_counter() - started})
    watch.stage("loading")
    dataset = load_for(model, data)
    loaded = time.perf_counter() - started
    verification = _evaluated(model, dataset, engine, sample, seed, prove_limit, watch)
    seconds = {"load": loaded, "verify": time.perf_counter() - started - loaded}
    return answer(model, verification, seconds, verification.failures)


def check_limit(seconds: object) -> None:
    """ByheartError if proving cannot be limited to so many seconds."""
    if not isinstance(seconds, int | float) or not seconds >= 0:  # nan is no limit
        raise ByheartError(f"--prove-limit is a number of seconds, 0 or more, not {seconds}.")


def _check_choices(engine: str, sample: int | None, data: str | Path | None) -> None:
    if engine not in ENGINES:
        raise ByheartError(f"--engine is one of {', '.join(ENGINES)}, not {engine!r}.")
    if sample is not None and sample < 1:
        raise ByheartError(f"--sample is an integer of 1 or more, not {sample}.")
    if sample is not None and data is None:
        raise ByheartError("--sample needs the data; name its file after the model folder.")


def _check_engine(model: "Model", engine: str) -> None:
    if engine != "auto" and not model.claim.conflicts:
        raise ByheartError("--engine is for models that store labels; leave it out.")


def _evaluated(
    model: "Model",
    dataset: "Dataset",
    engine: str,
    sample: int | None,
    seed: int,
    prove_limit: float,
    watch: Watch,
) -> "Verification":
    """The network's answers, and whether this is the data that the folder names."""
    from ..models.source import differences
    from ..models.verification import REFUTED, Verification, verify

    unfit = model.claim.unfitting(model, dataset)
    if unfit:
        return Verification(0, 0, REFUTED, engine, (unfit,))
    watch.stage("verifying", min(len(dataset), sample or len(dataset)))
    found = verify(model, dataset, engine, watch.advance, sample, seed, prove_limit)
    failures = (*differences(model, dataset), *_placed(found.failures, sample))
    return replace(found, evidence=REFUTED, failures=failures) if failures else found


def _placed(failures: tuple[str, ...], sample: int | None) -> list[str]:
    return [text if sample is None else f"in the sample, {text}" for text in failures]


def _verify_apart(
    model: "Model",
    directory: str | Path,
    data: str | Path | None,
    sample: int | None,
    seed: int,
    watch: Watch,
) -> dict:
    """The verdict of checker/check.py, run as its own process."""
    from ..models.checker import Checked, check
    from .answer import answer

    started = time.perf_counter()
    watch.stage("checking independently")
    found: Checked = check(model, Path(directory), data, sample, seed)
    seconds = {"verify": time.perf_counter() - started}
    result = answer(model, None, seconds, found.failures)
    return {**result, "verified": found.verified, "checker": found.verdict}


def methods() -> dict:
    """The constructions, as their file headers describe them."""
    from ..constructions import ALL

    return {
        "rows": [
            {
                "method": construction.name,
                "form": construction.form,
                "paper": construction.header.paper,
                "item": construction.header.item,
                "assumptions": construction.header.assumptions,
                "guarantee": construction.header.guarantee,
            }
            for construction in ALL
        ]
    }


def recall(
    directory: str | Path,
    tokens: Sequence[str] = (),
    *,
    file: str | Path | None = None,
    steps: int | None = None,
    trace: bool = False,
    draw: bool = False,
    seed: int = 0,
    watch: Watch = SILENT,
) -> dict:
    """The answers to one question, or to all of a file."""
    from ..models.folder import read as folder
    from ..models.questions import from_file, from_words
    from ..models.recall import ask, drawing

    watch.stage("opening")
    model = folder.open(directory)
    if file is not None and tokens:
        raise ByheartError("give either tokens or --file, not both.")
    choose = drawing(model, seed) if draw else None
    questions = from_file(model, file) if file is not None else [from_words(model, tokens)]
    watch.stage("asking")
    return {"answers": ask(model, questions, steps=steps, trace=trace, choose=choose)}
