"""Table 1 of kajitsuka2025 and of madden2024, made of the items."""

from typing import NamedTuple

from . import related
from .item import Item
from .kajitsuka2025 import items as kajitsuka2025
from .madden2024 import items as madden2024
from .question import Question

SEPARATED = "separated"  # token-wise (r, δ)-separated


class Table(NamedTuple):
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Item | None, ...], ...]


KAJITSUKA_2025 = Table(
    "kajitsuka2025, Table 1: parameters of transformers that memorise",
    ("paper", "setting", "input", "layers", "upper bound", "lower bound"),
    (
        ("kim2023", "seq-to-seq", SEPARATED, "Õ(n + sqrt(nN))", related.KIM, None),
        ("mahdavi2024", "next-token", "linearly independent", "1", related.MAHDAVI, None),
        ("kajitsuka2024", "seq-to-seq", SEPARATED, "1", related.KAJITSUKA_2024, None),
        (
            "madden2024", "next-token", "with positions", "1",
            madden2024.THEOREM_5_DATA, madden2024.LEMMA_1_DATA,
        ),
        (
            "kajitsuka2025", "next-token", SEPARATED, "Õ(sqrt(N))",
            kajitsuka2025.THEOREM_4_1, kajitsuka2025.THEOREM_4_2,
        ),
        (
            "kajitsuka2025", "seq-to-seq", SEPARATED, "Õ(sqrt(nN))",
            kajitsuka2025.COROLLARY_4_1, kajitsuka2025.THEOREM_4_3,
        ),
    ),
)  # fmt: skip
MADDEN_2024 = Table(
    "madden2024, Table 1: contexts that transformers of k parameters memorise",
    ("", "general setting", "empirical setting"),
    (
        ("upper bounds", madden2024.LEMMA_1, madden2024.THEOREM_1),
        ("lower bounds", madden2024.THEOREM_5, madden2024.EMPIRICAL),
    ),
)
TABLES = (KAJITSUKA_2025, MADDEN_2024)


def filled(table: Table, question: Question) -> dict:
    """The table with a value beside every formula that has one for this question."""

    def cell(content: str | Item | None) -> str | dict | None:
        if not isinstance(content, Item):
            return content
        value = content.answer(question).value if question.asks(content.about) else None
        return {"item": content.item, "formula": content.formula, "value": value}

    rows = [[cell(content) for content in row] for row in table.rows]
    return {"title": table.title, "columns": list(table.columns), "rows": rows}
