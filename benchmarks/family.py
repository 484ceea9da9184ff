"""The paper's sizes beside ours, in every setting of the theorem.

Networks are proved on all of their data; the paper's own construction beyond 1,000 sequences
(bit-extraction: beyond 10,000) is verified on a random sample. "Plain" is hash-fold-retrieve on
random sequences with as many contexts.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import byheart
from byheart.data.contexts import contexts
from byheart.data.dataset import Dataset
from byheart.data.generate import multisets, random, tokens

from .report import Options, facts, machine, table

SIZES = (100, 1000, 10_000, 100_000)
SAMPLE = 50
FLOAT64 = {1000: 528, 10_000: 1382, 100_000: 9835}  # must not be exceeded
WITHIN = 1.1  # of plain


@dataclass(frozen=True)
class Setting:
    """A setting of the theorem, random data for it, and the methods of both forms."""

    name: str
    data: Callable[[int], Dataset]
    small: dict
    faithful: dict | None = None


def forms(method: str) -> tuple[dict, dict]:
    return {"method": method}, {"method": method, "form": "faithful"}


def ids(sequences: int) -> Dataset:
    """Random sequences of integers, to be read as ids."""
    return replace(random(sequences, dimension=1), kind="number")


SETTINGS = (
    Setting("one label per sequence", random, {}, {"method": "bit-extraction"}),
    Setting("one label per token", lambda n: tokens(n // 4), *forms("seq2seq")),
    Setting("sparse attention", random, {"method": "sparse-attention"}),
    Setting("multisets", multisets, *forms("deep-sets")),
    Setting("ids", ids, *forms("embedding")),
    Setting("64 bits per parameter", random, *forms("limited-bits")),
    Setting("float64", random, {"method": "float64"}),
)


@cache
def plain(count: int) -> int:
    """Nonzero parameters of hash-fold-retrieve for as many contexts, on data of its own."""
    sequences = count
    while (missing := count - len(contexts(random(sequences, seed=1), positions=False))) > 0:
        sequences += missing
    return byheart.compile(random(sequences, seed=1)).parameters.nonzero


def faithful(setting: Setting, dataset: Dataset, sequences: int) -> dict | None:
    """The paper's own network, proved on all of the data or verified on a sample of it."""
    method = setting.faithful
    whole = method is not None and method["method"] == "bit-extraction"
    if method is None or (sequences > 10_000 and not whole):
        return None
    small = sequences <= (10_000 if whole else 1000)
    return facts(byheart.compile(dataset, sample=None if small else SAMPLE, **method))


def measure(options: Options) -> dict:
    rows = []
    for sequences in options.sizes(SIZES, (16,)):
        for setting in SETTINGS:
            dataset = setting.data(sequences)
            ours = facts(byheart.compile(dataset, **setting.small))
            row = {"setting": setting.name, "sequences": len(dataset), "N": sequences, "ours": ours}
            row |= {"plain": plain(ours["contexts"])}
            rows.append(row | {"paper": faithful(setting, dataset, sequences)})
            print(rows[-1], flush=True)
    return {"machine": machine(), "rows": rows}


def counted(row: dict) -> int:
    """What is compared with plain: an embedding matrix does not count."""
    return row["ours"]["counted" if row["setting"] == "ids" else "nonzero"]


def markdown(results: dict) -> str:
    body = []
    for row in results["rows"]:
        ours, paper = row["ours"], row["paper"]
        body.append(
            (row["setting"], row["sequences"], ours["contexts"],
             f"{paper['nonzero']:,} ({paper['evidence']})" if paper else "-",
             f"{ours['nonzero']:,} ({ours['evidence']})",
             f"{paper['nonzero'] / ours['nonzero']:.0f}" if paper else "-",
             f"{counted(row) / row['plain']:.2f}", ours["longest"])
        )  # fmt: skip
    heads = ("setting", "sequences", "contexts", "nonzero, the paper's construction",
             "nonzero, ours", "factor", "ours / plain", "longest parameter, bits")  # fmt: skip
    return table(heads, body)


def missed(results: dict) -> list[str]:
    lines = []
    for row in results["rows"]:
        where, limited = f"{row['setting']}, N = {row['N']}", ("64 bits per parameter", "float64")
        if row["setting"] not in limited and counted(row) > WITHIN * row["plain"]:
            lines.append(f"{where}: {counted(row)} against {row['plain']} plain")
        if row["setting"] == "float64" and row["ours"]["nonzero"] > FLOAT64.get(row["N"], 1 << 60):
            lines.append(f"{where}: {row['ours']['nonzero']} nonzero")
    return lines
