"""The share of words that query and item have in common: an attribution that reads no model.

In a pack a query is itself one of the items, so this baseline is strong: it shows what can be had
from the text alone.
"""

from collections.abc import Sequence
from typing import Any

from .common import Fact


def attribute(model: Any, tokenizer: Any, query: Fact, items: Sequence[Fact]) -> list[float]:
    def words(fact: Fact) -> set[str]:
        return {*f"{fact['prompt']} {fact['answer']}".split()}

    own = words(query)
    return [len(own & words(item)) / len(own | words(item)) for item in items]
