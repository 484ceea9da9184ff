"""The results of Figures 1 to 3, in sentences that follow from the rows."""

from collections.abc import Mapping

from ...lab.sweeps.results import Smallest
from ..figure import RowsByLabel, paragraph, seeds
from . import growth, sweeps
from .blocks import blocks, count, deeper, fewest, listed, smallest

NAMES = {
    "trained": "Embeddings learnt",
    "paper": "By the authors' protocol",
    "frozen": "Embeddings frozen",
}


def findings(rows: Mapping[str, RowsByLabel]) -> list[str]:
    """Of figures by name; those without rows are left out."""
    found = []
    searched = {kind: some for kind in NAMES if (some := rows.get("kajitsuka-3", {}).get(kind))}
    sentences = []
    for kind, some in searched.items():
        sentences.append(f"{NAMES[kind]}: {answers(smallest(some))} ({seeds(some)}).")
        sentences.append(deeper(some, kind))
    if sentences:
        most = {kind: max(smallest(some)) for kind, some in searched.items()}
        few = [f"`{kind}` up to N = {N:,}" for kind, N in most.items() if N < min(growth.SIZES)]
        found.append(
            paragraph(
                "**Fewest blocks (kajitsuka-3).**",
                *sentences,
                "The paper reports growth from N = 600 to 1,700, and does not say whether "
                "embeddings are trained.",
                f"Trained here: {' and '.join(few)} only." if few else "",
            )
        )
    trained = {name: rows[name] for name in ("kajitsuka-1", "kajitsuka-2") if rows.get(name)}
    if trained:
        sentences = [
            f"{name}: {'; '.join(_depths(some, kind) for kind in NAMES if some.get(kind))}."
            for name, some in trained.items()
        ]
        found.append(
            f"**Deeper networks (kajitsuka-1, kajitsuka-2).** Within {sweeps.THRESHOLD:g} of the "
            f"least loss, of the depths trained: {' '.join(sentences)}"
        )
    return found


def answers(found: Mapping[int, Smallest]) -> str:
    """The fewest blocks over N: one number if it is the same everywhere.

    From the minimum to the maximum over seeds; seeds that missed the criterion are counted.
    """
    blocks_at = {}
    for N, one in found.items():
        if not one.reached:
            blocks_at[N] = f"not reached (tried: {listed(one)})"
            continue
        low, high = min(fewest(one)), max(fewest(one))
        blocks_at[N] = count(low) if low == high else f"{low} to {high} blocks"
        if one.censored:
            blocks_at[N] += f" (not reached by {one.censored} of the seeds)"
    if len(found) > 1 and len(set(blocks_at.values())) == 1:
        sizes = sorted(blocks_at)
        return f"{blocks_at[sizes[0]]} at each of {len(sizes)} N from {sizes[0]:,} to {sizes[-1]:,}"
    return ", ".join(f"{one} at N = {N:,}" for N, one in blocks_at.items())


def _depths(rows: RowsByLabel, kind: str) -> str:
    """How many depths came near the least loss, and which had the lowest."""
    some = rows[kind]
    tried = {blocks(row) for row in some}
    reached = {blocks(row) for row in some if row["reached"]}
    known = [row for row in some if row["loss"] is not None]
    best = min(known, key=lambda row: row["loss"], default=None)
    least = "" if best is None else f", the lowest loss with {count(blocks(best))}"
    return f"`{kind}` {len(reached)} of {len(tried)} ({seeds(some)}){least}"
