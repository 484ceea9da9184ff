"""The results of Figures 1 to 3, in sentences that follow from the rows."""

from collections.abc import Mapping

from ..figure import RowsByLabel, paragraph, seeds
from . import sweeps
from .blocks import answers, blocks, count, grows, repeated, smallest
from .setups import SETUPS, SIZES

GROWS = "More blocks at the largest N than at the smallest, or not reached, by every seed"


def findings(rows: Mapping[str, RowsByLabel]) -> list[str]:
    """Of figures by name; those without rows are left out."""
    found = []
    if sentences := growth(rows.get("kajitsuka-3", {})):
        found.append(
            paragraph(
                "**Fewest blocks (kajitsuka-3).** The paper reports growth from N = 600 to 1,700, "
                "and does not say what its tokens are, whether embeddings are trained, and which "
                "token is the 0-th.",
                *sentences,
            )
        )
    trained = {name: rows[name] for name in ("kajitsuka-1", "kajitsuka-2") if rows.get(name)}
    if trained:
        sentences = [
            f"{name}: {'; '.join(_depths(some, kind) for kind in sweeps.KINDS if some.get(kind))}."
            for name, some in trained.items()
        ]
        found.append(
            f"**Deeper networks (kajitsuka-1, kajitsuka-2).** Within {sweeps.THRESHOLD:g} of the "
            f"least loss, of the depths trained: {' '.join(sentences)}"
        )
    return found


def growth(rows: RowsByLabel) -> list[str]:
    """Which set-ups take more blocks at their largest N, which do not, and which do not begin."""
    told: dict[str, dict[str, list[str]]] = {GROWS: {}}  # first; set-ups by their answers
    for label in SETUPS:
        if not rows.get(label):
            continue
        found, name = smallest(rows[label]), f"`{label}`"
        if max(found) < min(SIZES):
            kind = f"Trained only below N = {min(SIZES)}"
        elif not found[min(found)].reached:
            kind = f"Not reached at N = {min(found)}"
        elif grows(found):
            kind, name = GROWS, f"{name} ({SETUPS[label]})"
        else:
            kind = "Not more blocks by every seed"
        answer = f"{answers(found)} ({seeds(rows[label])})"
        told.setdefault(kind, {}).setdefault(answer, []).append(name)
    sentences = []
    for kind, some in told.items():
        if some:
            said = [f"{', '.join(names)} {answer}" for answer, names in some.items()]
            sentences.append(f"{kind}: {'; '.join(said)}.")
    return sentences


def _depths(rows: RowsByLabel, kind: str) -> str:
    """How many depths came near the least loss, and which had the lowest."""
    some = rows[kind]
    depths = {depth: [row for row in some if blocks(row) == depth] for depth in map(blocks, some)}
    reached = sum(any(row["reached"] for row in own) for own in depths.values())
    always = sum(all(row["reached"] for row in own) for own in depths.values())
    known = [row for row in some if row["loss"] is not None]
    best = min(known, key=lambda row: row["loss"], default=None)
    least = "" if best is None else f", the lowest loss with {count(blocks(best))}"
    every = "" if always == reached else f" by some seed, {always} by every one"
    return f"`{kind}` {reached} of {len(depths)}{every} ({repeated(some)}){least}"
