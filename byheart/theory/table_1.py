"""Table 1 of kajitsuka2025 and of madden2024, made of the items."""

from typing import NamedTuple

from .item import Item, Value
from .kajitsuka2025.items import ITEMS as KAJITSUKA
from .madden2024.items import ITEMS as MADDEN
from .question import Question
from .related import ITEMS as RELATED

SEPARATED = "separated"  # token-wise (r, δ)-separated


class Table(NamedTuple):
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Item | None, ...], ...]


KAJITSUKA_2025 = Table(
    "kajitsuka2025, Table 1: parameters of transformers that memorise",
    ("paper", "setting", "input", "layers", "upper bound", "lower bound"),
    (
        ("kim2023", "seq-to-seq", SEPARATED, "Õ(n + sqrt(nN))", RELATED["KIM"], None),
        ("mahdavi2024", "next-token", "linearly independent", "1", RELATED["MAHDAVI"], None),
        ("kajitsuka2024", "seq-to-seq", SEPARATED, "1", RELATED["KAJITSUKA_2024"], None),
        ("madden2024", "next-token", "with positions", "1",
         MADDEN["THEOREM_5_DATA"], MADDEN["LEMMA_1_DATA"]),
        ("kajitsuka2025", "next-token", SEPARATED, "Õ(sqrt(N))",
         KAJITSUKA["THEOREM_4_1"], KAJITSUKA["THEOREM_4_2"]),
        ("kajitsuka2025", "seq-to-seq", SEPARATED, "Õ(sqrt(nN))",
         KAJITSUKA["COROLLARY_4_1"], KAJITSUKA["THEOREM_4_3"]),
    ),
)  # fmt: skip
MADDEN_2024 = Table(
    "madden2024, Table 1: contexts that transformers of k parameters memorise",
    ("", "general setting", "empirical setting"),
    (
        ("upper bounds", MADDEN["LEMMA_1"], MADDEN["THEOREM_1"]),
        ("lower bounds", MADDEN["THEOREM_5"], MADDEN["EMPIRICAL"]),
    ),
)
TABLES = (KAJITSUKA_2025, MADDEN_2024)


class Cell(NamedTuple):
    """A formula of a table, and its value for a question if it has one."""

    item: str
    formula: str
    value: Value


class FilledTable(NamedTuple):
    """A table for a question: cells are words or values."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Cell | None, ...], ...]


def fill(table: Table, question: Question) -> FilledTable:
    """The table with a value beside every formula that has one for this question."""

    def cell(content: str | Item | None) -> str | Cell | None:
        if not isinstance(content, Item):
            return content
        value = content.answer(question).value if question.asks(content.about) else None
        return Cell(content.item, content.formula, value)

    rows = tuple(tuple(map(cell, row)) for row in table.rows)
    return FilledTable(table.title, table.columns, rows)
