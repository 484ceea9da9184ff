"""What the caption of Figure 1 says."""

from collections.abc import Mapping

from ..figure import RowsByLabel
from ..published import read
from .cells import Cell, Place, fast, paper, published, smallest, steps
from .parts import FAST


def caption(rows: RowsByLabel) -> str:
    """What is drawn, what is censored, what differs from the paper."""
    said = (_drawn(rows), _sample(rows), _training(rows), _censored(rows), _both(rows), BOUNDS)
    return " ".join(sentence for sentence in said if sentence)


BOUNDS = (
    "The bounds are about the worst data of as many contexts and words as these samples; most "
    "contexts of real text have one continuation, so it may take fewer parameters."
)


def _drawn(rows: RowsByLabel) -> str:
    seeds = {row["trial"]["seed"] for row in rows.get(FAST, ())}
    repeated = f"{len(seeds)} seeds" if len(seeds) > 1 else "one seed"
    return (
        f"Summed loss minus entropy of {len(fast(rows))} cells ({repeated}), beside the gaps read "
        "off the published plot; framed is the smallest m of those trained whose gap is at most "
        "1 % of the entropy."
    )


def _sample(rows: RowsByLabel) -> str:
    """Whether the stories are the authors': their counts of contexts and words say so."""
    theirs = {
        row["stories"]: (row["contexts"], row["vocabulary"]) for row in read("madden-smallest")
    }
    ours = {n: (each.contexts, each.vocabulary) for n, each in smallest(rows.get(FAST, ())).items()}
    if not ours:
        return ""
    if all(theirs.get(n) == counts for n, counts in ours.items()):
        return "The stories have the contexts and words of the authors' sample."
    most = max(ours)
    there = f" (published: {theirs[most][0]:,} and {theirs[most][1]:,})" if most in theirs else ""
    return (
        f"Another sample of TinyStories than the authors': {most:,} stories have {ours[most][0]:,} "
        f"contexts and {ours[most][1]:,} words{there}; words are cut by the same rule."
    )


def _training(rows: RowsByLabel) -> str:
    if not rows.get(FAST):
        return ""
    attempts = rows[FAST][0]["trial"]["protocol"]["attempts"]
    finer = any(neurons & (neurons - 1) for _, neurons in fast(rows))
    return (
        f"Ours: {attempts[0]['optimiser'].upper()} on the full batch of distinct contexts, at most "
        f"{len(attempts)} starts with {steps(rows[FAST]):,} steps in all; theirs: Adam with rate "
        "0.0001, 50,000 steps, one start."
        + (" Our m are finer than powers of two." if finer else "")
    )


def _censored(rows: RowsByLabel) -> str:
    found = fast(rows)
    out = sum(not cell.reached for cell in found.values())
    if not out:
        return f"All {len(found)} cells reached 1 %." if found else ""
    verb = "is" if out == 1 else "are"
    return (
        f"{out} of {len(found)} cells {verb} censored (triangles): not reached in "
        f"{steps(rows.get(FAST, ())):,} steps, which is not to say that they cannot."
    )


def _both(rows: RowsByLabel) -> str:
    """Where both protocols were run: how often ours ends at a gap that is no larger."""
    ours, theirs = fast(rows), paper(rows)
    places = [at for at in theirs if at in ours]
    if not places:
        return "The authors' protocol was not run here."
    good = sum(_no_worse(ours[at], theirs[at]) for at in places)
    lost = sum(theirs[at].reached and not ours[at].reached for at in places)
    told = "; ".join(_cell(at, ours, theirs) for at in places)
    most = max(len(ours[at].rows) for at in places)
    seeds = f", the best of {most} seeds there," if most > 1 else ""
    cost = sum(theirs[at].seconds for at in places) / sum(ours[at].seconds for at in places)
    return (
        f"The authors' protocol was run on {len(places)} cells; the gap of ours{seeds} "
        f"is no larger in {good} of them, and {lost or 'none'} that theirs reaches is censored "
        f"in ours; theirs took {cost:.1f} times the CPU time of all our seeds. "
        f"Gaps in nats, ours, theirs here, published: {told}."
    )


def _no_worse(ours: Cell, theirs: Cell) -> bool:
    if ours.gap is None or theirs.gap is None:
        return theirs.gap is None
    return ours.gap <= theirs.gap


def _cell(at: Place, ours: Mapping[Place, Cell], theirs: Mapping[Place, Cell]) -> str:
    gaps = (ours[at].gap, theirs[at].gap, published().get(at))
    said = ", ".join("-" if gap is None else f"{gap:.3g}" for gap in gaps)
    return f"{at[0]} stories, m = {at[1]}: {said}"
