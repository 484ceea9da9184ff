"""teach as rows and a picture: what was taught, and that nothing else changed."""

import numpy as np

from .. import pictures
from ..api.teach import KeptText, Taught
from ..machine.tables import number, plural
from ..pictures import BLUE, GREEN, GREY, INK, ORANGE, Figure
from .terminal import STYLES, Group, RenderableType, Row, Text, drawn, listed, notes, rows

LISTED = 5


def view(result: Taught) -> Group:
    """The facts that are answered and the positions that stayed first, then sizes and what was left
    out."""
    said = f"{result.after:,} of {plural(result.facts, 'fact')} answered"
    said += f" ({result.before:,} before)"
    if result.kept:
        wanted = sum(x.positions - x.taught for x in result.kept)
        equal = sum(x.equal for x in result.kept)
        said += f", {equal:,} of {wanted:,} kept positions equal to the bit"
    word = "observed" if result.holds else "refuted"
    first, end = result.layers
    before, after = result.parameters
    lines: list[Row] = [
        ("added", plural(end - first, "layer"), f"from number {first} on: a neuron for each of "
         f"{plural(result.contexts, 'context')}"),
        ("parameters", number(after), f"{before:,} of the base; {result.bytes:,} bytes more"),
        ("margin", number(result.margin), "nats by which the worst token of an answer leads"),
        ("reach", f"{result.reach[0]:.2g}", f"to {result.reach[1]:.2g}, as 1 - cosine; "
         f"{result.dtype} has a noise of {result.noise:.2g}"),
    ]  # fmt: skip
    lines += [kept_row(text) for text in result.kept]
    parts: list[RenderableType] = [
        Text(f"{word}  {said}, in {result.dtype}", STYLES[word]),
        rows(lines),
    ]
    if result.misses:
        parts.append(Text("\nnearest to a taught context:"))
        misses = [f"{x.distance:.2g} from {x.fact} ({x.neighbour}); it reaches {x.reach:.2g}"
                  for x in result.misses]  # fmt: skip
        parts += listed(misses, LISTED)
    if result.left_out:
        parts.append(Text(f"\nleft out: {plural(len(result.left_out), 'fact')}"))
        out = [f"{x.prompt} {x.answer}: {x.reason}" for x in result.left_out]
        parts += listed(out, LISTED, " (--json lists all)")
    said = "a fact is answered after its own prompt; paraphrases of it are not"
    return Group(*parts, Text(), *notes([said]), *drawn(result.picture))


def kept_row(text: KeptText) -> Row:
    remark = f"of {text.positions - text.taught:,} positions equal to the bit"
    if text.room is not None:
        remark += f"; the nearest is {number(text.room)} times the noise from where a neuron begins"
    if text.taught:
        remark += f"; {plural(text.taught, 'position')} go on as taught"
    if text.cut:
        remark += f"; {text.cut:,} tokens behind what the model reads were left out"
    return (f"kept {text.name}"[:30], number(text.equal), remark)


def written(result: Taught) -> str:
    """Where the folder is, and how to judge it: lines that people copy."""
    return f"\nwritten to {result.folder}\ncheck it: {result.verify}"


def draw(result: Taught) -> Figure:
    """How far each fact reaches beside what is nearest to it, and by how much answers lead."""
    figure, axes, margins = pictures.canvas(10.6, 4.4, parts=2)
    nearest = np.maximum(np.array(result.nearest), 1e-12)
    lowest = np.log10(min(result.noise or 1e-12, result.reach[0], float(nearest.min())))
    bins = np.logspace(lowest - 0.3, 0.3, 50)
    axes.hist(nearest, bins, color=BLUE, alpha=0.85, label="nearest other context or position")
    axes.hist(np.array(result.reaches), bins, color=ORANGE, alpha=0.75, label="reach of the neuron")
    axes.axvline(result.noise, color=GREY, linewidth=1.4, label=f"noise of {result.dtype}")
    axes.set_xscale("log")
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    pictures.entitle(axes, "Distances of taught contexts", "1 - cosine", "contexts", 8.5)
    margins.hist(np.array(result.margins), 40, color=GREEN, alpha=0.85)
    margins.axvline(0, color=INK, linewidth=0.9)
    pictures.entitle(margins, "Lead of the answer", "nats, observed", "contexts", 8.5)
    return figure
