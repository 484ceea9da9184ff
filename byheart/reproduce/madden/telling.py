"""What the caption of Figure 1 says."""

from collections.abc import Mapping

from ..figure import RowsByLabel, seeds
from ..published import column, read
from .cells import (
    Cell,
    Place,
    Smallest,
    fast,
    paper,
    published,
    repeated,
    smallest,
    steps,
)
from .parts import FAST


def caption(rows: RowsByLabel) -> str:
    """What is drawn, what is censored, what differs from the paper."""
    said = (
        _drawn(rows), _sample(rows), _training(rows), _censored(rows), _seeds(rows), _both(rows),
        BOUNDS,
    )  # fmt: skip
    return " ".join(sentence for sentence in said if sentence)


BOUNDS = (
    "The bounds are about the worst data of as many contexts and words as these samples; most "
    "contexts of real text have one continuation, so it may take fewer parameters."
)


def _drawn(rows: RowsByLabel) -> str:
    found = rows.get(FAST, ())
    several = len({row["trial"]["seed"] for row in found}) > 1
    least = ", the least of them in each cell" if several else ""
    told = f" ({seeds(found)}{least})" if found else ""
    bars = (
        " A size that any seed reached counts as reached; bars go up to the largest of the "
        "smallest sizes of single seeds."
    )
    return (
        f"Summed loss minus entropy of {len(fast(rows))} cells{told}, beside the gaps read off the "
        "published plot; framed is the smallest m of those trained whose gap is at most 1 % of "
        f"the entropy.{bars if several else ''}"
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


def _seeds(rows: RowsByLabel) -> str:
    """Where some seeds reached 1 % with no size, and others did."""
    said = [
        f"{stories:,} stories ({each.censored} of {each.censored + len(each.rows)})"
        for stories, each in smallest(rows.get(FAST, ())).items()
        if each.rows and each.censored
    ]
    return f"Seeds that reached 1 % with no size tried: {', '.join(said)}." if said else ""


def _both(rows: RowsByLabel) -> str:
    """Where both protocols were run: what each came to."""
    ours, theirs = repeated(rows), paper(rows)
    places = [at for at in theirs if at in ours]
    if not places:
        return "The authors' protocol was not run here."
    lost = sum(theirs[at].reached and not ours[at].reached for at in places)
    told = "; ".join(_cell(at, ours, theirs) for at in places)
    cost = sum(theirs[at].seconds for at in places) / sum(ours[at].seconds for at in places)
    return (
        f"The authors' protocol was run on {len(places)} cells (below, a point a seed); "
        f"{no_larger(rows)}, and "
        f"{lost or 'none'} that theirs reaches is censored in ours; theirs took {cost:.1f} times "
        f"the CPU time of all our seeds. Gaps in nats, ours, theirs here, published: {told}."
    )


def no_larger(rows: RowsByLabel) -> str:
    """In how many of the cells of both protocols ours ends at a gap that is no larger."""
    ours, theirs = repeated(rows), paper(rows)
    places = [at for at in theirs if at in ours]
    good = sum(_no_worse(ours[at], theirs[at]) for at in places)
    most = max((len(ours[at].rows) for at in places), default=1)
    seeds = f", the best of {most} seeds there," if most > 1 else ""
    return f"the gap of ours{seeds} is no larger in {good} of them"


def _no_worse(ours: Cell, theirs: Cell) -> bool:
    if ours.gap is None or theirs.gap is None:
        return theirs.gap is None
    return ours.gap <= theirs.gap


def _cell(at: Place, ours: Mapping[Place, Cell], theirs: Mapping[Place, Cell]) -> str:
    gaps = (ours[at].gap, theirs[at].gap, published().get(at))
    said = ", ".join("-" if gap is None else f"{gap:.3g}" for gap in gaps)
    return f"{at[0]} stories, m = {at[1]}: {said}"


def finding(rows: RowsByLabel) -> str:
    """What came out: the fewest neurons for the fewest and for the most stories."""
    found = smallest(rows.get(FAST, ()))
    if not found:
        return ""
    ends = " and ".join(_end(n, found[n]) for n in sorted({min(found), max(found)}))
    theirs = [int(m) for m in column(read("madden-smallest"), "neurons")]
    compared = (
        f" Where the authors' protocol was run as well, in {_cells(rows)}, {no_larger(rows)}."
    )
    return (
        "**Fewest neurons for text (madden-1).** The smallest m within 1 % of the entropy is "
        f"{ends} ({seeds(rows[FAST])}). Published, on powers of two: {min(theirs)} to "
        f"{max(theirs)}. {_sample(rows)}{compared if paper(rows) else ''}"
    )


def _end(stories: int, found: Smallest) -> str:
    tried = f"not reached with up to {found.tried['trial']['sizes']['neurons']}"
    return f"{found.neurons or tried} for {stories:,} stories"


def _cells(rows: RowsByLabel) -> str:
    count = sum(at in repeated(rows) for at in paper(rows))
    return f"{count} cell{'' if count == 1 else 's'}"
