"""generate and stats: datasets made, and datasets looked at."""

import inspect
from collections.abc import Mapping
from pathlib import Path

from ..errors import ByheartError
from .watch import SILENT, Watch


def generate(
    kind: str,
    output: str | Path,
    *,
    force: bool = False,
    watch: Watch = SILENT,
    **options: int | str | None,
) -> dict:
    """Write a dataset of one of the papers' kinds; options left None keep their defaults."""
    from ..generate import KINDS, WRITERS, save

    if kind not in KINDS:
        raise ByheartError(f"there is no kind {kind!r}; there are: {', '.join(KINDS)}.")
    output = Path(output)
    if output.suffix.lower() not in WRITERS:
        raise ByheartError(f"{output}: the name must end in one of {' '.join(WRITERS)}.")
    refuse_existing(output, force)
    given = {name: value for name, value in options.items() if value is not None}
    watch.stage("generating")
    dataset = KINDS[kind](**given)
    watch.stage("writing")
    save(dataset, output)
    used = inspect.signature(KINDS[kind]).bind(**given)
    used.apply_defaults()
    return {
        "kind": kind,
        "file": str(output),
        "sequences": len(dataset),
        "length": dataset.length,
        "vocabulary": len(dataset.tokens),
        "labels": len(dataset.label_names),
        "options": dict(used.arguments),
        "sha256": dataset.sha256(),
    }


def stats(data: str | Path, *, loading: Mapping | None = None, watch: Watch = SILENT) -> dict:
    """What the dataset asks of a model."""
    from ..load import load
    from ..statistics import statistics

    watch.stage("loading")
    dataset = load(data, **(loading or {}))
    watch.stage("counting")
    return statistics(dataset)


def refuse_existing(path: Path, force: bool) -> None:
    """ByheartError if something stands where the output is to go, or if it has nowhere to stand."""
    if not path.parent.is_dir():
        raise ByheartError(f"{path.parent} is no folder; make it first.")
    if (path.exists() or path.is_symlink()) and not force:
        raise ByheartError(f"{path} exists; give another name, or --force to replace it.")
