"""Figure 3 of dana2024: heads against neurons, with the same number of parameters."""

from typing import TYPE_CHECKING

from ...pictures import GREEN
from ...theory.dana2024.capacity import accuracy, parameters
from .. import marks
from ..figure import Figure, Part, RowsByLabel, Settings, spread
from ..fits import Fit
from ..published import column
from . import parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

VOCABULARY, DIMENSION = 70, 10
HEADS = (1, 6, 11, 16, 21, 26, 31)
QUICK = (1, 11)
MODELS = {  # label of a part: colour, name, experiment of the published numbers
    "heads": (marks.OURS, "attention only", "attention"),
    "neurons": (GREEN, "one head and neurons", "mlp"),
}


def trains(settings: Settings) -> list[Part]:
    """Heads, and as many parameters in neurons; no neurons are the same model as one head."""
    dataset, heads = parts.table(VOCABULARY), QUICK if settings.quick else HEADS
    widths = [neurons(H) for H in heads if H > 1]
    d = DIMENSION
    return [
        parts.part(settings, "heads", dataset, {"dimension": d, "head_dimension": d},
                   ("heads", heads)),
        parts.part(settings, "neurons", dataset, {"dimension": d}, ("width", widths),
                   architecture="dana2024-mlp"),
    ]  # fmt: skip


def neurons(heads: int) -> int:
    """w = 2 d (H - 1): as many parameters beside one head as in H."""
    return 2 * DIMENSION * (heads - 1)


def found(rows: RowsByLabel, label: str) -> parts.Points:
    """Accuracy with its spread over the parameters of a model."""
    accuracies: dict[int, list[float]] = {}
    for row in rows.get(label, ()):
        accuracies.setdefault(row["parameters"], []).append(row["accuracy"])
    return {count: spread(accuracies[count]) for count in sorted(accuracies)}


def published(label: str) -> tuple[list[int], list[float]]:
    """Parameters and accuracies of the authors' models."""
    some = parts.published(MODELS[label][2])
    said = column(some, "accuracy")
    return [count(H) for H in HEADS], said


def count(heads: int) -> int:
    return parameters(VOCABULARY, 2, DIMENSION, DIMENSION, heads)


def fits(rows: RowsByLabel) -> list[Fit]:
    """A line in the parameters for each model, ours and theirs."""
    result = []
    for label, (_, name, _) in MODELS.items():
        theirs = parts.exact(*published(label))
        for whose, some in (("ours", found(rows, label)), ("published", theirs)):
            result += parts.law(f"{whose}, {name}", some, 1, "parameters")
    return result


def draw(rows: RowsByLabel, picture: "Picture") -> None:
    axes = picture.add_subplot()
    for label, (colour, name, _) in MODELS.items():
        marks.published(axes, *published(label), f"published, {name}", colour)
        some = found(rows, label)
        if some:
            marks.ours(axes, list(some), list(some.values()), f"ours (fast), {name}", colour, True)
    _guarantee(axes)
    parts.dress(axes, TITLE, "parameters")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    marks.legend(axes, loc="upper left")


def _guarantee(axes: "Axes") -> None:
    known = [parts.guaranteed(H, DIMENSION, DIMENSION) for H in HEADS]
    said = [accuracy(k, VOCABULARY**2, VOCABULARY).average for k in known]
    marks.bound(axes, [count(H) for H in HEADS], said, "Corollary 2, attention only")


def caption(rows: RowsByLabel) -> str:
    return " ".join(x for x in (
        parts.trained(rows), parts.DIFFERENCES,
        "The model with neurons has w = 2 d (H - 1) of them; w = 0 is the attention-only model "
        "with one head and is not trained again.",
    ) if x)  # fmt: skip


TITLE = "Heads and neurons at equal parameters (N = 70, d = d_h = 10)"
DANA_3 = Figure(
    "dana-3", TITLE, "dana2024, Figure 3", None, trains, draw, caption, fits, labels=tuple(MODELS),
)  # fmt: skip
