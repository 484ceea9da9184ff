"""How sizes grow with the number of contexts, all else as in the data."""

from collections.abc import Iterator
from dataclasses import replace

from . import rules_of_thumb
from .dana2024 import items as dana2024
from .item import Item
from .kajitsuka2025 import items as kajitsuka2025
from .madden2024 import items as madden2024
from .question import DataFacts, Question

PLOTTED: tuple[Item, ...] = (
    madden2024.THEOREM_5_DATA,
    madden2024.LEMMA_1_DATA,
    dana2024.COROLLARY_1,
    kajitsuka2025.THEOREM_4_1,
    kajitsuka2025.COROLLARY_4_1,
    rules_of_thumb.ALLENZHU_DATA,
    kajitsuka2025.UNIFORM,
)
STEPS = 4  # points a power of ten


def of_size(data: DataFacts, contexts: int) -> DataFacts:
    """The data as it would be with so many contexts."""
    return replace(data, sequences=contexts, contexts=contexts, multisets=contexts)


def curves(question: Question) -> list[dict]:
    """A curve for each item that applies: parameters at each number of contexts.

    Of any model, not of the one that is asked about.
    """
    return [curve for item in PLOTTED if (curve := _curve(item, question))["points"]]


def _curve(item: Item, question: Question) -> dict:
    data = question.data or DataFacts()
    points = [
        (N, row.value)
        for N in numbers(data.contexts or 1000)
        if (row := item.answer(Question(of_size(data, N)))).value is not None
    ]
    return {
        "paper": item.paper,
        "item": item.item,
        "kind": item.kind,
        "direction": item.direction,
        "quantity": item.quantity,
        "points": points,
    }


def numbers(own: int) -> list[int]:
    """From 100 to a million, or a thousand times the data's, evenly on a logarithmic axis."""
    return sorted({own, *_spread(100, max(10**6, 1000 * own))})


def _spread(first: int, last: int) -> Iterator[int]:
    step = 0
    while (N := round(first * 10 ** (step / STEPS))) <= last:
        yield N
        step += 1
