"""The last experiment of kajitsuka2025 (section H.2): 500 sequences of growing length n.

Tokens are random vectors, labels are random signs, the loss is the squared error.
"""

import math

from ...lab.sweeps.results import Smallest
from ...theory.kajitsuka2025.sign_patterns import uniform_attention
from ...theory.kajitsuka2025.sizes import bit_extraction_size
from .. import plotting
from ..data import vectors
from ..figure import Part, RowsByLabel, Settings, Table, described, seeds, tabulated
from ..plotting import Picture
from . import sweeps
from .blocks import draw_points, listed, ranged

SEQUENCES, COORDINATES = 500, 6
PUBLISHED = 4  # blocks, "for all sequence lengths"
DEPTHS = tuple(range(1, 7))
SEEDS = {10: 3, 100: 3, 1000: 3, 10_000: 3}  # of each length
STEPS = {1000: 2000, 10_000: 1500}  # where the protocol's own would take hours
FEW = {10_000: (1, 2, 3)}  # depths there
NARROW = "narrow"  # the part in which m is the 2 that the paper says for all its experiments
NARROW_LENGTH, NARROW_DEPTHS, NARROW_SEEDS = 10, (4, 8, 16, 32), 3
QUICK_SEQUENCES, QUICK_LENGTHS = 50, (10, 100)


def parts(settings: Settings) -> list[Part]:
    """A bisection over blocks for each length, which is a dataset of its own; then m = 2."""
    sequences = QUICK_SEQUENCES if settings.quick else SEQUENCES
    parts = [
        sweeps.part(
            f"n{n}",
            vectors(sequences, n, COORDINATES),
            (("layers", FEW.get(n, DEPTHS)),),
            sweeps.protocol_of("trained", stop=sweeps.ENOUGH, steps=STEPS.get(n)),
            settings.repeats(seeds),
            find=True,
            dimension=COORDINATES,
            loss="squared",
        )
        for n, seeds in (dict.fromkeys(QUICK_LENGTHS, 1) if settings.quick else SEEDS).items()
    ]
    if not settings.quick:
        dataset, axes = vectors(SEQUENCES, NARROW_LENGTH, COORDINATES), (("layers", NARROW_DEPTHS),)
        how = sweeps.protocol_of("trained", stop=sweeps.ENOUGH), settings.repeats(NARROW_SEEDS)
        parts.append(sweeps.part(NARROW, dataset, axes, *how, loss="squared"))
    return parts


def by_length(rows: RowsByLabel) -> dict[int, Smallest]:
    lengths = {int(label[1:]): part for label, part in rows.items() if part and label != NARROW}
    return {n: Smallest(tuple(lengths[n])) for n in sorted(lengths)}


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """Left blocks over n, right the parameters of the smallest network beside the bounds."""
    left, right = picture.subplots(1, 2)
    answers = by_length(rows)
    lengths = sorted({*SEEDS, *answers})
    label = f"Kajitsuka & Sato: {PUBLISHED} for all n (set-up: m = 2)"
    plotting.level(left, (min(SEEDS), max(SEEDS)), PUBLISHED, label)
    draw_points(left, answers, f"ours (fast), m = {COORDINATES}")
    plotting.finish(left, "Fewest blocks", "length n", "#blocks")
    left.set_ylim(0, max(DEPTHS) + 1.5)
    plotting.legend(left, loc="upper left")
    sequences = next((one.rows[0]["contexts"] for one in answers.values()), SEQUENCES)
    built = [construction(sequences, n) for n in lengths]
    plotting.bound(right, lengths, built, "Theorem 4.1: its construction")
    needed = [uniform_attention(sequences, sequences * n) for n in lengths]
    plotting.bound(right, lengths, needed, "Theorem 4.2: some labels need")
    known = {n: one.best["parameters"] for n, one in answers.items() if one.best}
    right.plot(list(known), list(known.values()), "o", color=plotting.OURS, markersize=5)
    right.set_yscale("log")
    right.set_ylim(max(1, min(needed) / 3), max(built) * 3)
    plotting.finish(right, "Parameters", "length n", "parameters")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlim(lengths[0] / 1.6, lengths[-1] * 1.6)


def construction(sequences: int, length: int) -> int:
    """The nonzero parameters of Theorem 4.1's network for such data, of norm up to sqrt(d)."""
    d = COORDINATES
    separation = closest(sequences * length, d)
    return bit_extraction_size(sequences, length, d, 2, math.sqrt(d), separation).parameters


def closest(points: int, dimension: int) -> float:
    """The approximate distance of the closest two of M random points in the unit cube.

    M points make M^2 / 2 pairs, and a pair is closer than delta with the probability of a ball of
    this radius: one such pair is expected where the balls of all pairs have total volume 1.
    """
    ball = math.pi ** (dimension / 2) / math.gamma(dimension / 2 + 1)
    return (2 / (points**2 * ball)) ** (1 / dimension)


def table(rows: RowsByLabel) -> Table:
    """By length: the fewest blocks over seeds, the depths that were tried, and the least error."""
    lines = []
    for label, part in rows.items():
        if not part:
            continue
        one, n = Smallest(tuple(part)), f"{NARROW_LENGTH} (m = 2)" if label == NARROW else label[1:]
        errors = [row["loss"] / row["predictions"] for row in part if row["loss"] is not None]
        reached = ranged(one) if one.reached else "not reached"
        least = f"{min(errors):.2g}" if errors else ""
        lines.append((n, reached, str(one.censored), listed(one), least, seeds(one.rows)))
    lines.sort(key=lambda line: ("m" in line[0], int(line[0].split()[0])))
    return tabulated("kajitsuka-length", lines)


def finding(rows: RowsByLabel) -> str:
    """The fewest blocks at every length, and how the m that the paper says ended."""
    ends = [f"{ranged(one)} at n = {n:,}" for n, one in by_length(rows).items() if one.reached]
    if not ends:
        return ""
    said = f"With m = {COORDINATES}: {', '.join(ends)}; the paper has {PUBLISHED} for all lengths."
    if not (narrow := Smallest(tuple(rows.get(NARROW, ())))).rows:
        return said
    reached = ranged(narrow) if narrow.reached else "the criterion is not reached by any seed"
    return f"{said} With its m = 2, n = {NARROW_LENGTH} and {listed(narrow)}: {reached}."


LABELS = (*(f"n{n}" for n in SEEDS), NARROW)
KAJITSUKA_LENGTH = described("kajitsuka-length", LABELS, parts, draw, table, finding)
