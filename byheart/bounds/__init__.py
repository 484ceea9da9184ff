"""The limits and sizes that theorems give, one file a paper; items/ has them as rows."""

from . import items
from .bound import Bound, Item
from .question import Data, Model, Question

__all__ = ["ALL", "Bound", "Data", "Item", "Model", "Question", "answers"]

ALL: tuple[Item, ...] = (
    *items.madden2024.ITEMS,
    *items.dana2024.ITEMS,
    *items.kajitsuka2025.ITEMS,
    *items.related.ITEMS,
    *items.rules_of_thumb.ITEMS,
)


def answers(question: Question) -> list[Bound]:
    """A row for every item that is about what is asked."""
    return [item.answer(question) for item in ALL if question.asks(item.about)]
