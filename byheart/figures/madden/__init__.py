"""Figure 1 of madden2024: how many parameters memorise how many contexts of TinyStories."""

from ..figure import Caption, Figure, RowsByLabel, Table
from ..published import column, read
from .cells import compared, fits, paper, place, published, repeated, smallest
from .drawing import draw
from .sweeps import LABELS, LENGTH, parts

__all__ = ["MADDEN_1"]


def table(rows: RowsByLabel) -> Table:
    """Per cell that both protocols were run on: the gaps in nats, ours, theirs here, published."""
    ours, theirs, known = repeated(rows), paper(rows), published()
    found = []
    for at in compared(rows):
        gaps = (ours[at].gap, theirs[at].gap, known.get(at))
        found.append((*map(str, at), *("" if gap is None else f"{gap:.3g}" for gap in gaps)))
    head = ("stories", "m", "gap, ours", "gap, the authors' protocol here", "gap, published")
    return Table(head, tuple(found))


def finding(rows: RowsByLabel) -> str:
    """The fewest neurons for the fewest and for the most stories."""
    found = smallest(rows)
    if not found:
        return ""
    ends = []
    for stories in sorted({min(found), max(found)}):
        best, tried = found[stories].best, place(found[stories].largest)[1]
        neurons = place(best)[1] if best else f"not reached with up to {tried}"
        ends.append(f"{neurons} for {stories:,} stories")
    theirs = [int(m) for m in column(read("madden-smallest"), "neurons")]
    return (
        f"The smallest m within 1 % of the entropy is {' and '.join(ends)}; published, on powers "
        f"of two: {min(theirs)} to {max(theirs)}."
    )


MADDEN_1 = Figure(
    name="madden-1",
    title="Gap to the entropy, and the smallest model that memorises TinyStories",
    paper="madden2024, Figure 1",
    data="tinystories",
    parts=parts,
    draw=draw,
    words=Caption(
        data=f"the first {LENGTH} words of 100 to 1,000 TinyStories",
        criterion="summed loss within 1 % of the entropy; censored cells are triangles",
        published="Beside it: the gaps read off the published plot; framed is the smallest m "
        "that reached the criterion, and the bounds are for the worst data of this size, so real "
        "text may need less.",
        differs="Differs: another sample of TinyStories, m finer than powers of two, and SOAP "
        "on the full batch of distinct contexts with few restarts instead of 50,000 steps of Adam.",
        points="a cell shows its best seed, and bars go up to the largest of the smallest sizes "
        "of single seeds",
    ),
    table=table,
    finding=finding,
    fits=fits,
    size=(9.0, 8.4),
    labels=LABELS,
)
