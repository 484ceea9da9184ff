"""The results of the figures of dana2024, in sentences that follow from the rows."""

from collections.abc import Mapping, Sequence

from ..figure import RowsByLabel, paragraph, seeds
from . import accuracies, coefficient, program
from .scaling import Scaling


def findings(scalings: Sequence[Scaling], rows: Mapping[str, RowsByLabel]) -> list[str]:
    """Of figures by name; those without rows are left out."""
    found = []
    sentences = [compared(one, rows.get(one.name, {})) for one in scalings]
    if any(sentences):
        found.append(
            "**Accuracy of attention alone, beside the published numbers.** Two models are "
            "compared: ours is eq. (2); in the program of the published numbers all heads share "
            "one map to d_h dimensions and one back where d is not d_h (dana-1b, dana-2a), and "
            f"scores have a factor 1/sqrt(d_h). {paragraph(*sentences)}"
        )
    sentences = []
    for one in scalings:
        fits = [fit for fit in one.fits(rows.get(one.name, {})) if fit.name.endswith("H d_h^2 d")]
        if len(fits) == 2:
            ours, theirs = fits
            sentences.append(
                f"{one.name}: {ours.residual:.3f} for ours ({ours.points} sizes, "
                f"{seeds(rows[one.name]['fast'])}), {theirs.residual:.3f} for the published "
                f"({theirs.points} sizes)."
            )
    if sentences:
        found.append(
            "**The law C(N) H d_h^2 d + C'.** Its residual, at the sizes before the first one "
            f"above accuracy {accuracies.LINEAR:g}: {' '.join(sentences)}"
        )
    if said := program.finding(rows.get(program.DANA_PROGRAM.name, {})):
        found.append(said)
    slopes = rows.get("dana-2b", {})
    if models := coefficient.models("", coefficient.slopes(slopes)):
        every = [row for part in slopes.values() for row in part]
        published = coefficient.models("", coefficient.published_slopes())
        found.append(
            f"**The gain of a head over d = d_h (dana-2b, {seeds(every)}).** "
            f"{coefficient.nearest('our', models)} "
            f"{coefficient.nearest('the published', published)} A head has 4 d^2 parameters; the "
            "paper's law is d^3."
        )
    return found


def compared(scaling: Scaling, rows: RowsByLabel) -> str:
    """The mean over seeds against the published accuracy, at the sizes that have both."""
    ours = accuracies.points(rows.get("fast", ()), scaling.axis)
    gains = {x: ours[x][0] - y for x, (y, _, _) in scaling.theirs.items() if x in ours}
    if not gains:
        return ""
    sentences = []
    for word, sign in (("higher", 1), ("lower", -1)):
        some = [x for x in gains if sign * gains[x] > 0]
        if some:
            most = max(some, key=lambda x: abs(gains[x]))
            sentences.append(
                f"{word} at {scaling.letter} = {_listed(some, list(gains))} (most at {most}: "
                f"{ours[most][0]:.3f}, published {scaling.theirs[most][0]:.3f})"
            )
    return (
        f"{scaling.name}, {seeds(rows['fast'])}: ours is {' and '.join(sentences) or 'the same'}."
    )


def _listed(some: list[int], of: list[int]) -> str:
    """Each of some sizes, or only their ends if they are neighbours among all.

    >>> _listed([3, 4, 5], [1, 2, 3, 4, 5]), _listed([3, 5], [1, 3, 5])
    ('3 to 5', '3, 5')
    """
    first = of.index(some[0])
    if len(some) > 2 and of[first : first + len(some)] == some:
        return f"{some[0]} to {some[-1]}"
    return ", ".join(map(str, some))
