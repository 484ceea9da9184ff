"""The pipeline: columns from top to bottom, and beside each stage a bar for its parameters."""

import re

from ..api.explain import ExplainedStage, Explanation
from ..machine.tables import plural
from ..machine.words import brief
from ..pictures import BLUE, FAINT, GREEN, GREY, INK, ORANGE, PALE, Axes, Figure
from ..theory.papers import cited

COLOURS = {"input": GREY, "tokens": BLUE, "meeting": ORANGE, "after": GREEN, "output": GREY}
HEAD, FOOT, LEFT = 1.25, 0.5, 0.35  # inches
ROW, BOX = 0.56, 0.3  # a stage, and its box
COLUMN, SPACE = 1.06, 0.16  # a column's box, and what is between two
GAP, LONGEST = 0.55, 3.2  # before the bars, and the longest of them
LETTER, SENTENCE = 0.074, 4.9  # a letter beside a bar, and room for what a stage does
MARK = "#b3261e"  # parameters that one answer reads
LANE, LANES, WORD = 0.13, 24, 12  # a lane's cell, how many there are at most; letters of a token
DOTS = "$\\cdots$"


def draw(result: Explanation) -> Figure:
    """The network of an explanation; with the trace of one input, if it has one.

    What belongs to stage i has an id that begins with stage-i-, so that a page can light it up.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    stages, length = result.stages, result.input.length
    shown = [*range(1, length + 1)] if length <= 3 else [1, None, length]  # dots for many
    names = [DOTS if i is None else f"$x_{{{i}}}$" for i in shown]
    asked = result.asked
    if asked and len(asked) == length <= 3:
        names = [brief(token, WORD).replace("$", r"\$") for token in asked]
    if result.input.extra is not None:
        names.insert(0, "extra")
    most = max(1, *(stage.nonzero for stage in stages))
    lengths = [LONGEST * stage.nonzero / most for stage in stages]
    sizes = [size(stage) for stage in stages]
    widest = max(x + LETTER * len(words) for x, words in zip(lengths, sizes, strict=True))
    strip = LEFT + max(3, len(names)) * (COLUMN + SPACE) + GAP - SPACE
    traced = any(stage.lanes is not None for stage in stages)
    lanes = min(LANES, result.totals.width) if traced else 0
    bars = strip + (max(0.5, lanes * LANE) + GAP if traced else 0)
    width = bars + max(SENTENCE, widest + LEFT)
    height = HEAD + ROW * (len(stages) + 1) + FOOT
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    title(axes, result)
    y = HEAD + ROW / 2
    flow = Flow(axes, names, result)
    for x, name in zip(flow.columns, names, strict=True):
        axes.text(x, y, name, ha="center", va="center", size=10.5, color=INK)
    axes.text(bars, y, "nonzero parameters", size=9, va="center", color=PALE)
    if traced:
        axes.text(strip, y, "lanes", size=9, va="center", color=PALE)
    for i, (stage, long, words) in enumerate(zip(stages, lengths, sizes, strict=True)):
        y += ROW
        flow.step(stage, y, f"stage-{i}-box")
        colour = COLOURS[stage.part]
        for lane in range(lanes):
            fill = INK if lane in (stage.lanes or ()) else FAINT
            corner, name = (strip + lane * LANE, y - 0.17), f"stage-{i}-lane-{lane}"
            axes.add_patch(Rectangle(corner, 0.8 * LANE, 0.17, fc=fill, ec="none", gid=name))
        more = [lane for lane in stage.lanes or () if lane >= lanes]
        if more:
            axes.text(strip, y + 0.1, f"and {len(more):,} more", size=7.8, va="center", color=PALE)
        bar = Rectangle((bars, y - 0.17), long, 0.17, fc=colour, ec="none", gid=f"stage-{i}-bar")
        axes.add_patch(bar)
        if stage.read:  # of one answer, as `locate` finds them
            share = max(0.04, long * stage.read / max(1, stage.nonzero))
            corner, name = (bars, y - 0.2), f"stage-{i}-read"
            axes.add_patch(Rectangle(corner, share, 0.23, fc=MARK, ec="none", gid=name))
        beside = bars + long + (0.08 if long else 0)
        axes.text(beside, y - 0.085, words, size=8.5, va="center", color=INK)
        axes.text(bars, y + 0.1, stage.does, size=7.8, va="center", color=PALE)
    axes.plot([LEFT, width - LEFT], [y + ROW / 2 + 0.05] * 2, color=FAINT, lw=0.8)
    axes.text(LEFT, y + ROW, outside(result), size=8.5, va="center", color=PALE)
    return figure


def title(axes: Axes, result: Explanation) -> None:
    data, totals = result.dataset, result.totals
    noun = "label" if result.decoder is None else "next token"
    form = f" ({result.form})" if result.form else ""
    name = result.name if len(result.name) <= 40 else f"{result.name[:37]}..."
    lines = (
        f"{name}: {plural(data.sequences, 'sequence')} of up to "
        f"{plural(data.length, 'token')}, {plural(data.labels, noun)}",
        f"{totals.nonzero:,} nonzero parameters, {totals.bits:,} binary digits, "
        f"depth {totals.depth:,}, width {totals.width:,}",
    )
    axes.text(LEFT, 0.42, f"{result.method}{form}", size=17, weight="bold", va="center", color=INK)
    for place, line in enumerate(lines):
        line = line.replace("$", r"\$")
        axes.text(LEFT, 0.76 + 0.24 * place, line, size=10.5, va="center", color=PALE)


class Flow:
    """The columns while the drawing goes down: {centre: whether it stands for many}."""

    def __init__(self, axes: Axes, names: list[str], result: Explanation) -> None:
        self.axes, self.result = axes, result
        centres = [LEFT + COLUMN / 2 + place * (COLUMN + SPACE) for place in range(len(names))]
        self.columns = {x: name == DOTS for x, name in zip(centres, names, strict=True)}

    def step(self, stage: ExplainedStage, y: float, name: str) -> None:
        """One stage: a box on each column, or one on all of them."""
        start, end = y - ROW + BOX / 2 + 0.02, y - BOX / 2 - 0.02
        style = {"arrowstyle": "-|>,head_width=0.16,head_length=0.28", "color": PALE, "lw": 1}
        style |= {"shrinkA": 0, "shrinkB": 0}
        for x, many in self.columns.items():
            if not many:
                self.axes.annotate("", (x, end), (x, start), arrowprops=style)
        colour = COLOURS[stage.part]
        if stage.part == "meeting":
            first, last, pairs = min(self.columns), max(self.columns), stage.connections
            words = stage.name + (f": {pairs:,} connections" if pairs else "")
            self.box((first + last) / 2, last - first + COLUMN, y, words, colour, name)
            meeting = [other for other in self.result.stages if other.part == "meeting"]
            if stage is meeting[-1]:
                self.leave(stage, y)
            return
        for x, many in self.columns.items():
            if many:
                self.axes.text(x, y, DOTS, size=14, ha="center", va="center", color=colour)
            else:
                self.box(x, COLUMN, y, stage.name, colour, f"{name}-{x:.0f}")

    def box(self, x: float, width: float, y: float, words: str, colour: str, name: str) -> None:
        from matplotlib.patches import FancyBboxPatch

        corner, style = (x - width / 2, y - BOX / 2), "round,pad=0,rounding_size=0.06"
        patch = FancyBboxPatch(corner, width, BOX, boxstyle=style, fc=colour, ec="none", gid=name)
        self.axes.add_patch(patch)
        self.axes.text(x, y, words, ha="center", va="center", size=9, color="white")

    def leave(self, stage: ExplainedStage, y: float) -> None:
        """The columns that remain after the last meeting, and why there are no others."""
        first, last = min(self.columns), max(self.columns)
        if stage.kind == "sum":
            self.columns = {(first + last) / 2: False}
        elif not self.result.output.every:
            self.columns = {last: False}
            if first < last:
                x, words = (first + last - COLUMN - SPACE) / 2, "the last column\nhas the answer"
                place = {"ha": "center", "va": "center"}
                self.axes.text(x, y + ROW, words, place, size=8.5, color=PALE, style="italic")
        elif self.result.input.extra is not None:
            del self.columns[first]


def size(stage: ExplainedStage) -> str:
    """Parameters, their share, how many layers, and that other stages come in between."""
    share = "<0.1%" if 0 < stage.share < 0.001 else f"{stage.share:.1%}"
    count, pieces = stage.depth, len(stage.runs)
    layers = f", {count:,} layers" if count > 1 else ""
    if count > 1 and pieces > 1:
        layers += f" in {pieces:,} pieces"
    read = f"; {stage.read:,} read" if stage.read else ""
    return f"{stage.nonzero:,}  ({share}{layers}){read}"


def outside(result: Explanation) -> str:
    """What the theorem counts, and which theorem."""
    totals, decoder = result.totals, result.decoder
    item = re.split("[:;]", result.header.item)[0].rstrip(".")
    if decoder is not None:
        ratio = f", {decoder.ratio:.4g} times the fewest (3)" if decoder.ratio else ""
        counted = f"The theorem counts zeros too: {totals.dense:,} parameters{ratio}."
    else:
        counted = (
            f"The theorem counts {totals.counted:,} of them; {totals.outside:,} are outside: "
            f"{first_layer(result)} and E_out."
        )
    return f"{counted}  {cited(result.header.paper)}, {item}."


def first_layer(result: Explanation) -> str:
    """What a paper calls the first layer, which its theorem does not count."""
    return "the embedding" if result.stages[0].kind == "embedding" else "E_in"
