"""What came out of all figures, beside what the papers say: a paragraph a finding, from rows."""

from collections.abc import Mapping

from . import dana, kajitsuka
from .figure import RowsByLabel
from .madden.telling import finding


def findings(rows: Mapping[str, RowsByLabel]) -> list[str]:
    """Of the rows of figures by name; what has no rows is left out."""
    found = (
        finding(rows.get("madden-1", {})),
        *dana.findings(dana.SCALINGS, rows),
        *kajitsuka.findings(rows),
    )
    return [sentences for sentences in found if sentences]
