"""Minors of psi(a b^T) in balls, and the symmetries of psi that make them zero (Theorem 3)."""

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import arb, arb_mat, ctx

from .balls import FUNCTIONS, ball

TRIES = 20  # minors looked at for one that is not zero
SYMMETRY = {"tanh": 0, "arctan": 0, "erf": 0, "cos": 0, "logistic": 1, "gelu": 1}


def spanning(activation: str, b: Sequence[Fraction]) -> list[int]:
    """Columns of psi(a b^T) that span all others, for every a.

    Of a pair b, -b one column is the other up to its sign (tanh, arctan, erf, cos), or up to its
    sign and a multiple of a column that is the same for all pairs: of ones for logistic, as
    psi(x) + psi(-x) = 1, and a for GELU, as psi(x) - psi(-x) = x. There the first pair spans it.
    """
    mirrored = [j for j, y in enumerate(b) if -y in b[:j]] if activation in SYMMETRY else []
    dropped = set(mirrored[SYMMETRY.get(activation, 0) :])
    return [j for j in range(len(b)) if j not in dropped]


def always_dependent(activation: str, b: Sequence[Fraction]) -> int | None:
    """How many columns, at least, are dependent for every a: those of a pair, or of two pairs."""
    if len(spanning(activation, b)) == len(b):
        return None
    return 2 + 2 * SYMMETRY[activation]


class Minors:
    """The minors of psi(a b^T), in balls of 16 bits a row or column and 100 more, or of more."""

    def __init__(
        self, activation: str, a: Sequence[Fraction], b: Sequence[Fraction], seed: int
    ) -> None:
        self.function, self.a, self.b = FUNCTIONS[activation], a, b
        self.draw = random.Random(seed)
        bits = 16 * min(len(a), len(b)) + 100
        self.precisions = bits, 2 * bits, 4 * bits
        self.tables: dict[int, list[list[arb]]] = {}

    def nonzero(self, columns: Sequence[int]) -> bool:
        """Whether some minor of these columns, as large as can be, is proved not to be zero."""
        return any(self._nonzero(columns, bits) for bits in self.precisions)

    def _nonzero(self, columns: Sequence[int], bits: int) -> bool:
        with ctx.workprec(bits):
            table = self._table(bits)
            return any(
                arb_mat([[table[r][c] for c in places] for r in rows]).det() != 0
                for rows, places in self._places(min(len(self.a), len(columns)), columns)
            )

    def _table(self, bits: int) -> list[list[arb]]:
        """psi(a b^T) at this precision, computed once."""
        if bits not in self.tables:
            right = [ball(y) for y in self.b]
            self.tables[bits] = [[self.function(ball(x) * y) for y in right] for x in self.a]
        return self.tables[bits]

    def _places(self, size: int, columns: Sequence[int]) -> Iterator[tuple]:
        """The first rows and columns, then others at random."""
        yield range(size), columns[:size]
        if size < len(self.a) or size < len(columns):
            for _ in range(TRIES):
                yield self.draw.sample(range(len(self.a)), size), self.draw.sample(columns, size)
