"""The figures of the papers, redrawn: our rows beside the published numbers and the bounds."""

from collections.abc import Mapping

from . import dana, kajitsuka, madden, morris
from .figure import Figure, RowsByLabel

FIGURES: tuple[Figure, ...] = (
    madden.MADDEN_1,
    *dana.DANA,
    *kajitsuka.KAJITSUKA,
    morris.MORRIS_CAPACITY,
)


def findings(rows: Mapping[str, RowsByLabel]) -> list[str]:
    """The results of all figures beside the papers' claims, one paragraph each.

    Figures are given by name; a finding without rows is left out.
    """
    found = (
        madden.finding(rows.get("madden-1", {})),
        *dana.findings(dana.SCALINGS, rows),
        *kajitsuka.findings(rows),
        morris.finding(rows.get("morris-capacity", {})),
    )
    return [paragraph for paragraph in found if paragraph]
