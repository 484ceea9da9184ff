"""The caption of Figure 1, and its result in sentences."""

from ..figure import RowsByLabel, paragraph, seeds
from ..published import column, read
from .cells import Cell, compared, fast, paper, place, published, repeated, smallest, steps
from .sweeps import FAST

BOUNDS = (
    "The bounds are for the worst data with as many contexts and words as these samples; most "
    "contexts of real text have one continuation, so real text may need fewer parameters."
)


def caption(rows: RowsByLabel) -> str:
    """What is drawn, what is censored, what differs from the paper."""
    ours, found = rows.get(FAST, ()), fast(rows)
    several = len({row["trial"]["seed"] for row in ours}) > 1
    least = ", the smallest of them in each cell" if several else ""
    drawn = (
        f"Summed loss minus entropy of {len(found)} cells"
        f"{f' ({seeds(ours)}{least})' if ours else ''}, beside the gaps read off the published "
        "plot; framed is the smallest m of those trained whose gap is at most 1 % of the entropy."
    )
    bars = (
        "A size that any seed reached counts as reached; bars go up to the largest of the "
        "smallest sizes of single seeds."
    )
    training = ""
    if ours:
        attempts = ours[0]["trial"]["protocol"]["attempts"]
        training = (
            f"Ours: {attempts[0]['optimiser'].upper()} on the full batch of distinct contexts, at "
            f"most {len(attempts)} starts with {steps(rows):,} steps in all; theirs: Adam with "
            "rate 0.0001, 50,000 steps, one start."
        )
    finer = any(neurons & (neurons - 1) for _, neurons in found)
    out = sum(not cell.reached for cell in found.values())
    censored = f"All {len(found)} cells reached 1 %." if found else ""
    if out:
        censored = (
            f"{out} of {len(found)} cells {'is' if out == 1 else 'are'} censored (triangles): not "
            f"reached in {steps(rows):,} steps, which does not mean that they cannot be."
        )
    missed = [
        f"{stories:,} stories ({each.censored} of {len(each.by_seed)})"
        for stories, each in smallest(rows).items()
        if each.reached and each.censored
    ]
    return paragraph(
        drawn,
        bars if several else "",
        _sample(rows),
        training,
        "Our m are finer than powers of two." if finer else "",
        censored,
        f"Seeds that reached 1 % with no size tried: {', '.join(missed)}." if missed else "",
        _both_protocols(rows),
        BOUNDS,
    )


def _sample(rows: RowsByLabel) -> str:
    """Whether the stories are the authors', judged by their numbers of contexts and words."""
    theirs = {
        row["stories"]: (row["contexts"], row["vocabulary"]) for row in read("madden-smallest")
    }
    first = {n: each.rows[0] for n, each in smallest(rows).items()}
    ours = {n: (row["contexts"], row["vocabulary"]) for n, row in first.items()}
    if not ours:
        return ""
    if all(theirs.get(n) == counts for n, counts in ours.items()):
        return "The stories have the contexts and words of the authors' sample."
    most = max(ours)
    known = f" (published: {theirs[most][0]:,} and {theirs[most][1]:,})" if most in theirs else ""
    return (
        f"Not the authors' sample of TinyStories: {most:,} stories have {ours[most][0]:,} contexts "
        f"and {ours[most][1]:,} words{known}; the text is tokenised by the same rule."
    )


def _both_protocols(rows: RowsByLabel) -> str:
    """The results of both protocols where both were run."""
    ours, theirs, places = repeated(rows), paper(rows), compared(rows)
    if not places:
        return "The authors' protocol was not run here."
    lost = sum(theirs[at].reached and not ours[at].reached for at in places)
    cost = sum(theirs[at].seconds for at in places) / sum(ours[at].seconds for at in places)
    gaps = []
    for at in places:
        numbers = (ours[at].gap, theirs[at].gap, published().get(at))
        three = ", ".join("-" if gap is None else f"{gap:.3g}" for gap in numbers)
        gaps.append(f"{at[0]} stories, m = {at[1]}: {three}")
    return (
        f"The authors' protocol was run on {len(places)} cells (below, one point per seed); "
        f"{_no_larger(rows)}, and "
        f"{lost or 'none'} that theirs reaches is censored in ours; theirs took {cost:.1f} times "
        f"the CPU time of all our seeds. Gaps in nats (ours, theirs here, published): "
        f"{'; '.join(gaps)}."
    )


def _no_larger(rows: RowsByLabel) -> str:
    """In how many of the cells of both protocols our gap is not the larger one."""

    def gap(cell: Cell) -> float:
        return float("inf") if cell.gap is None else cell.gap

    ours, theirs, places = repeated(rows), paper(rows), compared(rows)
    good = sum(gap(ours[at]) <= gap(theirs[at]) for at in places)
    most = max((len(ours[at].rows) for at in places), default=1)
    best = f", the best of {most} seeds there," if most > 1 else ""
    return f"our gap{best} is no larger in {good} of them"


def finding(rows: RowsByLabel) -> str:
    """The result: the fewest neurons for the fewest and for the most stories."""
    found = smallest(rows)
    if not found:
        return ""
    ends = []
    for stories in sorted({min(found), max(found)}):
        best, tried = found[stories].best, place(found[stories].largest)[1]
        neurons = place(best)[1] if best else f"not reached with up to {tried}"
        ends.append(f"{neurons} for {stories:,} stories")
    theirs = [int(m) for m in column(read("madden-smallest"), "neurons")]
    cells = len(compared(rows))
    return paragraph(
        "**Fewest neurons for text (madden-1).** The smallest m within 1 % of the entropy is "
        f"{' and '.join(ends)} ({seeds(rows[FAST])}). Published, on powers of two: {min(theirs)} "
        f"to {max(theirs)}.",
        _sample(rows),
        f"Where the authors' protocol was run as well, in {cells} cell{'' if cells == 1 else 's'}, "
        f"{_no_larger(rows)}."
        if paper(rows)
        else "",
    )
