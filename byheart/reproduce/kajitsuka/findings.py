"""What came out of Figures 1 to 3, in sentences that follow from the rows."""

from collections.abc import Mapping

from ..figure import RowsByLabel, seeds
from . import growth, parts
from .smallest import Smallest, deeper, depths, smallest

NAMES = {
    "trained": "Embeddings learnt",
    "paper": "By the authors' protocol",
    "frozen": "Embeddings frozen",
}


def findings(rows: Mapping[str, RowsByLabel]) -> list[str]:
    """Of figures by name; those without rows are left out."""
    found = (_fewest(rows.get("kajitsuka-3", {})), _depths(rows))
    return [sentences for sentences in found if sentences]


def _fewest(rows: RowsByLabel) -> str:
    """The fewest blocks for every N, of each kind."""
    said = []
    for kind, name in NAMES.items():
        if some := rows.get(kind):
            said += [
                f"{name}: {answers(smallest(some))} ({seeds(some)}).",
                deeper(some, kind),
            ]
    if not said:
        return ""
    return " ".join(x for x in (
        "**Fewest blocks (kajitsuka-3).**", *said,
        "The paper reports growth from N = 600 to 1,700, and does not say whether it learns "
        "embeddings.", _short(rows),
    ) if x)  # fmt: skip


def _short(rows: RowsByLabel) -> str:
    """Which kinds were not trained at the paper's N."""
    most = {kind: max(smallest(rows[kind])) for kind in NAMES if rows.get(kind)}
    said = [f"`{kind}` up to N = {N:,}" for kind, N in most.items() if N < min(growth.SIZES)]
    return f"Trained here: {' and '.join(said)} only." if said else ""


def answers(found: Mapping[int, Smallest]) -> str:
    """The fewest blocks over N: one number if it is the same everywhere."""
    said = {N: _blocks(one) for N, one in found.items()}
    if len(found) > 1 and len(set(said.values())) == 1:
        sizes = sorted(said)
        return f"{said[sizes[0]]} at each of {len(sizes)} N from {sizes[0]:,} to {sizes[-1]:,}"
    return ", ".join(f"{one} at N = {N:,}" for N, one in said.items())


def _blocks(found: Smallest) -> str:
    """From the least to the largest over seeds; seeds that missed it are counted."""
    if not found.seeds:
        return f"not reached (tried: {depths(found.depths)})"
    low, high = min(found.seeds), max(found.seeds)
    some = f" (not reached by {found.missed} of the seeds)" if found.missed else ""
    return (parts.count(low) if low == high else f"{low} to {high} blocks") + some


def _depths(rows: Mapping[str, RowsByLabel]) -> str:
    """How many depths of the training curves came near the least loss, and the best of them."""
    said = [
        f"{name}: {'; '.join(_kind(found, kind) for kind in NAMES if found.get(kind))}."
        for name in ("kajitsuka-1", "kajitsuka-2")
        if (found := rows.get(name))
    ]
    if not said:
        return ""
    return (
        f"**Deeper networks (kajitsuka-1, kajitsuka-2).** Within {parts.THRESHOLD:g} of the least "
        f"loss, of the depths trained: {' '.join(said)}"
    )


def _kind(rows: RowsByLabel, kind: str) -> str:
    some = rows[kind]
    tried = {parts.blocks(row) for row in some}
    reached = {parts.blocks(row) for row in some if row["reached"]}
    known = [row for row in some if row["loss"] is not None]
    best = min(known, key=lambda row: row["loss"], default=None)
    least = "" if best is None else f", the lowest loss with {parts.count(parts.blocks(best))}"
    return f"`{kind}` {len(reached)} of {len(tried)} ({seeds(some)}){least}"
