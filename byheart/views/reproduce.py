"""reproduce as lines: what each figure shows, its fits, its caption and its files."""

from math import floor, log10

from ..api.reproduce import Reproduction
from ..figures.fits import Fit
from ..machine.tables import number
from .terminal import Group, RenderableType, Text, columns, right


def view(result: Reproduction) -> Group:
    parts: list[RenderableType] = []
    for drawn in result.figures:
        trials = f"{number(drawn.trials)} trials, {number(drawn.censored)} censored"
        parts.append(Text(f"{drawn.figure.name}  {drawn.figure.title}", style="bold"))
        parts.append(Text(f"{drawn.figure.paper}; {trials}", style="dim"))
        numbers = columns(*drawn.table.columns)
        for row in drawn.table.rows:
            numbers.add_row(*map(Text, row))
        fits = columns("fit", "least squares", *right("residual"))
        for fit in drawn.fits:
            fits.add_row(Text(fit.name), Text(formula(fit)), f"{fit.residual:.3g}")
        parts += [table for table in (numbers, fits) if table.row_count]
        parts.append(Text(drawn.caption))
        parts += [Text(f"drawn in {path}") for path in drawn.files]
        parts.append(Text())
    parts = parts[:-1]
    if result.missing:
        parts.append(Text(f"\nno rows to draw: {', '.join(result.missing)}"))
    return Group(*parts)


def formula(fit: Fit) -> str:
    """The law, each coefficient with its standard error, to two digits of the error.

    >>> formula(Fit("law", ("1", "n"), (2, -0.5), (0.25, 0.125), 0.0, 9))
    '2.00 ± 0.25 + (-0.50 ± 0.12) n'
    """
    parts = []
    errors = fit.errors or [None] * len(fit.terms)
    for term, coefficient, error in zip(fit.terms, fit.coefficients, errors, strict=True):
        value = f"{coefficient:.4g}"
        if error:
            digits = max(0, 1 - floor(log10(error)))
            value = f"{coefficient:,.{digits}f} ± {error:,.{digits}f}"
        parts.append(value if term == "1" else f"({value}) {term}")
    return " + ".join(parts)
