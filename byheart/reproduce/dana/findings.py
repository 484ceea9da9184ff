"""What came out of the figures of dana2024, in sentences that follow from the rows."""

from collections.abc import Mapping, Sequence

from ..figure import RowsByLabel, seeds
from . import coefficient, parts
from .scaling import Scaling

Rows = Mapping[str, RowsByLabel]  # name of a figure: its rows


def findings(scalings: Sequence[Scaling], rows: Rows) -> list[str]:
    """Of figures by name; those without rows are left out."""
    found = (_beside(scalings, rows), _law(scalings, rows), _slopes(rows.get("dana-2b", {})))
    return [sentences for sentences in found if sentences]


def _beside(scalings: Sequence[Scaling], rows: Rows) -> str:
    """Where ours is higher than published, and where it is lower."""
    found = [compared(one, rows.get(one.name, {})) for one in scalings]
    said = [sentence for sentence in found if sentence]
    if not said:
        return ""
    return (
        "**Accuracy of attention alone, beside the published.** Two models are compared: the "
        "program of the published numbers has a layer norm and a factor 1/sqrt(d_h), ours has "
        f"not. {' '.join(said)}"
    )


def compared(scaling: Scaling, rows: RowsByLabel) -> str:
    """The mean over seeds against the published accuracy, at the sizes that have both."""
    ours = parts.points(rows.get("fast", ()), scaling.axis)
    gains = {x: ours[x][0] - y for x, (y, _, _) in scaling.theirs.items() if x in ours}
    if not gains:
        return ""
    said = []
    for word, sign in (("higher", 1), ("lower", -1)):
        some = [x for x in gains if sign * gains[x] > 0]
        if some:
            most = max(some, key=lambda x: abs(gains[x]))
            said.append(
                f"{word} at {scaling.letter} = {_listed(some, list(gains))} (most at {most}: "
                f"{ours[most][0]:.3f}, published {scaling.theirs[most][0]:.3f})"
            )
    return f"{scaling.name}, {seeds(rows['fast'])}: ours is {' and '.join(said) or 'the same'}."


def _listed(some: list[int], of: list[int]) -> str:
    """Each of some sizes, or their ends if they are neighbours among all."""
    first = of.index(some[0])
    if len(some) > 2 and of[first : first + len(some)] == some:
        return f"{some[0]} to {some[-1]}"
    return ", ".join(map(str, some))


def _law(scalings: Sequence[Scaling], rows: Rows) -> str:
    """How far the paper's law is from the accuracies."""
    said = []
    for one in scalings:
        fits = [fit for fit in one.fits(rows.get(one.name, {})) if fit.name.endswith("H d_h^2 d")]
        if len(fits) == 2:
            ours, theirs = fits
            said.append(
                f"{one.name}: {ours.residual:.3f} for ours ({ours.points} sizes, "
                f"{seeds(rows[one.name]['fast'])}), {theirs.residual:.3f} for the published "
                f"({theirs.points} sizes)."
            )
    if not said:
        return ""
    return (
        "**The law C(N) H d_h^2 d + C'.** Its residual, at the sizes before the first one above "
        f"accuracy {parts.LINEAR:g}: {' '.join(said)}"
    )


def _slopes(rows: RowsByLabel) -> str:
    """Which power of d the gain of a head follows best."""
    ours = coefficient.nearest("our", coefficient.models("", coefficient.slopes(rows)))
    if not ours:
        return ""
    theirs = coefficient.models("", coefficient.published_slopes())
    every = [row for part in rows.values() for row in part]
    return (
        f"**The gain of a head over d = d_h (dana-2b, {seeds(every)}).** {ours} "
        f"{coefficient.nearest('the published', theirs)} A head has 4 d^2 parameters; the paper's "
        "law is d^3."
    )
