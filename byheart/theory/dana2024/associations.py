"""Parameters of other models for the same associations: the rows of dana2024, section 6.

Paper        dana2024, section 6, which compares itself with mahdavi2024 (Theorem 1), kim2023
             (Theorem 4.1), huben2023 and cabannes2024. Those papers are cited from there.
Statement    T_0 associations of contexts of S tokens out of N take these parameters.
Assumptions  A1  Sizes are at least 1, and the vocabulary has two tokens or more.
             A2  Each row has its own, in words; one that fails for these sizes is named in `fails`.
Guarantee    G1  Where `exact` is true the count is that of the tensors, else it is what stands in
                 the paper's O(...) with the constant 1: good for growth, not for a comparison of
                 sizes.
Departures   D1  The heads of mahdavi2024 are counted in the model of eq. (2), as in the figures of
                 dana2024.
             D2  The row of huben2023 is that of exact memorisation, one head per neuron and one
                 neuron per association.
             D3  dana2024 cites H (d_h - 1) + 1 associations from mahdavi2024, without the length S.
                 That is too many (docs/errata.md): here they are H (min(S, d_h) - 1) + 1. The
                 abstract of mahdavi2024 has Omega(H S) for S < d, and by its public reviews d_h
                 helps up to S and no further. The constants are from memory: the full text was not
                 read for this row.
Notation     N vocabulary, S length, d dimension, d_h head dimension, H heads, T_0 contexts.
"""

import math
from typing import NamedTuple

from ..assumptions import check, check_heads
from .capacity import heads_needed, parameters


class Task(NamedTuple):
    """The associations, and the sizes that the user has chosen."""

    contexts: int
    vocabulary: int
    length: int
    dimension: int
    head_dimension: int


class Row(NamedTuple):
    """One line of the comparison."""

    name: str  # of the method, for a table
    reference: str  # paper and item
    assumptions: dict[str, bool]  # in words, and whether these sizes satisfy them
    formula: str  # the count, as the paper has it
    parameters: int | None  # its value; None if no size does it
    exact: bool = True  # False if it is an order of growth, with the constant 1
    heads: int | None = None  # of dimension d_h, or None if the row has none

    @property
    def fails(self) -> tuple[str, ...]:
        return tuple(words for words, holds in self.assumptions.items() if not holds)


def rows(task: Task) -> tuple[Row, ...]:
    """All of them, the paper's own theorem first."""
    T, N, S, d, d_h = task
    check(contexts=(T, 1), vocabulary=(N, 2), length=(S, 1))
    check_heads(0, d_h, d)
    own = heads_needed(T, d_h, d)
    # with S = 1 or d_h = 1 no number of heads memorises two associations
    patterns = mahdavi_heads(T, d_h, S) if min(S, d_h) >= 2 else None
    independent = "any S queries independent"
    return (
        Row(
            "attention-only",
            "dana2024, Theorem 1",
            {"features of full rank": True, "d >= 2": d >= 2},
            "d (S + 2 N + 4 d_h H), H = ceil((T_0 - d) / d_h)",
            parameters(N, S, d, d_h, own),
            heads=own,
        ),
        Row(  # heads that have any attention pattern (if S <= d)
            "attention patterns",
            "mahdavi2024, Theorem 1 (dana2024, section 6, corrected)",
            {"S <= d": S <= d, "S >= 2": S >= 2, "d_h >= 2": d_h >= 2, independent: True},
            "d (S + 2 N + 4 d_h H), H = ceil((T_0 - 1) / (min(S, d_h) - 1)); constants from memory",
            None if patterns is None else parameters(N, S, d, d_h, patterns),
            heads=patterns,
        ),
        Row(  # many layers of constant width; attention has O(S) of it
            "deep and narrow",
            "kim2023, Theorem 4.1, with a word embedding (dana2024, section 6)",
            {"feed-forward layers, more of them for more associations": True},
            "O(S + N + sqrt(T_0 log T_0))",
            S + N + math.ceil(math.sqrt(T * math.log(T))),
            exact=False,
        ),
        Row(  # a head for each neuron of a network that has as many neurons as associations
            "attention as neurons",
            "huben2023 (dana2024, section 6)",
            {"d_h >= 1 + S": d_h >= 1 + S, "d >= 2 + S": d >= 2 + S},
            "O((d + S) (S + N + T_0))",
            (d + S) * (S + N + T),
            exact=False,
            heads=T,
        ),
        Row(  # d^2 learnt numbers between fixed random vectors: H = 0 of Theorem 1 but for those
            "linear associative memory",
            "cabannes2024 (dana2024, section 6)",
            {"S = 1": S == 1, "d = T_0": True},
            "d^2, d = T_0",
            T**2,
        ),
    )


def mahdavi_memory(heads: int, head_dimension: int, length: int, dimension: int) -> int:
    """H (min(S, d_h) - 1) + 1: the associations of mahdavi2024, Theorem 1, as remembered (D3).

    >>> mahdavi_memory(heads=20, head_dimension=10, length=2, dimension=10)
    21
    """
    check(length=(length, 1))
    check_heads(heads, head_dimension, dimension)
    return heads * (min(length, head_dimension) - 1) + 1


def mahdavi_heads(contexts: int, head_dimension: int, length: int) -> int:
    """The least H with H (min(S, d_h) - 1) + 1 >= T_0."""
    check(contexts=(contexts, 1), head_dimension=(head_dimension, 2), length=(length, 2))
    return -(-(contexts - 1) // (min(length, head_dimension) - 1))
