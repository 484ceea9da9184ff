"""Write docs/reproduce.md: every figure of the papers, drawn from the rows in results/.

python tools/make_reproduce.py    (after byheart reproduce --all, which draws the pictures)
"""

from pathlib import Path

from byheart.figures import FIGURES
from byheart.figures.data import FILES
from byheart.figures.figure import Figure, RowsByLabel, censored, trainings
from byheart.lab.sweeps.rows import read

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reproduce.md"
RESULTS = ROOT / "results"
INTRODUCTION = """# The papers' figures, measured again

Each picture shows our measurements beside the numbers that the authors published. The rows behind
it are in `results/`, one line per training; `byheart reproduce --all` redraws all of them in a
minute, and this page is generated from the same rows by `tools/make_reproduce.py`.

```
byheart reproduce dana-1a                                        # draw from the rows
byheart reproduce madden-1 --quick --data tinystories.txt        # train a small version: minutes
byheart reproduce madden-1 --rows mine --train --data tinystories.txt    # train all of it
```

Ours are solid, with the range over seeds; published numbers are hollow; theorems are dashed; fits
are dotted. A training that does not reach its criterion is censored: "not reached in N steps", a
triangle, and never "cannot".

The results, from the rows:
"""


def page() -> str:
    """The findings, and one section per figure that has rows."""
    every = {figure: rows_of(figure) for figure in FIGURES}
    found = {figure: figure.own(rows) for figure, rows in every.items()}
    results = {figure.name: figure.finding(rows) for figure, rows in found.items()}
    lines = [INTRODUCTION, *(f"- **{name}.** {x}" for name, x in results.items() if x), ""]
    for figure, rows in found.items():
        if not rows:
            continue
        lines += [f"## {figure.name}: {figure.title}", "", f"{figure.paper}.", ""]
        lines += [f"![{figure.title}](../results/{figure.name}/{figure.name}.svg)", ""]
        lines += [figure.caption(every[figure]), ""]
        table = figure.table(rows)
        lines += [f"| {' | '.join(table.columns)} |", "| --- " * len(table.columns) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in table.rows]
        lines += [""]
        for fit in figure.fits(rows):  # each coefficient with its standard error
            errors = [f" ± {error:.2g}" for error in fit.errors or ()] or [""] * len(fit.terms)
            coefficients = zip(fit.coefficients, errors, fit.terms, strict=True)
            law = " + ".join(f"({value:.3g}{error}) {term}" for value, error, term in coefficients)
            off = f"residual {fit.residual:.3g}, {fit.points} points"
            lines.append(f"- {fit.name}: {law}; {off}")
        trained = trainings(rows)
        minutes = sum(row["seconds"] for row in trained) / 60
        data = f" --data {FILES[figure.data]}" if figure.data else ""
        again = f"byheart reproduce {figure.name} --rows mine --train{data}"
        cost = (
            f"*{len(trained):,} trainings, {minutes:.0f} CPU minutes, {censored(rows):,} censored. "
            f"Rows: `results/{figure.name}/`; to train it all again: `{again}`.*"
        )
        lines += ["", cost, ""]
    return "\n".join(lines)


def rows_of(figure: Figure) -> RowsByLabel:
    """The committed rows by part, with those that are not drawn."""
    folders = sorted(path.parent for path in (RESULTS / figure.name).glob("*/rows.jsonl"))
    return {folder.name: read(folder) for folder in folders}


if __name__ == "__main__":
    PAGE.write_text(page())
