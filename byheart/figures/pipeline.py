"""The pipeline: columns from top to bottom, and beside each stage a bar for its parameters."""

import re
from typing import TYPE_CHECKING

from ..pictures import BLUE, FAINT, GREEN, GREY, INK, ORANGE, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"input": GREY, "tokens": BLUE, "meeting": ORANGE, "after": GREEN, "output": GREY}
HEAD, FOOT, LEFT = 1.25, 0.5, 0.35  # inches
ROW, BOX = 0.56, 0.3  # a stage, and its box
COLUMN, SPACE = 1.06, 0.16  # a column's box, and what is between two
GAP, LONGEST = 0.55, 3.2  # before the bars, and the longest of them
LETTER, SENTENCE = 0.074, 4.9  # a letter beside a bar, and room for what a stage does
DOTS = "$\\cdots$"


def draw(answer: dict) -> "Figure":
    """The network of an `explain` answer."""
    from matplotlib.figure import Figure

    stages, names = answer["stages"], _names(answer)
    bars = LEFT + max(3, len(names)) * (COLUMN + SPACE) + GAP - SPACE
    width, height = bars + _room(stages), HEAD + ROW * (len(stages) + 1) + FOOT
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    _title(axes, answer)
    y = HEAD + ROW / 2
    for place, name in enumerate(names):
        axes.text(_centre(place), y, name, ha="center", va="center", size=10.5, color=INK)
    axes.text(bars, y, "nonzero parameters", size=9, va="center", color=PALE)
    flow = _Flow(axes, names, answer)
    for stage in stages:
        y += ROW
        flow.step(stage, y)
        _bar(axes, bars, y, stage, _length(stage, stages))
    axes.plot([LEFT, width - LEFT], [y + ROW / 2 + 0.05] * 2, color=FAINT, lw=0.8)
    axes.text(LEFT, y + ROW, _outside(answer), size=8.5, va="center", color=PALE)
    return figure


def _title(axes: "Axes", answer: dict) -> None:
    data, totals = answer["dataset"], answer["totals"]
    form = f" ({answer['form']})" if answer["form"] else ""
    name = data["name"] if len(data["name"]) <= 40 else f"{data['name'][:37]}..."
    title = f"{answer['method']}{form}"
    lines = (
        f"{name}: {data['sequences']:,} sequences of up to {data['length']:,} tokens, "
        f"{data['labels']:,} {'next tokens' if 'formula' in answer else 'labels'}",
        f"{totals['nonzero']:,} nonzero parameters, {totals['bits']:,} bits, "
        f"depth {totals['depth']:,}, width {totals['width']:,}",
    )
    axes.text(LEFT, 0.42, title, size=17, weight="bold", va="center", color=INK)
    for place, line in enumerate(lines):
        line = line.replace("$", r"\$")
        axes.text(LEFT, 0.76 + 0.24 * place, line, size=10.5, va="center", color=PALE)


def _names(answer: dict) -> list[str]:
    """The columns that are drawn: an extra one, the first, dots for many, the last."""
    length = answer["input"]["length"]
    shown = [*range(1, length + 1)] if length <= 3 else [1, None, length]
    names = [DOTS if i is None else f"$x_{{{i}}}$" for i in shown]
    return ["extra", *names] if answer["input"]["extra"] is not None else names


def _centre(place: int) -> float:
    return LEFT + COLUMN / 2 + place * (COLUMN + SPACE)


class _Flow:
    """The columns while the drawing goes down: {centre: whether it stands for many}."""

    def __init__(self, axes: "Axes", names: list[str], answer: dict) -> None:
        self.axes, self.answer = axes, answer
        self.columns = {_centre(place): name == DOTS for place, name in enumerate(names)}

    def step(self, stage: dict, y: float) -> None:
        """One stage: a box on each column, or one on all of them."""
        for x, many in self.columns.items():
            if not many:
                _arrow(self.axes, x, y)
        colour = COLOURS[stage["part"]]
        if stage["part"] == "meeting":
            self._meet(stage, y, colour)
            return
        for x, many in self.columns.items():
            if many:
                self.axes.text(x, y, DOTS, size=14, ha="center", va="center", color=colour)
            else:
                _box(self.axes, x, COLUMN, y, stage["stage"], colour)

    def _meet(self, stage: dict, y: float, colour: str) -> None:
        first, last = min(self.columns), max(self.columns)
        pairs = stage["connections"]
        name = stage["stage"] + (f": {pairs:,} connections" if pairs else "")
        _box(self.axes, (first + last) / 2, last - first + COLUMN, y, name, colour)
        meeting = [other for other in self.answer["stages"] if other["part"] == "meeting"]
        if stage is meeting[-1]:
            self._leave(stage, y)

    def _leave(self, stage: dict, y: float) -> None:
        """The columns that go on after the last meeting, and why there are no others."""
        first, last = min(self.columns), max(self.columns)
        if stage["kind"] == "sum":
            self.columns = {(first + last) / 2: False}
        elif not self.answer["output"]["every"]:
            self.columns = {last: False}
            if first < last:
                x = (first + last - COLUMN - SPACE) / 2
                self.axes.text(
                    x, y + ROW, "the last column\nhas the answer",
                    size=8.5, ha="center", va="center", color=PALE, style="italic",
                )  # fmt: skip
        elif self.answer["input"]["extra"] is not None:
            del self.columns[first]


def _box(axes: "Axes", x: float, width: float, y: float, name: str, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (x - width / 2, y - BOX / 2)
    style = "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch(corner, width, BOX, boxstyle=style, fc=colour, ec="none"))
    axes.text(x, y, name, ha="center", va="center", size=9, color="white")


def _arrow(axes: "Axes", x: float, y: float) -> None:
    start, end = y - ROW + BOX / 2 + 0.02, y - BOX / 2 - 0.02
    style = {"arrowstyle": "-|>,head_width=0.16,head_length=0.28", "color": PALE, "lw": 1}
    style |= {"shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x, end), (x, start), arrowprops=style)


def _bar(axes: "Axes", x: float, y: float, stage: dict, length: float) -> None:
    """Its length is the number of nonzero parameters; what the stage does stands below."""
    from matplotlib.patches import Rectangle

    colour = COLOURS[stage["part"]]
    axes.add_patch(Rectangle((x, y - 0.17), length, 0.17, fc=colour, ec="none"))
    beside = x + length + (0.08 if length else 0)
    axes.text(beside, y - 0.085, _size(stage), size=8.5, va="center", color=INK)
    axes.text(x, y + 0.1, stage["does"], size=7.8, va="center", color=PALE)


def _room(stages: list[dict]) -> float:
    """From where bars begin to the edge."""
    widest = max(_length(stage, stages) + LETTER * len(_size(stage)) for stage in stages)
    return max(SENTENCE, widest + LEFT)


def _length(stage: dict, stages: list[dict]) -> float:
    return LONGEST * stage["nonzero"] / max(1, *(other["nonzero"] for other in stages))


def _size(stage: dict) -> str:
    return f"{stage['nonzero']:,}  ({_share(stage)}{_layers(stage)})"


def _share(stage: dict) -> str:
    return "<0.1%" if 0 < stage["share"] < 0.001 else f"{stage['share']:.1%}"


def _layers(stage: dict) -> str:
    """How many layers, and that other stages come in between."""
    count, pieces = stage["depth"], len(stage["layers"])
    if count < 2:
        return ""
    return f", {count:,} layers" + (f" in {pieces:,} pieces" if pieces > 1 else "")


def _outside(answer: dict) -> str:
    """What the theorem counts, and which theorem."""
    totals = answer["totals"]
    first = "the embedding" if answer["stages"][0]["kind"] == "embedding" else "E_in"
    item = re.split("[:;]", answer["item"])[0].rstrip(".")
    if "formula" in answer:
        ratio = f", {answer['ratio']:.4g} times the fewest (3)" if answer["ratio"] else ""
        counted = f"The theorem counts zeros too: {totals['dense']:,} parameters{ratio}."
        return f"{counted}  {answer['paper']}, {item}."
    return (
        f"The theorem counts {totals['counted']:,} of them; {totals['outside']:,} are outside: "
        f"{first} and E_out.  {answer['paper']}, {item}."
    )
