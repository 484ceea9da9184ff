"""The straight lines through the smallest models, ours and the authors'."""

from ..figure import RowsByLabel
from ..fits import Fit, polynomial
from ..published import column, read
from .cells import Smallest, place, smallest
from .parts import FAST

Points = tuple[list[float], list[float]]


def fits(rows: RowsByLabel) -> list[Fit]:
    """Parameters and neurons against contexts; a line through two points at least."""
    table = read("madden-smallest")
    contexts = column(table, "contexts")
    found = []
    for quantity in ("parameters", "neurons"):
        for whose, (x, y) in {
            "ours": ours(rows, quantity),
            "published": (contexts, column(table, quantity)),
        }.items():
            if len(set(x)) > 1:
                found.append(polynomial(f"{quantity}, {whose}", x, y, 1))
    return found


def ours(rows: RowsByLabel, quantity: str) -> Points:
    """Contexts and the smallest size that a seed memorises with, where there is one."""
    found = [each for each in smallest(rows.get(FAST, ())).values() if each.rows]
    return [each.contexts for each in found], [min(sizes(each, quantity)) for each in found]


def sizes(found: Smallest, quantity: str) -> list[float]:
    """The parameters or neurons of the smallest models, one for each seed that found one."""
    if quantity == "parameters":
        return [row["parameters"] for row in found.rows]
    return [place(row)[1] for row in found.rows]
