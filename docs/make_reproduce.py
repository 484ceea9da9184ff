"""Write docs/reproduce.md: every figure of the papers, drawn from the rows in results/.

python docs/make_reproduce.py    (after byheart reproduce --all, which draws the pictures)
"""

from pathlib import Path

from byheart.lab.sweeps.rows import read
from byheart.reproduce import FIGURES
from byheart.reproduce.data import FILES
from byheart.reproduce.figure import Figure, RowsByLabel, censored, trainings
from byheart.reproduce.findings import findings
from byheart.reproduce.fits import Fit

PAGE = Path(__file__).parent / "reproduce.md"
RESULTS = Path(__file__).parents[1] / "results"
INTRODUCTION = """# The papers' figures, measured again

Each picture stands beside the numbers that its authors published. The rows behind it are in
`results/`, one line a training; `byheart reproduce --all` draws all of them anew in a minute, and
this page is written from the same rows by `docs/make_reproduce.py`.

```
byheart reproduce dana-1a                                        # draw from the rows
byheart reproduce madden-1 --quick --data tinystories.txt        # train a small version: minutes
byheart reproduce madden-1 --rows mine --train --data tinystories.txt    # train all of it
```

Ours are solid, with the range over seeds; published numbers are hollow; theorems are dashed; fits
are dotted. A training that does not reach its criterion is censored: "not reached in so many
steps", a triangle, and never "cannot".

What came out, beside what the papers say, in numbers from the rows:
"""


def page() -> str:
    """What came out, and a section a figure that has rows."""
    found = {figure: rows_of(figure) for figure in FIGURES}
    told = findings({figure.name: rows for figure, rows in found.items()})
    sections = [_section(figure, rows) for figure, rows in found.items() if rows]
    return "\n".join([INTRODUCTION, *(f"- {finding}" for finding in told), "", *sections])


def rows_of(figure: Figure) -> RowsByLabel:
    """The committed rows, by part."""
    folders = sorted(path.parent for path in (RESULTS / figure.name).glob("*/rows.jsonl"))
    return figure.own({folder.name: read(folder) for folder in folders})


def _section(figure: Figure, rows: RowsByLabel) -> str:
    every = trainings(rows)
    seconds = sum(row["seconds"] for row in every)
    cost = (
        f"*{len(every):,} trainings, {seconds / 60:.0f} CPU minutes, {censored(rows):,} censored. "
        f"Rows: `results/{figure.name}/`; all of it again: `{_again(figure)}`.*"
    )
    picture = f"![{figure.title}](../results/{figure.name}/{figure.name}.svg)"
    fits = [_fit(fit) for fit in figure.fits(rows)]
    head = f"## {figure.name}: {figure.title}\n\n{figure.paper}.\n"
    return "\n".join([head, picture, "", figure.caption(rows), "", *fits, "", cost, ""])


def _again(figure: Figure) -> str:
    """The command that trains all of it, with the data that it needs."""
    data = f" --data {FILES[figure.data]}" if figure.data else ""
    return f"byheart reproduce {figure.name} --rows mine --train{data}"


def _fit(fit: Fit) -> str:
    """A law with the standard errors of its coefficients."""
    errors = fit.errors or (None,) * len(fit.terms)
    parts = [
        f"({value:.3g}{'' if error is None else f' ± {error:.2g}'}) {term}"
        for term, value, error in zip(fit.terms, fit.coefficients, errors, strict=True)
    ]
    return f"- {fit.name}: {' + '.join(parts)}; residual {fit.residual:.3g}, {fit.points} points"


if __name__ == "__main__":
    PAGE.write_text(page())
