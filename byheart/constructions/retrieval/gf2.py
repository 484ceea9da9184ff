"""Linear systems over GF(2): factored once by the method of four Russians, solved many times.

Unknowns are packed, 64 to a word. The factors replace the matrix, one word of unknowns (a strip)
after the other. The rows that hold the strip's pivots are combined so that their pivots form an
identity; what is left of them on the strip's other unknowns stays. A pivot's own column is then
free to hold the combination itself, R, and below the pivots the multipliers L of the rows that
were reduced. Rows are reduced by tables of all combinations of eight pivots, but only those that
have a 1 in the strip, and only in words where a pivot row is not 0: a matrix of blocks stays one.

    first[w], first[w + 1]   the pivot rows of strip w; rows from first[-1] on depend on those above
    masks[w]                 the pivots of strip w
    pivots[r], places[r]     the unknown of pivot row r; the row of the matrix that came to be row r

The pivots are those of the reduced echelon form, which do not depend on the order of the rows. So
the solution whose free unknowns are 0 does not either. It does depend on the order of the columns,
which need not be that of the unknowns: `order` says which unknown a column is.
"""

from dataclasses import dataclass

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from ...machine.kernels import njit

ONE = np.uint64(1)
ZERO = np.uint64(0)
BYTE = np.uint64(255)
TILE = 32  # words of a row that are reduced at a time: eight tables of these fit into the cache


@dataclass(frozen=True, eq=False)
class Factors:
    """A factored matrix; see the head of this file."""

    rows: NDArray[np.uint64]
    first: NDArray[np.int64]
    masks: NDArray[np.uint64]
    pivots: NDArray[np.int64]
    places: NDArray[np.int64]
    unknowns: int
    order: NDArray[np.int64] | None = None

    @property
    def rank(self) -> int:
        return int(self.first[-1])

    @property
    def dependent(self) -> int:
        """Rows that are sums of others: each is an equation between the right-hand sides."""
        return len(self.rows) - self.rank

    @property
    def free(self) -> NDArray[np.int64]:
        """The unknowns that may be chosen."""
        bound = np.zeros(self.unknowns, np.bool_)
        bound[self.pivots[: self.rank]] = True
        free = np.flatnonzero(~bound)
        return free if self.order is None else self.order[free]

    def reduced(self, right: NDArray[np.uint64], out: NDArray[np.uint64]) -> int:
        """Bring a right-hand side (0 or 1 for each row) into the form that `solution` reads.

        Returns the values of the first 64 equations between right-hand sides: there is a solution
        if all of them are 0. Beyond 64, any further one that is not 0 sets the last bit.
        """
        return int(forward(self.rows, self.first, self.masks, self.pivots, self.places, right, out))

    def circuits(self) -> NDArray[np.uint64]:
        """[rows] in which of the equations between right-hand sides each row takes part, as bits.

        Only for up to 64 of them.
        """
        taking_part = np.zeros(len(self.rows), np.uint64)
        circuits(self.rows, self.first, self.masks, self.pivots, self.places, taking_part)
        return taking_part

    def solution(self, reduced: NDArray[np.uint64], solution: NDArray[np.uint64]) -> None:
        """Complete a solution in which the free unknowns are already chosen, the others 0."""
        if self.order is None:
            backward(self.rows, self.first, self.masks, self.pivots, reduced, solution)
            return
        columns = np.zeros(len(solution), np.uint64)
        rearrange(solution, self.order, columns, True)
        backward(self.rows, self.first, self.masks, self.pivots, reduced, columns)
        solution[:] = ZERO
        rearrange(columns, self.order, solution, False)


def factored(
    rows: NDArray[np.uint64], unknowns: int, order: NDArray[np.int64] | None = None
) -> Factors:
    """The factors of rows [equations, words], which they replace."""
    if order is not None:
        column_of = np.empty(unknowns, np.int64)
        column_of[order] = np.arange(unknowns)
        rows = ordered(rows, column_of)
    count, words = rows.shape
    first = np.zeros(words + 1, np.int64)
    masks = np.zeros(words, np.uint64)
    pivots = np.zeros(min(count, unknowns), np.int64)
    places = np.arange(count)
    factor(rows, first, masks, pivots, places)
    return Factors(rows, first, masks, pivots, places, unknowns, order)


@njit
def lowest(word):
    """The place of the lowest 1."""
    place = 0
    for size in (32, 16, 8, 4, 2, 1):
        if word & ((ONE << uint64(size)) - ONE) == ZERO:
            word >>= uint64(size)
            place += size
    return place


@njit
def parity(word):
    for shift in (32, 16, 8, 4, 2, 1):
        word ^= word >> uint64(shift)
    return word & ONE


@njit
def factor(rows, first, masks, pivots, places):
    """Strip by strip: find the pivots, combine their rows, reduce the rows below."""
    count, words = rows.shape
    basis = np.zeros(64, np.uint64)  # of the strip, by pivot: the other unknowns that are left
    mixed = np.zeros(64, np.uint64)  # and which of the strip's rows are combined
    raw = np.zeros((64, words), np.uint64)
    table = np.zeros((8, 256, TILE), np.uint64)
    chosen = np.zeros(64, np.int64)  # the pivots in the order in which they were found
    row_of = np.zeros(64, np.int64)
    begins, stops = np.zeros(words, np.int64), np.zeros(words, np.int64)
    hits = np.zeros(count + 1, np.int64)  # rows with a 1 in the strip
    rank = 0
    for w in range(words):
        first[w] = rank
        mask, found = _find_pivots(rows, w, rank, basis, mixed, chosen, places)
        masks[w] = mask
        if found == 0:
            continue
        segments = _copy_pivot_rows(rows, w, rank, found, raw, begins, stops)
        for f in range(found):
            p = chosen[f]
            row_of[p] = rank + f
            pivots[rank + f] = 64 * w + p
            _write_pivot_row(rows, w, rank + f, mixed[p], chosen, raw, segments, begins, stops)
            rows[rank + f, w] |= basis[p] & ~mask
        rank += found
        touched = 0
        for i in range(rank, count):
            rows[i, w] &= mask
            hits[touched] = i
            touched += rows[i, w] != ZERO
        _reduce(rows, w, mask, row_of, hits[:touched], table, segments, begins, stops)
    first[words] = rank


@njit
def _find_pivots(rows, w, rank, basis, mixed, chosen, places):
    """The pivots of strip w, as bits, and their number; their rows come to lie from `rank` on."""
    words, mask, found = rows.shape[1], ZERO, 0
    for i in range(rank, rows.shape[0]):
        pattern = rows[i, w]
        combination = ZERO
        common = pattern & mask
        while common:
            p = lowest(common)
            common &= common - ONE
            pattern ^= basis[p]
            combination ^= mixed[p]
        if pattern == ZERO:
            continue
        p = lowest(pattern)
        combination |= ONE << uint64(found)
        for f in range(found):
            q = chosen[f]
            if (basis[q] >> uint64(p)) & ONE:
                basis[q] ^= pattern
                mixed[q] ^= combination
        basis[p], mixed[p] = pattern, combination
        chosen[found] = p
        row = rank + found
        if i != row:
            for y in range(words):
                swap = rows[i, y]
                rows[i, y] = rows[row, y]
                rows[row, y] = swap
            keep = places[i]
            places[i] = places[row]
            places[row] = keep
        mask |= ONE << uint64(p)
        found += 1
        if found == 64:
            break
    return mask, found


@njit
def _copy_pivot_rows(rows, w, rank, found, raw, begins, stops):
    """Copy the pivot rows; how many ranges of words there are in which they are not all 0."""
    segments = 0
    for y in range(w + 1, rows.shape[1]):
        used = ZERO
        for f in range(found):
            raw[f, y] = rows[rank + f, y]
            used |= raw[f, y]
        if used == ZERO:
            continue
        if segments == 0 or stops[segments - 1] < y:
            begins[segments] = y
            segments += 1
        stops[segments - 1] = y + 1
    return segments


@njit
def _write_pivot_row(rows, w, row, mixed, chosen, raw, segments, begins, stops):
    """Combine the strip's rows as `mixed` says, and keep the combination in the pivots' columns."""
    spread, rest = ZERO, mixed
    while rest:
        spread |= ONE << uint64(chosen[lowest(rest)])
        rest &= rest - ONE
    for s in range(segments):
        for y in range(begins[s], stops[s]):
            rows[row, y] = ZERO
        rest = mixed
        while rest:
            g = lowest(rest)
            rest &= rest - ONE
            for y in range(begins[s], stops[s]):
                rows[row, y] ^= raw[g, y]
    rows[row, w] = spread


@njit
def _reduce(rows, w, mask, row_of, hits, table, segments, begins, stops):
    """Reduce the rows that have a 1 in the strip, by tables of all combinations of some pivots."""
    # wide tables pay if there are many rows to reduce
    size = 8 if hits.shape[0] > 256 else 4
    s, start = 0, 0
    while hits.shape[0] and s < segments:
        start = max(start, begins[s])
        stop = min(stops[s], start + TILE)
        _tabulate(rows, mask, row_of, size, start, stop, table)
        for i in hits:
            pattern = rows[i, w]
            if size == 8:
                for g in range(0, 8, 4):
                    v0 = (pattern >> uint64(8 * g)) & BYTE
                    v1 = (pattern >> uint64(8 * g + 8)) & BYTE
                    v2 = (pattern >> uint64(8 * g + 16)) & BYTE
                    v3 = (pattern >> uint64(8 * g + 24)) & BYTE
                    for y in range(stop - start):
                        rows[i, start + y] ^= (
                            table[g, v0, y]
                            ^ table[g + 1, v1, y]
                            ^ table[g + 2, v2, y]
                            ^ table[g + 3, v3, y]
                        )
            else:
                for g in range(8):
                    v = (pattern >> uint64(8 * g)) & BYTE
                    low, high = v & uint64(15), v & uint64(240)
                    if low:
                        for y in range(stop - start):
                            rows[i, start + y] ^= table[g, low, y]
                    if high:
                        for y in range(stop - start):
                            rows[i, start + y] ^= table[g, high, y]
        start = stop
        s += start == stops[s]


@njit
def _tabulate(rows, mask, row_of, size, start, stop, table):
    """All sums of `size` pivot rows each, in the words from start to stop."""
    most = (ONE << uint64(size)) - ONE
    for g in range(64 // size):
        part = (mask >> uint64(size * g)) & most
        for v in range(1, 1 << size):
            if uint64(v) & ~part:
                continue
            low = v & -v
            row = row_of[size * g + lowest(uint64(low))]
            g8, v8 = (size * g) >> 3, v
            if size == 4:
                v8 = v << 4 if g & 1 else v
            before = v8 ^ (low << 4 if size == 4 and g & 1 else low)
            for y in range(stop - start):
                table[g8, v8, y] = table[g8, before, y] ^ rows[row, start + y]


@njit
def ordered(rows, column_of):
    """Rows over unknowns as rows over columns."""
    out = np.zeros(rows.shape, np.uint64)
    for i in range(rows.shape[0]):
        for w in range(rows.shape[1]):
            word = rows[i, w]
            while word:
                column = column_of[64 * w + lowest(word)]
                word &= word - ONE
                out[i, column >> 6] |= ONE << uint64(column & 63)
    return out


@njit
def rearrange(bits, order, out, into):
    """Bits of unknowns into the order of the columns, or back; `out` is 0 before."""
    for column in range(order.shape[0]):
        source, target = (order[column], column) if into else (column, order[column])
        bit = (bits[source >> 6] >> uint64(source & 63)) & ONE
        out[target >> 6] |= bit << uint64(target & 63)


@njit
def forward(rows, first, masks, pivots, places, right, out):
    count, words = rows.shape
    for w in range(words):
        strip = ZERO
        for r in range(first[w], first[w + 1]):
            mixed = ZERO
            for y in range(w):
                mixed ^= rows[r, y] & out[y]
            strip |= (parity(mixed) ^ right[places[r]]) << uint64(pivots[r] & 63)
        out[w] = ZERO
        for r in range(first[w], first[w + 1]):
            value = parity(rows[r, w] & masks[w] & strip)
            out[w] |= value << uint64(pivots[r] & 63)
    unmet = ZERO
    for r in range(first[words], count):
        mixed = ZERO
        for y in range(words):
            mixed ^= rows[r, y] & out[y]
        unmet |= (parity(mixed) ^ right[places[r]]) << uint64(min(63, r - first[words]))
    return unmet


@njit
def circuits(rows, first, masks, pivots, places, out):
    """The transpose of `forward`: from a dependent row back to the rows that it is a sum of."""
    count, words = rows.shape
    held = np.zeros(words, np.uint64)
    for r in range(first[words], count):
        bit = ONE << uint64(r - first[words])
        out[places[r]] |= bit
        held[:] = rows[r]
        for w in range(words - 1, -1, -1):
            raw = ZERO
            for z in range(first[w], first[w + 1]):
                if (held[w] >> uint64(pivots[z] & 63)) & ONE:
                    raw ^= rows[z, w] & masks[w]
            for z in range(first[w], first[w + 1]):
                if (raw >> uint64(pivots[z] & 63)) & ONE:
                    out[places[z]] |= bit
                    for y in range(w):
                        held[y] ^= rows[z, y]


@njit
def backward(rows, first, masks, pivots, reduced, solution):
    words = rows.shape[1]
    for w in range(words - 1, -1, -1):
        free = solution[w] & ~masks[w]
        strip = reduced[w]
        for r in range(first[w], first[w + 1]):
            mixed = rows[r, w] & free
            for y in range(w + 1, words):
                mixed ^= rows[r, y] & solution[y]
            strip ^= parity(mixed) << uint64(pivots[r] & 63)
        solution[w] = free | strip


@njit
def _extend(basis, vector):
    """Whether the vector is independent of the basis; if so, it joins it, by its lowest 1."""
    while vector:
        place = lowest(vector)
        if basis[place] == ZERO:
            basis[place] = vector
            return True
        vector ^= basis[place]
    return False


@njit
def common_zero(constant, linear, square):
    """A point where up to 64 quadratic forms over GF(2) vanish together, or -1.

    constant, linear[i], square[i, j]: bit e of each is a coefficient of form e. All points are
    visited in the order of a Gray code: from one to the next a single variable i changes, and the
    forms change by the derivative in i, which itself has changed by square[i, j] since i changed
    last, j being the only other variable that differs.
    """
    variables = linear.shape[0]
    value = constant
    if value == ZERO:
        return 0
    # no point can do what no sum of coefficients does
    basis = np.zeros(64, np.uint64)
    for i in range(variables):
        _extend(basis, linear[i])
        for j in range(i):
            _extend(basis, square[i, j])
    if _extend(basis, constant):
        return -1
    slope = linear.copy()
    for i in range(1, variables):
        slope[i] ^= square[i, i - 1]
    for step in range(1, 1 << variables):
        i = 0
        while not (step >> i) & 1:
            i += 1
        above = step & (step - 1)
        if above:
            j = i + 1
            while not (above >> j) & 1:
                j += 1
            slope[i] ^= square[i, j]
        value ^= slope[i]
        if value == ZERO:
            return step ^ (step >> 1)
    return -1
