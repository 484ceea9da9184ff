"""Draw the pictures of docs/lecture.md: docs/lecture-*.svg, one for each stage of a network.

The network is compiled here from the three facts; every number is one that flows through it.
"""

from fractions import Fraction
from pathlib import Path

from byheart import pictures
from byheart.exact.network import FeedForward, Network, UniformAttention
from byheart.pictures import BLUE, GREEN, INK, ORANGE, PALE
from tools.make_how_pictures import DOCS, FACTS, arrow, blank, box, model, note

COLOURS = (BLUE, ORANGE, GREEN)
Columns = list[list[Fraction]]


def matrix(given) -> dict[tuple[int, int], Fraction]:
    return {
        (x.row, x.column): Fraction(x.value.mantissa) * 2**x.value.exponent for x in given.entries
    }


def product(given, column: list[Fraction]) -> list[Fraction]:
    """A matrix times a column."""
    result = [Fraction(0)] * given.rows
    for (row, place), value in matrix(given).items():
        result[row] += value * column[place]
    return result


def plus(*columns: list[Fraction]) -> list[Fraction]:
    return [sum(x) for x in zip(*columns, strict=True)]


def bias(given) -> list[Fraction]:
    return product(given, [Fraction(1)])


def steps(network: Network, columns: Columns) -> list[tuple[str, Columns]]:
    """The columns after every layer, by the definition of the layers and by nothing else."""
    found = []
    for layer in network.layers:
        if isinstance(layer, FeedForward):
            columns = [
                plus(
                    x,
                    bias(layer.b2),
                    product(
                        layer.W2,
                        [max(Fraction(0), y) for y in plus(product(layer.W1, x), bias(layer.b1))],
                    ),
                )
                for x in columns
            ]
        elif isinstance(layer, UniformAttention):
            mean = [sum(x) / len(columns) for x in zip(*columns, strict=True)]
            mixed = product(layer.W_O, product(layer.W_V, mean))
            columns = [plus(x, mixed) for x in columns]
        else:
            columns = [plus(product(layer.weight, x), bias(layer.bias)) for x in columns]
        found.append((layer.stage, columns))
    return found


def flows() -> list[list[tuple[str, Columns]]]:
    """Of each fact, the columns after every layer."""
    own = model()
    found = []
    for tokens, _ in FACTS:
        numbers = own.numbers(tokens)
        assert numbers is not None
        columns = [[Fraction(x[0]), Fraction(i)] for i, x in enumerate(numbers)]
        found.append(steps(own.network, columns))
    return found


def shown(number: Fraction) -> str:
    return f"{float(number):g}"


def words(flow, stage: str, before: str | None, title: str):
    """The three numbers of every fact at a stage of the tokens, with those before it."""
    figure, axes = blank(8, 4.6)
    note(axes, 2, 43, title, 12, INK)
    for row, (tokens, _) in enumerate(FACTS):
        at = dict(flow[row])
        y = 33 - 13 * row
        for i, token in enumerate(tokens):
            x = 4 + 25 * i
            earlier = token if before is None else shown(at[before][i][0])
            note(axes, x + 4, y, earlier, 11, INK if before is None else PALE, ha="center")
            arrow(axes, x + 9, y, x + 12, y)
            box(axes, x + 12.5, y - 2.2, 9, 4.4, shown(at[stage][i][0]), COLOURS[row])
    return figure


def sums(flow):
    """Attention: the last column receives twice the sum of all."""
    figure, axes = blank(8, 4.6)
    note(axes, 2, 43, "attend: the last number, plus twice the sum of all three", 12, INK)
    for row in range(len(FACTS)):
        at = dict(flow[row])
        y = 33 - 13 * row
        own = [x[0] for x in at["token hash"]]
        for i, number in enumerate(own):
            box(axes, 4 + 11 * i, y - 2.2, 9, 4.4, shown(number), COLOURS[row])
        total = sum(own)
        note(axes, 38, y, f"{shown(own[-1])} + 2 x ({shown(total)}) =", 11, INK)
        box(axes, 66, y - 2.2, 10, 4.4, shown(at["attend"][-1][0]), COLOURS[row])
    return figure


def layers(flow, stages: tuple[str, ...], title: str, answers: bool = False):
    """The main number of every fact, layer by layer."""
    figure, axes = blank(8, 4.6)
    note(axes, 2, 43, title, 12, INK)
    inside = [i for i, (stage, _) in enumerate(flow[0]) if stage in stages]
    places = [inside[0] - 1, *inside]
    wide = (64 if answers else 76) / len(places)
    for i, place in enumerate(places):
        note(axes, 2 + wide * (i + 0.5), 38.5, f"layer {place}", 9, ha="center")
    for row, (_, label) in enumerate(FACTS):
        y = 32 - 13 * row
        for i, place in enumerate(places):
            number = shown(flow[row][place][1][-1][0])
            colour = COLOURS[row] if i else PALE
            box(axes, 2 + wide * i + 1, y - 2.2, wide - 3, 4.4, number, colour)
            if i:
                arrow(axes, 2 + wide * i - 2, y, 2 + wide * i + 1, y)
        if answers:
            note(axes, 68, y, f"= {label}", 12, COLOURS[row])
    return figure


PICTURES = {
    "embed": lambda flow: words(
        flow, "embed", None, "embed: every word and its place are one number"
    ),
    "hash": lambda flow: words(
        flow, "token hash", "embed", "hash: three folds mix the digits of each number"
    ),
    "attend": sums,
    "fold": lambda flow: layers(
        flow, ("fold", "store"), "fold: six folds, and a different stored sum for each fact"
    ),
    "strip": lambda flow: layers(
        flow, ("strip", "decode"), "strip: folds remove the bits that are not the answer"
    ),
    "read": lambda flow: layers(
        flow, ("read", "output"), "read: thresholds turn what is left into 0, 1 or 2", True
    ),
}


def main(folder: Path = DOCS) -> None:
    flow = flows()
    for name, draw in PICTURES.items():
        pictures.write(draw, flow, folder / f"lecture-{name}.svg")


if __name__ == "__main__":
    main()
