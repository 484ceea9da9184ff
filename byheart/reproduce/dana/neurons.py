"""Figure 3 of dana2024: heads against neurons, with the same number of parameters."""

from typing import TYPE_CHECKING

from ...pictures import GREEN
from ...theory.dana2024.capacity import accuracy, parameters
from .. import plotting
from ..figure import Figure, Part, RowsByLabel, Settings, paragraph
from ..fits import Fit
from ..published import column
from . import accuracies, sweeps

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

VOCABULARY, DIMENSION = 70, 10
HEADS = (1, 6, 11, 16, 21, 26, 31)
QUICK = (1, 11)
MODELS = {  # label of a part: colour, name, experiment of the published numbers
    "heads": (plotting.OURS, "attention only", "attention"),
    "neurons": (GREEN, "one head and neurons", "mlp"),
}
COUNTS = [parameters(VOCABULARY, 2, DIMENSION, DIMENSION, H) for H in HEADS]
TITLE = "Heads and neurons at equal parameters (N = 70, d = d_h = 10)"


def parts(settings: Settings) -> list[Part]:
    """Heads, and as many parameters in neurons: w = 2 d (H - 1) of them beside one head.

    The model without neurons is the same as the one with one head.
    """
    dataset, heads = sweeps.table(VOCABULARY), QUICK if settings.quick else HEADS
    d = DIMENSION
    widths = [2 * d * (H - 1) for H in heads if H > 1]
    sizes = {"dimension": d, "head_dimension": d}
    return [
        sweeps.part(settings, "heads", dataset, sizes, ("heads", heads)),
        sweeps.part(
            settings, "neurons", dataset, {"dimension": d}, ("width", widths),
            architecture="dana2024-mlp",
        ),
    ]  # fmt: skip


def ours(rows: RowsByLabel, label: str) -> accuracies.Points:
    return accuracies.points(rows.get(label, ()), "parameters")


def published(label: str) -> accuracies.Points:
    return accuracies.exact(COUNTS, column(accuracies.published(MODELS[label][2]), "accuracy"))


def fits(rows: RowsByLabel) -> list[Fit]:
    """A line in the parameters for each model, ours and theirs."""
    return [
        fit
        for label, (_, name, _) in MODELS.items()
        for whose, some in (("ours", ours(rows, label)), ("published", published(label)))
        for fit in accuracies.law(f"{whose}, {name}", some, 1, "parameters")
    ]


def draw(rows: RowsByLabel, picture: "Picture") -> None:
    axes = picture.add_subplot()
    for label, (colour, name, _) in MODELS.items():
        known = published(label)
        plotting.published(axes, list(known), accuracies.means(known), f"published, {name}", colour)
        if some := ours(rows, label):
            plotting.ours(
                axes, list(some), list(some.values()), f"ours (fast), {name}", colour, line=True
            )
    guaranteed = [accuracies.guaranteed(H, DIMENSION, DIMENSION) for H in HEADS]
    bound = [accuracy(k, VOCABULARY**2, VOCABULARY).average for k in guaranteed]
    plotting.bound(axes, COUNTS, bound, "Corollary 2, attention only")
    accuracies.finish(axes, TITLE, "parameters")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    plotting.legend(axes, loc="upper left")


def caption(rows: RowsByLabel) -> str:
    return paragraph(
        accuracies.trained(rows),
        accuracies.DIFFERENCES,
        "The model with neurons has w = 2 d (H - 1) of them; w = 0 is the attention-only model "
        "with one head and is not trained again.",
    )


DANA_3 = Figure(
    "dana-3", TITLE, "dana2024, Figure 3", None, parts, draw, caption, fits, labels=tuple(MODELS)
)
