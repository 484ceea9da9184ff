"""Parameters against the number of contexts, on logarithmic axes, with the data's own marked."""

from typing import TYPE_CHECKING

from ..pictures import BLUE, GREEN, GREY, INK, ORANGE, PALE, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "madden2024": BLUE,
    "dana2024": GREEN,
    "kajitsuka2025": ORANGE,
    "allenzhu2024": GREY,
}
SIGNS = {"at_least": "≥", "at_most": "≤"}
LINES = {"at_least": (0, (4, 2)), "at_most": "solid"}


def draw(answer: dict) -> "Figure":
    """The curves of a `bounds` answer: solid is enough, dashed is needed."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12)
    figure = Figure(figsize=(7.6, 5.6), layout=layout)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    for curve in answer["curves"]:
        _curve(axes, curve)
    _marks(axes, answer)
    _dress(axes, answer["dataset"])
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8.5, labelcolor=INK)
    return figure


def _curve(axes: "Axes", curve: dict) -> None:
    x, y = zip(*curve["points"], strict=True)
    about = "rule of thumb" if curve["kind"] == "rule_of_thumb" else curve["quantity"]
    about = about.replace("parameters ", "")
    axes.plot(
        x, y, color=COLOURS.get(curve["paper"], INK), linewidth=1.6,
        linestyle=LINES[curve["direction"]],
        label=f"{SIGNS[curve['direction']]} {curve['paper']}, {curve['item']} {about}",
    )  # fmt: skip


def _marks(axes: "Axes", answer: dict) -> None:
    """The data's own size, and that of the model if there is one."""
    own, model = answer["dataset"]["contexts"], answer["architecture"]
    axes.axvline(own, color=INK, linewidth=1, linestyle=":", label=f"the data: {own:,} contexts")
    if model is not None:
        count = model["parameters"]
        axes.axhline(count, color=PALE, linewidth=1, label=f"the model: {count:,} parameters")


def _dress(axes: "Axes", data: dict) -> None:
    title = f"{data['name']}: {data['labels']:,} labels, {data['vocabulary']:,} tokens"
    axes.set_title(
        title.replace("$", r"\$"), loc="left", size=12.5, weight="bold", color=INK, pad=14
    )
    axes.set_xlabel("contexts N", color=INK)
    axes.set_ylabel("parameters", color=INK)
    quiet(axes)
