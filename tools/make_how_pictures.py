"""Draw the pictures of docs/how-it-works.md: docs/how-*.svg.

Numbers of the network are those of a model that is compiled here; the others are small examples.
"""

import json
import math
import tempfile
from pathlib import Path

import numpy as np

import byheart
from benchmarks.report import recorded
from byheart import cli, pictures
from byheart.pictures import BLUE, FAINT, GREEN, GREY, INK, ORANGE, PALE

DOCS = Path(__file__).parents[1] / "docs"
FACTS = [
    (["capital", "of", "france"], "paris"),
    (["capital", "of", "italy"], "rome"),
    (["river", "of", "italy"], "tiber"),
]
STORED = (5, 12, 3, 9, 14, 6, 11, 2)  # a table of eight numbers
NUMBERS = (0b1011010, 0b0110001, 0b1100110)  # what one context adds up
COLUMN = 2  # the bit position of its answer


def model() -> byheart.Model:
    return byheart.compile(byheart.Dataset.from_rows(FACTS))


def blank(width: float, height: float):
    """A figure without axes, one unit per tenth of an inch."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, 10 * width)
    axes.set_ylim(0, 10 * height)
    return figure, axes


def box(axes, x, y, width, height, text, colour=BLUE, size=11, ink="white"):
    from matplotlib.patches import FancyBboxPatch

    shape = FancyBboxPatch(
        (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.5", color=colour, linewidth=0
    )
    axes.add_patch(shape)
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", color=ink, size=size)


def arrow(axes, x, y, to_x, to_y):
    look = {"arrowstyle": "-|>", "color": PALE, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=look)


def note(axes, x, y, text, size=9.5, colour=PALE, **look):
    axes.text(x, y, text, color=colour, size=size, **({"ha": "left", "va": "center"} | look))


def sums(answer):
    """One number per token, and their sum at the last one."""
    columns = [float(x) for x in answer["columns"]]
    total = sum(columns) / (2 * len(columns) + 1)  # each is its own number plus twice the total
    figure, axes = blank(8, 2.5)
    for i, (word, column) in enumerate(zip(FACTS[0][0], columns, strict=True)):
        x = 6 + 16 * i
        note(axes, x + 6, 22.5, word, 11, INK, ha="center")
        box(axes, x, 14, 12, 5, f"{column - 2 * total:g}")
        arrow(axes, x + 6, 13.5, 46, 9)
    note(axes, 55, 16.5, "one number per token")
    box(axes, 38, 3, 12, 5, f"{columns[-1]:g}", ORANGE)
    own = columns[-1] - 2 * total
    note(axes, 55, 5.5, f"attention: {own:g} + 2 x {total:g} = {columns[-1]:g}")
    return figure


def folds(answer):
    """One fold, and three of them one after another."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(8, 2.9), layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.1))
    one, three = figure.subplots(1, 2)
    v = np.linspace(0, 8, 401)
    for axes, steps, title in (
        (one, (4,), "one fold at 4"),
        (three, (4, 2, 1), "folds at 4, 2, 1"),
    ):
        w = v
        for step in steps:
            w = w - 2 * np.maximum(w - step, 0)
        axes.plot(v, w, color=BLUE, linewidth=2.2)
        axes.set_title(title, loc="left", size=11, weight="bold", color=INK)
        pictures.quiet(axes, 8.5)
        axes.set_xlabel("number that comes in", color=PALE, size=9)
        axes.set_xticks(range(9))
        axes.set_yticks(range(max(steps) + 1 if len(steps) == 1 else 2))
    one.axvspan(4, 8, color=ORANGE, alpha=0.13, linewidth=0)
    one.text(6, 0.35, "the fold fires", color=ORANGE, size=9.5, ha="center")
    one.set_ylabel("number that goes out", color=PALE, size=9)
    for x in range(8):
        w, fired = x + 0.5, ""
        for step in (4, 2, 1):
            fired += str(int(w > step))
            w = w - 2 * max(w - step, 0)
        three.text(x + 0.5, 1.12, fired, color=INK, size=8.5, ha="center", family="monospace")
    three.set_ylim(0, 1.35)
    return figure


def threshold(answer):
    """Hash above, payload below; a fold changes both."""
    figure, axes = blank(8, 2.6)
    for y, hash_, payload, colour, words in (
        (18, "H", "P", BLUE, "before: the hash above, a payload below"),
        (10, "H", "P", BLUE, "H is below the threshold: nothing changes"),
        (2, "mirrored H", "e - P", ORANGE, "H is above it: the fold fires"),
    ):
        box(axes, 4, y, 20, 5.5, hash_, colour)
        box(axes, 24.6, y, 12, 5.5, payload, GREEN if payload == "P" else ORANGE)
        note(axes, 40, y + 2.75, words)
    note(axes, 66, 4.75, "e is a stored number", 9.5, INK)
    return figure


def table(answer):
    """A function through stored numbers, with a kink at each of them."""
    figure, axes = pictures.canvas(8, 3)
    places = np.arange(len(STORED))
    axes.plot(places, STORED, color=BLUE, linewidth=2)
    axes.plot(places, STORED, "o", color=ORANGE, markersize=7)
    for place, number in zip(places, STORED, strict=True):
        axes.text(place, number + 1.1, str(number), color=INK, size=10, ha="center")
    pictures.quiet(axes, 9)
    axes.set_ylim(0, 17.5)
    axes.set_xlabel("row, a number made of bits of the hash", color=PALE, size=9.5)
    axes.set_ylabel("stored number", color=PALE, size=9.5)
    return figure


def bits(answer):
    """The numbers that a context adds up, their sum, and the bit that is its answer."""
    figure, axes = blank(8, 3.1)
    total, width = sum(NUMBERS), 9
    rows = [*((f"stored number {i + 1}", x) for i, x in enumerate(NUMBERS)), ("their sum", total)]
    for i, (name, number) in enumerate(rows):
        y = 21 - 5.2 * i - (1.4 if name == "their sum" else 0)
        note(axes, 3, y + 2, name, 10, INK)
        for place in range(width):
            x, chosen = 22 + 4.6 * (width - 1 - place), place == COLUMN
            digit = str(number >> place & 1)
            colour = ORANGE if chosen and name == "their sum" else FAINT
            ink = "white" if colour == ORANGE else INK
            box(axes, x, y, 4, 4, digit, colour, 10.5, ink)
    axes.plot([21.5, 63], [9.6, 9.6], color=PALE, linewidth=1)
    x = 22 + 4.6 * (width - 1 - COLUMN)
    axes.add_patch(_frame(x - 0.4, 3.4, 4.8, 22.3))
    note(axes, x + 2, 27.8, "the context's position", 9.5, ORANGE, ha="center")
    note(axes, 66, 6, "the answer:\none bit", 9.5, ORANGE)
    return figure


def _frame(x, y, width, height):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, fill=False, edgecolor=ORANGE, linewidth=1.3)


def strip(answer):
    """Folds at powers of two take the high bits away, one each."""
    figure, axes = blank(8, 2.9)
    value, top = 44, 5
    for i in range(4):
        y = 23 - 6.5 * i
        for place in range(top, -1, -1):
            gone = place > top - i
            digit = str(value >> place & 1)
            box(axes, 4 + 4.6 * (top - place), y, 4, 4, digit, "white" if gone else FAINT, 11,
                FAINT if gone else INK)  # fmt: skip
        note(axes, 34, y + 2, f"= {value}", 10.5, INK)
        if i < 3:
            step = 1 << top - i
            fires = value > step
            after = value - 2 * max(value - step, 0)
            change = f"2 x {step} - {value} = {after}" if fires else "it does not fire"
            note(axes, 44, y - 1.2, f"fold at {step}: {change}")
            value = after
    return figure


def count(answer):
    """Parameters by the number of positions: storing against stripping."""
    million = answer["million"]
    information = million["contexts"]
    figure, axes = pictures.canvas(8, 3.1)
    k = np.linspace(150, 1400, 300)
    axes.plot(k, 3 * k, color=GREY, linewidth=1.6)
    axes.plot(k, information / k, color=GREY, linewidth=1.6)
    axes.plot(k, 3 * k + information / k, color=BLUE, linewidth=2.4)
    best = math.sqrt(information / 3)
    axes.plot([best], [2 * math.sqrt(3 * information)], "o", color=ORANGE, markersize=8)
    least = f"fewest: {2 * math.sqrt(3 * information):,.0f}\nbuilt: {million['nonzero']:,}"
    axes.text(
        best, 2 * math.sqrt(3 * information) + 380, least, color=ORANGE, ha="center", size=9.5
    )
    axes.text(1415, 4120, "3 k: strip", color=PALE, size=9.5)
    axes.text(1415, 540, "I / k: store", color=PALE, size=9.5)
    axes.text(1415, 4780, "sum", color=BLUE, size=9.5)
    pictures.quiet(axes, 9)
    axes.set_xlim(100, 1600)
    axes.set_ylim(0, 6000)
    axes.set_xlabel("bit positions k, for a million sequences", color=PALE, size=9.5)
    axes.set_ylabel("parameters", color=PALE, size=9.5)
    return figure


PICTURES = {
    "sums": sums,
    "folds": folds,
    "threshold": threshold,
    "table": table,
    "bits": bits,
    "strip": strip,
    "count": count,
}


def answers() -> dict:
    """The numbers that the pictures show."""
    trace = model().trace(FACTS[0][0]).json()
    columns = [int(digits) * 2**power for digits, power in trace["context_ids"]]
    return {"columns": columns, "million": recorded("sizes")["sizes"][-1]}


def main(folder: Path = DOCS) -> None:
    numbers = answers()
    for name, draw in PICTURES.items():
        pictures.write(draw, numbers, folder / f"how-{name}.svg")
    with tempfile.TemporaryDirectory() as place:
        path, picture = Path(place) / "capitals.jsonl", str(folder / "how-network.svg")
        rows = (json.dumps({"input": tokens, "label": label}) for tokens, label in FACTS)
        path.write_text("".join(f"{row}\n" for row in rows))
        command = ["explain", "hash-fold-retrieve", str(path), "--plot", picture, "--force"]
        assert cli.main(command) == 0


if __name__ == "__main__":
    main()
