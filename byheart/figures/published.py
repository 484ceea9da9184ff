"""The authors' own numbers, as small tables in the folder published/.

madden-heat-map   Figure 1 (left) of madden2024, read off the published plot: the gap of each cell
                  in nats, summed over predictions. The colour scale resolves about 7 %.
madden-smallest   Figure 1 (right): the fewest neurons and parameters whose gap is at most 1 % of
                  the entropy. Exact: the heights in the plot are those of whole numbers. The text
                  of the paper says 1,123 contexts for 400 stories, its figure 1,223.
dana              The accuracies in the repository of dana2024. Column `experiment`: heads (number 1
                  there; figures 1a and 2b), head-dimension (2; 1b), dimension (3; 2a), attention
                  and mlp (5; 3), plane (6; 4). The program averages them over its last 100 training
                  batches, drawn from a fixed sample. It has head dimension 2 in the plane, where
                  the text of the paper says 5.
compiled          Ours, not published elsewhere: sizes of hash-fold-retrieve with two labels, from
                  benchmarks/sizes.json (a test compares them).
"""

import csv
from functools import cache
from importlib.resources import files

Published = dict[str, float | str]


@cache
def read(name: str) -> tuple[Published, ...]:
    """The rows of a table; numbers are converted."""

    def value(text: str) -> float | str:
        try:
            return float(text) if "." in text or "e" in text else int(text)
        except ValueError:
            return text

    text = files(__package__).joinpath("published", f"{name}.csv").read_text("utf-8")
    lines = csv.DictReader(text.splitlines())
    return tuple({key: value(entry) for key, entry in line.items()} for line in lines)


def column(rows: tuple[Published, ...], name: str) -> list[float]:
    return [float(row[name]) for row in rows]
