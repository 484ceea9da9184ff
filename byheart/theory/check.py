"""Theorems as executable checks: exact arithmetic or rigorous balls, never a float.

A module a paper, a function a numbered item. Each takes what the theorem is about and says whether
its conclusion holds there, and on what evidence.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """Whether a theorem's conclusion holds for what was given.

    evidence      "proved": by exact arithmetic or rigorous balls; "sampled": as much of it as was
                  looked at; "refuted": it is false, exactly; None: the precision did not decide
    detail        what was found, a sentence
    rank          of the matrix, if known
    kruskal_rank  the largest r such that any r columns are linearly independent, if known
    pair          two contexts with equal values, or one whose value is zero
    """

    evidence: str | None
    detail: str
    rank: int | None = None
    kruskal_rank: int | None = None
    pair: tuple[tuple[int, ...], ...] = ()

    @property
    def holds(self) -> bool:
        return self.evidence in ("proved", "sampled")
