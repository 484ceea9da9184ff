"""The limits and sizes that theorems give, one folder per paper; items.py has them as rows."""

from . import related, rules_of_thumb
from .dana2024 import items as dana2024
from .item import Bound, Item
from .kajitsuka2025 import items as kajitsuka2025
from .madden2024 import items as madden2024
from .question import ArchitectureFacts, DataFacts, Question

__all__ = ["ALL", "ArchitectureFacts", "Bound", "DataFacts", "Item", "Question", "answers"]

ALL: tuple[Item, ...] = (
    *madden2024.ITEMS,
    *dana2024.ITEMS,
    *kajitsuka2025.ITEMS,
    *related.ITEMS,
    *rules_of_thumb.ITEMS,
)


def answers(question: Question) -> list[Bound]:
    """A row for every item that is about what is asked."""
    return [item.answer(question) for item in ALL if question.asks(item.about)]
