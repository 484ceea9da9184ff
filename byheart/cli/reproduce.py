"""What a person sees of reproduce."""

from math import floor, log10

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .output import number


def reproduced(answer: dict) -> Group:
    """Each figure: what it shows, its fits, its caption, where it is."""
    parts = [part for figure in answer["figures"] for part in _figure(figure)]
    return Group(*parts[:-1], *_missing(answer["missing"]))


def _figure(figure: dict) -> list[RenderableType]:
    trials = f"{number(figure['trials'])} trials, {number(figure['censored'])} censored"
    return [
        Text(f"{figure['name']}  {figure['title']}", style="bold"),
        Text(f"{figure['paper']}; {trials}", style="dim"),
        *([_fits(figure["fits"])] if figure["fits"] else []),
        Text(figure["caption"]),
        *(Text(f"drawn in {path}") for path in figure["files"]),
        Text(),
    ]


def _fits(fits: list[dict]) -> Table:
    """A row for each law: its coefficients with their standard errors, and how far it is off."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("fit", "least squares", "residual"):
        table.add_column(name, justify="right" if name == "residual" else "left")
    for fit in fits:
        table.add_row(Text(fit["name"]), Text(formula(fit)), f"{fit['residual']:.3g}")
    return table


def formula(fit: dict) -> str:
    """The law, each coefficient with its standard error.

    >>> formula({"terms": ["1", "n"], "coefficients": [2, -0.5], "errors": [0.25, 0.125]})
    '2.00 ± 0.25 + (-0.50 ± 0.12) n'
    """
    errors = fit["errors"] or [None] * len(fit["terms"])
    parts = zip(fit["terms"], fit["coefficients"], errors, strict=True)
    return " + ".join(_term(*part) for part in parts)


def _term(term: str, coefficient: float, error: float | None) -> str:
    """With as many digits as two of the error."""
    said = f"{coefficient:.4g}"
    if error:
        digits = max(0, 1 - floor(log10(error)))
        said = f"{coefficient:,.{digits}f} ± {error:,.{digits}f}"
    return said if term == "1" else f"({said}) {term}"


def _missing(names: list[str]) -> list[RenderableType]:
    return [Text(f"\nno rows to draw: {', '.join(names)}")] if names else []
