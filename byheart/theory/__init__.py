"""The limits and sizes that theorems give, one folder per paper; items.py has them as rows."""

from .after import ITEMS as AFTER
from .dana2024.items import ITEMS as DANA_2024
from .item import Bound, Item
from .kajitsuka2025.items import ITEMS as KAJITSUKA_2025
from .madden2024.items import ITEMS as MADDEN_2024
from .question import ArchitectureFacts, DataFacts, Question
from .related import ITEMS as RELATED
from .rules_of_thumb import ITEMS as RULES_OF_THUMB

__all__ = ["ALL", "ArchitectureFacts", "Bound", "DataFacts", "Item", "Question", "answers"]

PAPERS = (MADDEN_2024, DANA_2024, KAJITSUKA_2025, RELATED, AFTER, RULES_OF_THUMB)
ALL: tuple[Item, ...] = tuple(item for items in PAPERS for item in items.values())


def answers(question: Question) -> list[Bound]:
    return [item.answer(question) for item in ALL if question.asks(item.about)]
