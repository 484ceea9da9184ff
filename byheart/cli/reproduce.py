"""Terminal view of `reproduce`."""

from math import floor, log10

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..errors import ByheartError
from ..reproduce import FIGURES
from .output import number


def chosen(names: list[str] | None, everything: bool) -> list[str] | None:
    """The figures that were named, None for all of them."""
    if everything == bool(names):
        known = ", ".join(figure.name for figure in FIGURES)
        raise ByheartError(f"name a figure or give --all; there are: {known}.")
    return names or None


def reproduced(answer: dict) -> Group:
    """Each figure with its fits, its caption and its files."""
    parts: list[RenderableType] = []
    for figure in answer["figures"]:
        trials = f"{number(figure['trials'])} trials, {number(figure['censored'])} censored"
        parts += [Text()] if parts else []
        parts.append(Text(f"{figure['name']}  {figure['title']}", style="bold"))
        parts.append(Text(f"{figure['paper']}; {trials}", style="dim"))
        if figure["fits"]:
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for name in ("fit", "least squares", "residual"):
                table.add_column(name, justify="right" if name == "residual" else "left")
            for fit in figure["fits"]:
                table.add_row(Text(fit["name"]), Text(formula(fit)), f"{fit['residual']:.3g}")
            parts.append(table)
        parts.append(Text(figure["caption"]))
        parts += [Text(f"drawn in {path}") for path in figure["files"]]
    if answer["missing"]:
        parts.append(Text(f"\nno rows to draw: {', '.join(answer['missing'])}"))
    return Group(*parts)


def formula(fit: dict) -> str:
    """The law, each coefficient with its standard error, to two digits of the error.

    >>> formula({"terms": ["1", "n"], "coefficients": [2, -0.5], "errors": [0.25, 0.125]})
    '2.00 ± 0.25 + (-0.50 ± 0.12) n'
    """
    terms = []
    errors = fit["errors"] or [None] * len(fit["terms"])
    for term, value, error in zip(fit["terms"], fit["coefficients"], errors, strict=True):
        shown = f"{value:.4g}"
        if error:
            digits = max(0, 1 - floor(log10(error)))
            shown = f"{value:,.{digits}f} ± {error:,.{digits}f}"
        terms.append(shown if term == "1" else f"({shown}) {term}")
    return " + ".join(terms)
