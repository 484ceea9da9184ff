"""generate and stats: datasets made, and datasets looked at."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch


def generate(
    kind: str,
    output: str | Path,
    *,
    force: bool = False,
    watch: Watch = SILENT,
    **options: int | float | str | None,
) -> dict:
    """Write a dataset of one of the papers' kinds; options left None keep their defaults."""
    from ..data.corpora import CORPORA, EXTENSIONS
    from ..data.generate import WRITERS

    makers = _makers()
    if kind not in makers and kind not in CORPORA:
        raise ByheartError(
            f"there is no kind {kind!r}; there are: {', '.join([*makers, *CORPORA])}."
        )
    output = Path(output)
    _check_name(output, WRITERS if kind in makers else EXTENSIONS)
    refuse_existing(output, force)
    given = {name: value for name, value in options.items() if value is not None}
    used = _options(kind, makers[kind] if kind in makers else CORPORA[kind], given)
    watch.stage("generating")
    about = (_dataset if kind in makers else _corpus)(kind, output, used, watch)
    return {"kind": kind, "file": str(output), "options": used, **about}


def _makers() -> dict:
    """What makes labelled data, by its kind; the last of a theorem."""
    from ..data.generate import KINDS
    from ..theory.madden2024.adversarial import adversarial

    return {**KINDS, "adversarial": adversarial}


def _check_name(output: Path, extensions: Iterable[str]) -> None:
    if output.suffix.lower() not in extensions:
        raise ByheartError(f"{output}: the name must end in one of {' '.join(extensions)}.")


def _options(kind: str, make: Callable, given: Mapping) -> dict:
    """All options with which the data is made; ByheartError if one means nothing for this kind."""
    takes = inspect.signature(make)
    for name in given:
        if name not in takes.parameters:
            names = ", ".join(map(_dashed, takes.parameters))
            raise ByheartError(f"{kind} takes no {_dashed(name)}; it takes {names}.")
    used = takes.bind(**given)
    used.apply_defaults()
    return dict(used.arguments)


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _dataset(kind: str, output: Path, used: Mapping, watch: Watch) -> dict:
    from ..data.generate import save

    dataset = _makers()[kind](**used)
    watch.stage("writing")
    save(dataset, output)
    return {
        "sequences": len(dataset),
        "length": dataset.length,
        "vocabulary": len(dataset.tokens),
        "labels": len(dataset.label_names),
        "sha256": dataset.sha256(),
        **({"theorem": _theorem(used)} if kind == "adversarial" else {}),
    }


def _theorem(used: Mapping) -> dict:
    """The sizes of the decoder that cannot memorise the data, and of the data (Theorem 1)."""
    from ..theory.madden2024.adversarial import theorem

    sizes = {name: value for name, value in used.items() if name != "seed"}
    sizes["head_dimension"] = sizes["head_dimension"] or sizes["dimension"]
    parameters, found = theorem(**sizes)
    return {"parameters": parameters, **found._asdict()}


def _corpus(kind: str, output: Path, used: Mapping, watch: Watch) -> dict:
    from ..data.corpora import CORPORA, distinct, save, sha256

    documents = CORPORA[kind](**used)
    watch.stage("writing")
    save(documents, output)
    rows = documents.ids.reshape(used["sequences"], -1)
    stored = {"dtype": str(rows.dtype), "separator": documents.separator}
    return {
        "sequences": len(rows),
        "length": rows.shape[1] - 1,
        "vocabulary": distinct(rows[:, :-2]),
        "labels": distinct(rows[:, 1:-1]),
        "loading": stored if output.suffix.lower() == ".bin" else {"documents": "line"},
        "sha256": sha256(documents),
    }


def stats(data: str | Path, *, loading: Mapping | None = None, watch: Watch = SILENT) -> dict:
    """The statistics of a file; documents are counted without writing their contexts out."""
    from ..data import statistics

    return statistics.stats(data, watch=watch, **(loading or {})).json()


def refuse_existing(path: Path, force: bool) -> None:
    """ByheartError if something stands where the output is to go, or if it has nowhere to stand."""
    if not path.parent.is_dir():
        raise ByheartError(f"{path.parent} is no folder; make it first.")
    if (path.exists() or path.is_symlink()) and not force:
        raise ByheartError(f"{path} exists; give another name, or --force to replace it.")
