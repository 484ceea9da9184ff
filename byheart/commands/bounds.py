"""bounds: how small it can be, how much it can hold, and whether it fits."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from .explain import checked_picture
from .facts import data_facts, model_facts

if TYPE_CHECKING:
    from ..theory import Model, Question


def bounds(
    dataset: str | Path | None = None,
    *,
    architecture: str | None = None,
    sizes: Mapping[str, int | str] | None = None,
    parameters: int | None = None,
    bits: int | None = None,
    loading: Mapping | None = None,
    table: bool = False,
    effective: bool = False,
    plot: str | Path | None = None,
    force: bool = False,
    watch: Watch = SILENT,
) -> dict:
    """Rows for a dataset, for an architecture, or for both with a verdict.

    effective  also measure how many parameters of the architecture count (small ones only)
    """
    from ..theory import Question, answers
    from ..theory.madden2024.capacity import DEFINITION_1

    picture = checked_picture(plot, force)
    given, loading = _shared(dataset, architecture, sizes or {}, loading or {})
    early = None if dataset else model_facts(architecture, given, None, parameters, bits)
    if dataset is None and early is None and not table:
        raise ByheartError("give --dataset FILE, --architecture NAME or sizes, or --table.")
    if dataset is None and picture is not None:
        raise ByheartError("--plot needs --dataset: it marks the data's own size.")
    data = None if dataset is None else data_facts(dataset, loading, watch)
    model = early or model_facts(architecture, given, data, parameters, bits)
    question = Question(data, model, bits)
    answer = {
        "dataset": None if data is None else _told(question, "data", Path(str(dataset)).name),
        "architecture": None if model is None else _told(question, "model", architecture),
        "rows": [row.json() for row in answers(question)],
        "effective": _effective(question.model, watch) if effective else None,
        "verdict": None if data is None or model is None else verdict(question),
        "definitions": {"memory capacity": DEFINITION_1},
    }
    return {**answer, **_extras(question, table, picture, answer, watch)}


def _effective(model: "Model | None", watch: Watch) -> dict:
    from .effective import effective

    watch.stage("measuring")
    return effective(model)


def _shared(
    dataset: str | Path | None, architecture: str | None, sizes: Mapping, loading: Mapping
) -> tuple[dict, dict]:
    """Sizes that are given, and loading options. A length is both, where both mean something."""
    from ..architectures import ARCHITECTURES
    from ..data.load import applicable

    given = {name: size for name, size in sizes.items() if size is not None}
    options, length = dict(loading), loading.get("length")
    cut = dataset is not None and "length" in applicable(dataset, options)
    if length is not None and (architecture in ARCHITECTURES or (architecture is None and given)):
        given["length"] = length
        options["length"] = length if cut else None
    elif length is not None and dataset is None and architecture is None:
        given["length"] = length
    return given, options


def _told(question: "Question", part: str, name: str | None) -> dict:
    """The facts that were used, under the name by which the user knows it."""
    facts = asdict(getattr(question, part))
    facts.pop("near", None)
    return {"name": name, **facts}


def _extras(
    question: "Question", table: bool, picture: Path | None, answer: dict, watch: Watch
) -> dict:
    """Tables and a picture, if they are asked for."""
    from ..figures.bounds import draw
    from ..pictures import write
    from ..theory.curves import curves
    from ..theory.tables import TABLES, filled

    extras: dict = {"tables": [filled(x, question) for x in TABLES] if table else []}
    extras["output"] = None if picture is None else str(picture)
    if picture is not None:
        watch.stage("drawing")
        write(draw, {**answer, "curves": curves(question)}, picture)
    return extras


def verdict(question: "Question") -> dict:
    """Bits needed and held, their ratios, and whether the data fits."""
    from ..theory.information import ALLENZHU_2024, MORRIS_2025, bits_needed, bits_of

    data, model = question.data, question.model
    assert data is not None and model is not None
    needed = bits_needed(data.contexts or 1, data.labels or 1)
    k, bits = model.parameters or 0, model.bits or 0
    held: dict[str, float] = {"theorem": k * bits}
    held |= {"allenzhu2024": bits_of(k, ALLENZHU_2024), "morris2025": bits_of(k, MORRIS_2025)}
    fits, reason = _fits(question, needed, held)
    ratio = {name: needed / value if value else None for name, value in held.items()}
    return {"needed": needed, "held": held, "ratio": ratio, "fits": fits, "reason": reason}


def _fits(question: "Question", needed: float, held: dict) -> tuple[str, str]:
    """yes or no by a theorem; else likely, between or unlikely by the rules of thumb.

    no is about the worst case: some labels or distributions of these contexts do not fit.
    """
    too_small = _too_small(question)
    if too_small:
        return "no", too_small
    if needed > held["theorem"]:
        return "no", "not all labels of these contexts are among the states of the model."
    holder = _holder(question)
    if holder:
        return "yes", f"{holder} says that it can be chosen so."
    for fits, rule in (("likely", "allenzhu2024"), ("between", "morris2025")):
        if needed <= held[rule]:
            return fits, "no theorem decides; rules of thumb are about trained models."
    return "unlikely", "no theorem decides; rules of thumb are about trained models."


def _too_small(question: "Question") -> str | None:
    """Why the model cannot read the data, or not give it any distributions."""
    from ..theory.madden2024.capacity import lemma_1_parameters

    data, model = question.data, question.model
    assert data is not None and model is not None
    for name in ("length", "vocabulary"):
        wanted, there = getattr(data, name), getattr(model, name)
        if wanted is not None and there is not None and wanted > there:
            return f"the {name} of the data is {wanted:,}, that of the model {there:,}."
    distributions = lemma_1_parameters(data.contexts or 1, max(2, data.labels or 2))
    if data.conflicts and distributions > (model.parameters or 0):
        return f"not all distributions of its contexts; by Lemma 1 they take {distributions:,}."
    return None


def _holder(question: "Question") -> str | None:
    """The theorem by which the model holds as many contexts, whichever they are.

    Only those of madden2024 do. Others ask for more of the data than was counted: Theorem 1 of
    dana2024 is false where fewer than d last tokens differ (docs/errata.md) and needs features of
    full rank, mahdavi2024 independent ones.
    """
    from ..theory import answers

    assert question.data is not None
    contexts = question.data.contexts or 0
    for row in answers(question):
        holds = (row.kind, row.quantity, row.direction) == ("theorem", "contexts", "at_least")
        if row.paper == "madden2024" and holds and row.value is not None:
            if row.value >= contexts:
                return f"{row.paper}, {row.item}"
    return None
