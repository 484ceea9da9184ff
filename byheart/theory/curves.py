"""How sizes grow with the number of contexts, all else as in the data."""

from dataclasses import dataclass, replace

from .dana2024.items import ITEMS as DANA
from .item import Item
from .kajitsuka2025.items import ITEMS as KAJITSUKA
from .madden2024.items import ITEMS as MADDEN
from .papers import cited
from .question import DataFacts, Question
from .rules_of_thumb import ITEMS as RULES

PLOTTED: tuple[Item, ...] = (
    MADDEN["THEOREM_5_DATA"],
    MADDEN["LEMMA_1_DATA"],
    DANA["COROLLARY_1"],
    KAJITSUKA["THEOREM_4_1"],
    KAJITSUKA["COROLLARY_4_1"],
    RULES["ALLENZHU_DATA"],
    KAJITSUKA["UNIFORM"],
)
STEPS = 4  # points per power of ten


@dataclass(frozen=True)
class Curve:
    """A statement over the number of contexts: (contexts, parameters) of any model."""

    item: Item
    points: tuple[tuple[int, float], ...]

    @property
    def source(self) -> str:
        """Where it is from, as a paper would cite it."""
        return cited(f"{self.item.paper}, {self.item.item}")

    def json(self) -> dict:
        names = ("paper", "item", "kind", "direction", "quantity")
        own = {name: getattr(self.item, name) for name in names}
        return {**own, "points": list(map(list, self.points)), "source": self.source}


def curves(data: DataFacts) -> list[Curve]:
    """One curve per item that applies: parameters of any model at each number of contexts."""
    drawn = []
    for item in PLOTTED:
        points: list[tuple[int, float]] = []
        for N in numbers(data.contexts or 1000):
            sized = replace(data, sequences=N, contexts=N, ordered=N, multisets=N)
            value = item.answer(Question(sized)).value
            points += [] if value is None else [(N, value)]
        if points:
            drawn.append(Curve(item, tuple(points)))
    return drawn


def numbers(own: int) -> list[int]:
    """From 100 to a million, or a thousand times the data's, evenly on a logarithmic axis."""
    found, step, last = {own}, 0, max(10**6, 1000 * own)
    while (N := round(100 * 10 ** (step / STEPS))) <= last:
        found.add(N)
        step += 1
    return sorted(found)
