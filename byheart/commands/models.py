"""compile, verify and methods: datasets to proved models."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from .data import refuse_existing
from .watch import SILENT, Watch

if TYPE_CHECKING:
    from ..certificate import Verification
    from ..dataset import Dataset
    from ..model import Model

ENGINES = ("auto", "exact", "limbs")


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
    from ..load import load

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
        raise ByheartError(f"{output} is no model folder, so --force does not replace it.")


def build(dataset: "Dataset", watch: Watch, **options: object) -> "Model":
    """byheart.compile, watched."""
    from ..compile import compile

    watch.stage("building", len(dataset))
    return compile(dataset, report=watch.note, progress=watch.advance, **options)  # type: ignore[arg-type]


def save(model: "Model", output: Path, force: bool, dataset: "Dataset | None") -> None:
    """Write the folder; data.jsonl holds the data the model was compiled on, conflicts resolved."""
    from .. import folder
    from .loading import resolved

    if dataset is not None:
        dataset = resolved(model, dataset)
    folder.save(model, output, force=force, data=dataset)


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
    watch: Watch = SILENT,
) -> dict:
    """Check a model folder; without data only its format, hashes and structure."""
    from .. import folder
    from .answer import answer
    from .loading import load_for

    _check_choices(engine, sample, data)
    started = time.perf_counter()
    watch.stage("opening")
    model = folder.open(directory)
    if checker:
        return _verify_apart(model, directory, data, sample, seed, watch)
    if data is None:
        return answer(model, None, {"load": time.perf_counter() - started})
    watch.stage("loading")
    dataset = load_for(model, data)
    loaded = time.perf_counter() - started
    verification = _evaluated(model, dataset, engine, sample, seed, watch)
    seconds = {"load": loaded, "verify": time.perf_counter() - started - loaded}
    return answer(model, verification, seconds, verification.failures)


def _check_choices(engine: str, sample: int | None, data: str | Path | None) -> None:
    if engine not in ENGINES:
        raise ByheartError(f"--engine is one of {', '.join(ENGINES)}, not {engine!r}.")
    if sample is not None and sample < 1:
        raise ByheartError(f"--sample is an integer of 1 or more, not {sample}.")
    if sample is not None and data is None:
        raise ByheartError("--sample needs the data; name its file after the model folder.")


def _evaluated(
    model: "Model",
    dataset: "Dataset",
    engine: str,
    sample: int | None,
    seed: int,
    watch: Watch,
) -> "Verification":
    """The network's answers, and whether this is the data that the folder names."""
    from ..certificate import REFUTED, Verification, verify

    unfit = _unfit(model, dataset)
    if unfit:
        return Verification(0, 0, REFUTED, engine, (unfit,))
    watch.stage("verifying", min(len(dataset), sample or len(dataset)))
    found = verify(model, dataset, engine, watch.advance, sample, seed)
    failures = (*_differences(model, dataset), *_placed(found.failures, sample))
    return replace(found, evidence=REFUTED, failures=failures) if failures else found


def _unfit(model: "Model", dataset: "Dataset") -> str | None:
    """Why the network cannot even read this data."""
    reads, dimension = model.network.input, dataset.vectors.shape[1]
    if (dataset.kind, dimension) != (model.kind, reads.dimension):
        return (
            f"the model reads {model.kind} tokens with {reads.dimension} coordinates, "
            f"the data holds {dataset.kind} tokens with {dimension}"
        )
    if dataset.every != model.network.every:
        each, other = ("every token", "the sequence")[:: 1 if model.network.every else -1]
        return f"the model gives a label for {each}, the data has one for {other}"
    if reads.padding is not None and not dataset.lengths.all():
        return "the model reads 1 token or more, the data has a sequence without any"
    if dataset.length > reads.length:
        return (
            f"the model reads at most {reads.length} tokens, the data has a sequence with "
            f"{dataset.length}"
        )
    return None


def _differences(model: "Model", dataset: "Dataset") -> list[str]:
    from ..certificate import PROVED

    named = model.about["data"]
    if len(dataset) != named["sequences"]:
        return [f"the data has {len(dataset)} sequences, the model names {named['sequences']}"]
    if dataset.sha256() != named["sha256"]:
        return ["the data is not the data that the model names: its hash differs"]
    claimed, labels = model.about["verification"], len(dataset.labels)
    if claimed.evidence == PROVED and claimed.checked != labels:
        return [f"certificate.json claims {claimed.checked} labels, the data has {labels}"]
    return []


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
    from .answer import answer
    from .checker import Checked, check

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
