"""Table 1 of two papers, and the curves of the picture."""

import math

from byheart.theory import ArchitectureFacts, DataFacts, Question
from byheart.theory.curves import PLOTTED, curves, numbers
from byheart.theory.item import Item
from byheart.theory.table_1 import KAJITSUKA_2025, MADDEN_2024, TABLES, Cell, fill

DATA = DataFacts(
    sequences=1000, contexts=1000, multisets=1000, labels=3, length=8, vocabulary=1000, union=1000,
    dimension=1, radius=1000.0, distance=1.0, entropy=0.0, conflicts=0, mixed=0, every=False,
)  # fmt: skip
MODEL = ArchitectureFacts("madden2024", 10_000, 50, 9, 8, 1, 8, 1, 100, "softmax", "tanh", 32)


def test_table_1_of_kajitsuka2025():
    """As printed in the paper: setting, layers, upper and lower bound."""
    rows = [[x.formula if isinstance(x, Item) else x for x in row] for row in KAJITSUKA_2025.rows]
    assert [[row[0], row[1], *row[3:]] for row in rows] == [
        ["kim2023", "seq-to-seq", "Õ(n + sqrt(nN))", "Õ(n + sqrt(nN))", None],
        ["mahdavi2024", "next-token", "1", "O(d^2 N / n)", None],
        ["kajitsuka2024", "seq-to-seq", "1", "O(dnN + d^2)", None],
        ["madden2024", "next-token", "1", "O(ω n)", "n (ω - 1)"],
        ["kajitsuka2025", "next-token", "Õ(sqrt(N))", "Õ(sqrt(N))", "Ω(sqrt(N))"],
        ["kajitsuka2025", "seq-to-seq", "Õ(sqrt(nN))", "Õ(sqrt(nN))", "Ω(sqrt(nN / log(nN)))"],
    ]


def test_table_1_of_madden2024():
    """k = 10,000, omega = 50, m = 100: 204, 100 and (2 + 1/49) 10,000 / 49 + 1 = 413.3."""
    found = fill(MADDEN_2024, Question(architecture=MODEL))
    (_, general, empirical), (_, enough, also) = found.rows
    assert [cell.value for cell in (general, empirical, enough, also)] == [204, 413, 100, 100]
    assert [cell.item for cell in (general, empirical, enough)] == [
        "Lemma 1", "Theorem 1", "Theorem 5",
    ]  # fmt: skip


def test_values_stand_where_something_is_asked():
    def values(question):
        cells = [x for t in TABLES for row in fill(t, question).rows for x in row]
        return [x.value for x in cells if isinstance(x, Cell)]

    assert set(values(Question())) == {None}
    assert sum(x is not None for x in values(Question(DATA))) == 5
    assert sum(x is not None for x in values(Question(DATA, MODEL))) >= 4


def test_curves_grow_and_pass_through_the_data():
    found = curves(DATA)
    assert len(found) == len(PLOTTED) - 1  # not both of Theorem 4.1 and Corollary 4.1
    for curve in found:
        x, y = zip(*curve.points, strict=True)
        assert 1000 in x and list(x) == sorted(x) and list(y) == sorted(y)


def test_numbers_are_even_on_a_logarithmic_axis():
    found = numbers(777)
    assert found[0] == 100 and found[-1] == 10**6 and 777 in found
    steps = [math.log10(b / a) for a, b in zip(found, found[1:], strict=False)]
    assert max(steps) < 0.26
    assert numbers(10**7)[-1] == 10**10
