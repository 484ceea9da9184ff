"""The authors' own numbers, as small tables in the folder published/.

madden-heat-map   Figure 1 (left) of madden2024, read off the published plot: the gap of each cell
                  in nats, summed over predictions. The colour scale resolves about 7 %.
madden-smallest   Figure 1 (right): the fewest neurons and parameters whose gap is at most 1 % of
                  the entropy. Exact: the heights in the plot are those of whole numbers. The text
                  of the paper says 1,123 contexts for 400 stories, its figure 1,223.
madden-2-*        The same where only the feed-forward part is trained: plots/plot-subset-True.pdf
                  of curtfox/decoder-memory-capacity at commit 5fce4ed (plot of 7 March 2025). The
                  colour scale resolves about 5 %; `parameters` are all, with those not trained.
dana              The accuracies in the repository of dana2024 at commit cffc0d8, of 9 March 2025.
                  Column `experiment`: heads (number 1 there; figures 1a and 2b), head-dimension (2;
                  1b), dimension (3; 2a), attention and mlp (5; 3), plane (6; 4). Rows with d = 40
                  to 60 (N = 200) and with three layers (N = 70) are the later *_dim and *_depth
                  files. The notebook averages over 5 trainings (20 for the plane) and over the last
                  100 training batches of each, drawn from a fixed sample. It has head dimension 2
                  in the plane, where the text of the preprint says 5.
compiled          Ours, not published elsewhere: sizes of hash-fold-retrieve with two labels, from
                  benchmarks/sizes.json (a test compares them); the code word in bits.
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
