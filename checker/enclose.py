"""Enclose what every execution of a GPT-2 or a Llama can compute, in integers.

Section 10 of FORMAT.md says which executions there are. A number here is an integer x that stands
for x / 2**F. Middles are rounded down and radii up, so that what an execution computes is never
further from the middle than the radius.

Four kinds of error are kept apart, because intervals alone would grow too wide:

- A stream is `middle + e_1 d_1 + ... + e_k d_k + O f + r`: the strength of a neuron that is on is
  known up to one number e_j between -1 and 1, which multiplies its whole row d_j; |r| is at most
  `radius` in each lane.
- What the heads of an attention add is off by f, lane by lane of the heads, before the output
  matrix O: the next matrix W is multiplied by O first, and |W O| by the bounds of f.
- All lanes of a normed stream have the factor `1 / sqrt(variance)` in common: its error multiplies
  the result of a product with a matrix, and not the sum of absolute values.
- They also have the shift by the mean in common: it multiplies the product of the gains with the
  matrix.

A norm takes away what an error adds along the stream itself. Neurons whose weights are nearly the
stream are on, so the argument of these few is bounded again with that in mind (`Projection.along`).
"""

import math
import operator
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import repeat

try:
    from . import check
except ImportError:  # this folder is no package, but on the path
    import check

F = 60  # a number is a multiple of 2^-F
ONE = 1 << F
U = 24  # the unit roundoff is 2^-U
LARGE = 1 << F + 40  # no number of a stream or a norm is as large: far from float32's largest
GROUP = 1024  # rows of a matrix that are multiplied at once
DIRECTIONS = 8  # of a stream; more become part of its radius

Vector = list[int]


# ---------------------------------------------------------------- rounding outwards


def up(number: int, bits: int = F) -> int:
    """number / 2**bits, rounded up."""
    return -(-number >> bits)


def fixed(value: float) -> int:
    """The value within half a unit."""
    return round(math.ldexp(value, F))


def gamma(k: int) -> int:
    """At least k u / (1 - k u)."""
    return -((-k << F) // ((1 << U) - k))


def fixed_up(value: Fraction) -> int:
    return -((-value.numerator << F) // value.denominator)


def scaled_up(vector: Iterable[int], factor: int) -> Vector:
    """At least the products with the factor; nothing is negative."""
    return [(x * factor >> F) + 1 for x in vector]


def plus(*vectors: Iterable[int]) -> Vector:
    return [sum(lanes) for lanes in zip(*vectors, strict=True)]


def length_up(vector: Iterable[int]) -> int:
    """At least the Euclidean length."""
    return math.isqrt(sum(x * x for x in vector)) + 1


@dataclass(frozen=True)
class Storage:
    """Rule 9: a result is stored within 2^-bits, relatively, plus half the least subnormal number,
    if it is not larger than the largest number of the type. Of float32 (0 bits) nothing is stored.
    """

    bits: int = 0
    least: int = 0  # the exponent of the least subnormal number
    largest: int = 0

    def errors(self, sizes: Vector) -> Vector:
        """What numbers of at most these sizes are off by when they were stored."""
        if not self.bits:
            return [0] * len(sizes)
        if max(sizes, default=0) > self.largest << F:
            check.refuse(f"a result may exceed {self.largest:,}: the checker cannot bound it")
        half = 1 << F + self.least - 1
        return [(x >> self.bits) + 1 + half for x in sizes]

    def stored(self, middle: Vector, radius: Vector, bias: Sequence[int] | None = None) -> Vector:
        """The radius of these numbers when they were stored; if they contain a bias, when they
        were stored without it, and then with it."""
        if not self.bits:
            return radius
        if bias is not None:
            sizes = [abs(x - b) + r for x, r, b in zip(middle, radius, bias, strict=True)]
            errors = self.errors(sizes)
            radius = [r + e if b else r for r, e, b in zip(radius, errors, bias, strict=True)]
        sizes = [abs(x) + r for x, r in zip(middle, radius, strict=True)]
        return list(map(operator.add, radius, self.errors(sizes)))


STORAGE = {"float32": Storage(), "float16": Storage(11, -24, 65504)}


# ---------------------------------------------------------------- matrices


class Matrix:
    """A matrix whose rows are packed into long integers, so that Python multiplies many at once.

    Row o is stored as integers of at most `bits` bits, w 2^q_o rounded, its largest entry having
    exactly `bits`; a vector is rounded to `bits` bits as well. A sum of such products fits into 63
    bits, and 64 bits are a field of the long integers. What rounding loses is bounded by the same
    sum of absolute values as every other error, with entries rounded up.
    """

    def __init__(self, columns: Iterable[Sequence[float]], rows: int, inputs: int) -> None:
        """columns  for each input, the weights of all rows"""
        table = [list(column) for column in columns]
        self.rows, self.inputs = rows, inputs
        self.bits = (63 - inputs.bit_length()) // 2
        largest = [0.0] * rows
        self.terms = 0  # nonzero weights of the row that has most
        counts = [0] * rows
        for column in table:
            largest = list(map(max, largest, map(abs, column)))
            counts = list(map(operator.add, counts, map(bool, column)))
        self.terms = max(counts)
        self.empty = [row for row, count in enumerate(counts) if not count]
        exponents = [self.bits - math.frexp(x)[1] if x else 0 for x in largest]
        self.exponent = max((e for e, x in zip(exponents, largest, strict=True) if x), default=0)
        self.raised = [
            1 << self.exponent - e if x else 1 for e, x in zip(exponents, largest, strict=True)
        ]
        self.level = all(x == 1 for x in self.raised)
        self.exact = True
        factors = [math.ldexp(1.0, e) for e in exponents]
        self.groups: list[tuple[int, list[int], list[int]]] = []
        parts: list[tuple[list, list]] = []
        for column in table:
            products = list(map(operator.mul, column, factors))
            numbers = list(map(round, products))
            self.exact = self.exact and numbers == products
            parts.append((numbers, list(map(math.ceil, map(abs, products)))))
        for begin in range(0, rows, GROUP):
            size = min(GROUP, rows - begin)
            marks = pack([-(2**63)] * size)
            groups = (
                [(pack(part[kind][begin : begin + size]) ^ marks) - marks for part in parts]
                for kind in (0, 1)
            )
            self.groups.append((marks, *groups))

    def product(self, vector: Sequence[int], groups: int) -> tuple[Vector, int]:
        """The products with integers of at most `bits` bits, and the exponent of their unit."""
        found: list[int] = []
        for group in self.groups:
            marks = group[0]
            total = sum(map(operator.mul, vector, group[groups])) + marks
            size = -(-marks.bit_length() // 8)
            found += array("q", (total ^ marks).to_bytes(size, sys.byteorder))
        if not self.level:
            found = list(map(operator.mul, found, self.raised))
        return found, -self.exponent

    def enclose(self, vectors: list[Vector], radius: Vector) -> tuple[list[Vector], Vector]:
        """The products with the vectors, and one radius, which is enough for all their errors and
        for a further vector that is at most `radius` in each lane."""
        slack, products = 0, []
        for vector in vectors:
            size = max(map(abs, vector), default=0)
            shift = max(0, size.bit_length() - self.bits)
            found, unit = self.product([x >> shift for x in vector] if shift else vector, 1)
            products.append(moved(found, unit + shift))
            slack += 1 << shift if shift else 0
            if not self.exact:  # half a unit of a row is at most 2^-bits of its largest entry
                slack += (sum(map(abs, vector)) >> self.bits) + 1
        radius = [x + slack for x in radius] if slack else radius
        size = max(radius, default=0)
        shift = max(0, size.bit_length() - self.bits)
        found, unit = self.product([up(x, shift) for x in radius] if shift else radius, 2)
        more = len(vectors) + 1  # each was rounded down
        return products, [x + more for x in moved(found, unit + shift)]


def pack(numbers: list[int]) -> int:
    return int.from_bytes(array("q", numbers).tobytes(), sys.byteorder)


def moved(numbers: list[int], exponent: int) -> Vector:
    """The numbers times 2**exponent, rounded down."""
    if exponent >= 0:
        return list(map(operator.lshift, numbers, repeat(exponent)))
    return list(map(operator.rshift, numbers, repeat(-exponent)))


# ---------------------------------------------------------------- streams and norms


class Output:
    """The output matrix of an attention: its errors come to the stream along its columns."""

    def __init__(self, columns: Sequence[Sequence[float]], rows: int) -> None:
        self.matrix = Matrix(columns, rows, len(columns))
        self.columns = [list(map(fixed, column)) for column in columns]
        self.centered = [[x - sum(c) // rows for x in c] for c in self.columns]


@dataclass
class Spread:
    """Errors of at most `sizes` in the lanes of the heads; `box` is what they are in the stream."""

    output: Output
    sizes: Vector
    box: Vector


@dataclass
class Stream:
    middle: Vector
    directions: list[Vector]
    spreads: list[Spread]
    radius: Vector
    storage: Storage = STORAGE["float32"]

    def bounds(self) -> Vector:
        """The largest absolute value of each lane."""
        sizes = [map(abs, vector) for vector in (self.middle, *self.directions)]
        return plus(*sizes, self.radius, *(spread.box for spread in self.spreads))

    def plus(self, middle: Vector, radius: Vector) -> "Stream":
        """The sum with something that is within the radius of the middle, rounded."""
        total = replace(self, middle=plus(self.middle, middle), radius=plus(self.radius, radius))
        return total.rounded()

    def rounded(self) -> "Stream":
        """After an addition of what is already in the middle."""
        unit = gamma(1)
        bounds = self.bounds()
        loose = [(x * unit >> F) + 2 for x in bounds]
        loose = plus(loose, self.storage.errors(plus(bounds, loose)))
        return replace(self, radius=plus(self.radius, loose))

    def limited(self) -> "Stream":
        """The same with fewer directions: the shortest ones become part of the radius."""
        if len(self.directions) <= DIRECTIONS:
            return self
        ordered = sorted(self.directions, key=lambda d: sum(map(abs, d)), reverse=True)
        rest = (map(abs, direction) for direction in ordered[DIRECTIONS:])
        return replace(self, directions=ordered[:DIRECTIONS], radius=plus(self.radius, *rest))

    def straightened(self) -> tuple["Stream", int]:
        """A stream whose norm is that of this one times a number, and how far the square of that
        number is from 1, at most: what errors add along the middle itself, a norm takes away.

        With d_j = t_j m + d'_j and s = 1 + sum of e_j t_j, which is at least k = 1 - sum |t_j|,
        the stream m + sum e_j d_j + O f + r is s (m + sum (e_j / s) d'_j + (O f + r) / s). A norm
        of s x is that of x with epsilon / s^2 in place of epsilon; its roundings are relative.
        """
        middle = self.middle
        mean = sum(middle) // len(middle)
        centred = [x - mean for x in middle]
        square = sum(x * x for x in centred) + 1
        shares = [
            (sum(map(operator.mul, centred, d)) << F) // square for d in self.directions
        ]  # any numbers will do
        total = sum(map(abs, shares))
        if total >= ONE >> 1 or self.storage.bits:
            return self, 0
        scale = -((-ONE << F) // (ONE - total))
        rest = [
            [(x - (t * m >> F)) * scale >> F for x, m in zip(d, middle, strict=True)]
            for d, t in zip(self.directions, shares, strict=True)
        ]
        spreads = [
            Spread(s.output, scaled_up(s.sizes, scale), scaled_up(s.box, scale))
            for s in self.spreads
        ]
        more = 4 * len(rest)  # of each, two products and two factors were rounded
        radius = [x + more for x in scaled_up(self.radius, scale)]
        found = replace(self, directions=rest, spreads=spreads, radius=radius)
        return found, up(scale * scale) - ONE + 1


@dataclass
class Norm:
    """A LayerNorm (with a bias) or RMSNorm."""

    gain: Vector
    bias: Vector | None
    epsilon: Fraction

    def of(self, stream: Stream, stretched: int = 0) -> "Normed":
        """Item 4 of the executions; `stretched` is what `Stream.straightened` returned.

        The lanes are y = s g (x - m) + b + h. With x - mean(x) = c + sum of e_j d_j + r - mean(r)
        and m within `shift` of the mean, s from `lowest` to `highest` and |h| <= `lane`:
        y = s g c (the middle, for the s halfway, and its common `factor`) + sum of e_j s g d_j
        + s g r - s g shift + b + h. Spreads are like directions, with all means taken off.
        """
        size, bounds = len(self.gain), stream.bounds()
        if max(bounds) >= LARGE:
            check.refuse("a stream may become larger than 2^40: the checker cannot bound it")
        mean = shift = off = 0  # of a mean: its middle, its error, and what the stream moves it by
        middle, directions = stream.middle, stream.directions
        if self.bias is not None:
            mean = sum(middle) // size
            middle = [x - mean for x in middle]
            means = [sum(direction) // size for direction in directions]
            directions = [[x - m for x in d] for d, m in zip(directions, means, strict=True)]
            rounded = shift = up(gamma(size + 48) * (sum(bounds) // size + 1))
            shift += sum(stream.radius) // size + len(directions) + 2
            off = sum(map(abs, means)) + sum(sum(spread.box) for spread in stream.spreads) // size
        # the sum of squares, in units of 2^-2F
        square = sum(x * x for x in middle)
        cross = sum(abs(sum(map(operator.mul, middle, d))) for d in directions)
        cross += sum((abs(x) + 1) * r for x, r in zip(middle, stream.radius, strict=True))
        beyond = sum(map(length_up, directions)) + length_up(stream.radius)
        cross += 4 * size * (len(directions) + 1)  # means that were rounded
        for spread in stream.spreads:
            output = spread.output
            columns = output.columns if self.bias is None else output.centered
            for column, error in zip(columns, spread.sizes, strict=True):
                cross += (abs(sum(map(operator.mul, middle, column))) >> F) * error
                cross += ((sum(map(abs, middle)) >> F - 1) + 2) * error
            beyond += length_up(spread.box)
        squares = sum(x * x for x in bounds)
        mean_size = abs(mean) + shift + off + len(directions) + 1
        if self.bias is not None:
            around = squares // size + 1 + 2 * mean_size * (sum(bounds) // size + 1)
            error = gamma(size + 16) * around + (rounded * rounded << F)
        else:
            error = gamma(size + 4) * (squares // size + 1)
        error = up(error) + 1
        error += -((-self.epsilon.numerator * stretched << F) // self.epsilon.denominator)
        epsilon = self.epsilon.numerator << 2 * F
        low = (square - 2 * cross) // size - error + epsilon // self.epsilon.denominator
        high = (square + 2 * cross + beyond * beyond) // size + 2 + error
        high -= -epsilon // self.epsilon.denominator
        if low <= 0:
            check.refuse("the variance of a norm may be 0: the checker cannot bound it")
        lowest = math.isqrt((1 << 4 * F) // high)
        highest = math.isqrt((1 << 4 * F) // low + 1) + 1
        lowest -= (lowest * 10 >> U) + 1
        highest += (highest * 10 >> U) + 1
        halfway = (lowest + highest) // 2
        factor = -((-(highest - halfway) << F) // halfway)
        gains = list(map(abs, self.gain))
        radius = [  # a gain is known within half a unit
            (g * r + x + mean_size >> F) + 2
            for g, r, x in zip(gains, stream.radius, bounds, strict=True)
        ]
        loose = scaled_up(radius, highest)
        middle = [(g * x >> F) * halfway >> F for g, x in zip(self.gain, middle, strict=True)]
        directions = [
            [(g * x >> F) * highest >> F for g, x in zip(self.gain, d, strict=True)]
            for d in directions
        ]
        shift = up(shift * highest)
        sizes = [map(abs, vector) for vector in (middle, *directions)]
        spreads = [
            Spread(
                spread.output,
                scaled_up(spread.sizes, highest),
                [(g * x >> F) * highest // ONE + 3 for g, x in zip(gains, spread.box, strict=True)],
            )
            for spread in stream.spreads
        ]
        sizes += [(g * shift >> F for g in gains), loose, *(spread.box for spread in spreads)]
        bias = self.bias if self.bias is not None else [0] * size
        found = [x + (x * factor >> F) + abs(b) for x, b in zip(plus(*sizes), bias, strict=True)]
        units = (len(directions) + 2) * ((highest >> F) + 4)  # lost by rounding down
        six, two = 6 * highest, gamma(2)
        lane = [
            (((x + mean_size) * g >> F) * six >> F + U) + (y * two >> F) + units
            for x, g, y in zip(bounds, gains, found, strict=True)
        ]
        lane = plus(lane, stream.storage.errors(plus(found, lane)))
        radius = plus(loose, lane)
        most = up(gamma(size + 48) * (sum(bounds) // size + 1)) + 2
        rounding = Rounding(lane, error, 0 if self.bias is None else most, highest)
        bounds = plus(found, lane)
        parts = middle, directions, spreads, radius, factor, shift, bounds, rounding
        return Normed(self, *parts, stream.storage)


@dataclass
class Rounding:
    """What a norm's own roundings do: lane by lane, to the variance (in units of 2^-2F) and to the
    mean; `highest` is the largest scale."""

    lane: Vector
    variance: int
    mean: int
    highest: int


@dataclass
class Normed:
    """radius  independent errors of the lanes
    factor  the middle is multiplied by a number within this of 1
    shift   the gains times a number within this of 0 are added
    bounds  the largest absolute values of the lanes"""

    norm: Norm
    middle: Vector
    directions: list[Vector]
    spreads: list[Spread]
    radius: Vector
    factor: int
    shift: int
    bounds: Vector
    rounding: Rounding
    storage: Storage


class Projection:
    """A matrix that reads a normed stream, with a bias (None: zeros).

    A row without weights and bias is exactly 0. With `follows`, spreads are multiplied by the
    product of the matrix, the gains and the output matrix that they come from. `columns` are the
    weights again, of each input, where `along` is asked."""

    def __init__(
        self,
        matrix: Matrix,
        bias: Sequence[float] | None,
        norm: Norm,
        follows: bool = True,
        columns: Sequence[Sequence[float]] | None = None,
    ) -> None:
        self.matrix, self.norm, self.follows, self.columns = matrix, norm, follows, columns
        self.followed: dict[int, Matrix] = {}
        (self.gains, constant), radius = matrix.enclose(
            [norm.gain, norm.bias or [0] * matrix.inputs], [1] * matrix.inputs
        )
        self.gains = [abs(g) + r for g, r in zip(self.gains, radius, strict=True)]
        self.zeros = [row for row in matrix.empty if bias is None or not bias[row]]
        self.added = added = list(map(fixed, bias or [0.0] * matrix.rows))
        self.gamma = gamma(matrix.terms + (1 if bias is None else 2))
        self.constant = plus(constant, added)
        self.radius = [
            r + (abs(b) * self.gamma >> F) + 4 for r, b in zip(radius, added, strict=True)
        ]

    def parts(self, normed: Normed) -> tuple[Vector, list[Vector], Vector]:
        """The middle without the constant, the directions, and the radius for everything but
        these and what is common to all lanes."""
        lanes = [
            r + (x * self.gamma >> F) + 1 for r, x in zip(normed.radius, normed.bounds, strict=True)
        ]
        if not self.follows:
            lanes = plus(lanes, *(spread.box for spread in normed.spreads))
        (middle, *directions), radius = self.matrix.enclose(
            [normed.middle, *normed.directions], lanes
        )
        if self.follows:
            for spread in normed.spreads:
                more = self.follow(spread.output).enclose([], spread.sizes)[1]
                radius = list(map(operator.add, radius, more))
        return middle, directions, plus(radius, self.radius)

    def follow(self, output: Output) -> Matrix:
        """At least the absolute values of the product of this matrix, the gains and the output."""
        if id(output) not in self.followed:
            gain, table = self.norm.gain, []
            columns = output.columns if self.norm.bias is None else output.centered
            for column in columns:  # within 2 units
                lanes = [g * x >> F for g, x in zip(gain, column, strict=True)]
                units = [(2 * abs(g) + abs(x) >> F) + 4 for g, x in zip(gain, column, strict=True)]
                (product,), error = self.matrix.enclose([lanes], units)
                sizes = [abs(x) + r for x, r in zip(product, error, strict=True)]
                table.append([math.nextafter(math.ldexp(x, -F), math.inf) for x in sizes])
            self.followed[id(output)] = Matrix(table, self.matrix.rows, len(table))
        return self.followed[id(output)]

    def enclose(self, normed: Normed) -> tuple[Vector, Vector]:
        """The middle and the radius of each row."""
        middle, directions, radius = self.parts(normed)
        factor, shift = normed.factor, normed.shift
        radius = [r + (abs(x) * factor >> F) + 1 for r, x in zip(radius, middle, strict=True)]
        if shift:
            radius = [r + (g * shift >> F) + 1 for r, g in zip(radius, self.gains, strict=True)]
        for direction in directions:
            radius = list(map(operator.add, radius, map(abs, direction)))
        middle = list(map(operator.add, middle, self.constant))
        if (
            max(map(abs, middle)) + max(radius) >= LARGE >> 8
        ):  # the cube of an argument is below 2^96
            check.refuse("a product may become larger than 2^32: the checker cannot bound it")
        radius = normed.storage.stored(middle, radius, self.added)
        for row in self.zeros:
            middle[row] = radius[row] = 0
        return middle, radius

    def along(self, stream: Stream, normed: Normed, row: int) -> tuple[int, int] | None:
        """Middle and radius of one row, where the errors of the stream meet those of its norm.

        Let c be the centred middle of D lanes, V the mean of its squares plus epsilon, s = V^(-1/2)
        and e an error of the stream. The norm divides by sqrt(V + 2 mean(c e) + var(e)), so the
        product with weights w (times the gains, with A = s sum w c) is off by
            sum_l e_l (s w_l - s mean(w) - A c_l / (D V))
        and terms of second order: with q = (2 mean(|c| b) + mean(b^2)) / V for |e| <= b and
        p = 3/8 q^2 (1 - q)^(-5/2), at most |A| (mean(b^2) / 2V + p) + B (q / 2 + p), where B bounds
        the product with e alone. The sum is taken exactly, in integers, for an s that is right to
        38 bits. None if q is not below 1/4.
        """
        size, gain, table = len(self.norm.gain), self.norm.gain, self.columns
        if table is None:
            return None
        centred = self.norm.bias is not None
        middle = stream.middle
        if centred:
            mean = sum(middle) // size
            middle = [x - mean for x in middle]
        sizes = [map(abs, d) for d in stream.directions]
        wide = plus(stream.radius, *sizes, *(spread.box for spread in stream.spreads))
        epsilon = (self.norm.epsilon.numerator << 2 * F) // self.norm.epsilon.denominator
        square = sum(x * x for x in middle) // size + epsilon  # V, in units of 2^-2F
        scale = math.isqrt((1 << 4 * F) // square)
        if scale < 1 << F - 20:
            return None
        blur = -((-sum(b * b for b in wide) << F) // (square * size)) + 1  # mean(b^2) / V
        share = sum(abs(x) * b for x, b in zip(middle, wide, strict=True))
        share = -((-2 * share << F) // (square * size)) + blur + 1
        if share >= ONE >> 2:
            return None
        weights = [fixed(column[row]) for column in table]
        gained = [w * g for w, g in zip(weights, gain, strict=True)]  # 2F
        together = sum(gained) if centred else 0
        product = scale * sum(w * x for w, x in zip(gained, middle, strict=True))  # A, 4F
        back = product * scale * scale  # 6F
        slope = [  # D times, in units of 2^-7F
            ((size * w - together) * scale << 4 * F) - back * x
            for w, x in zip(gained, middle, strict=True)
        ]
        errors = [(direction, ONE) for direction in stream.directions]
        for spread in stream.spreads:
            columns = spread.output.centered if centred else spread.output.columns
            errors += zip(columns, spread.sizes, strict=True)
        first = sum(abs(x) * r for x, r in zip(slope, stream.radius, strict=True)) << F
        first += sum(abs(sum(map(operator.mul, slope, e))) * n for e, n in errors)  # 9F
        first = first // (size << 8 * F) + 1
        straight = sum(abs(w) * b for w, b in zip(gained, wide, strict=True)) >> F
        straight += up(abs(together) // size * sum(wide)) if centred else 0
        straight = (straight * scale >> 2 * F) + 2
        strength = abs(product) // (1 << 3 * F) + 1
        rest = (share * share >> F) + 1  # p: 3/8 (4/3)^(5/2) is below 1
        second = strength * (blur + rest) + straight * (share + rest) >> F
        # s is right to 38 bits; weights, gains and columns of an output are within two units
        slack = (strength * share + (straight << F) >> F + 30) + (sum(wide) * size >> 20) + 4
        total = sum(map(abs, slope)) // (size << 6 * F) + 1
        slack += total * 4 * sum(sum(spread.sizes) for spread in stream.spreads) >> 2 * F
        inner = first + second + slack
        rounding = normed.rounding
        off = (rounding.variance * 4 << F) // (3 * square) + (11 << F - U) + 1
        if off >= ONE >> 2:
            return None
        units = ((max(stream.bounds()) >> F) + 4) * ((rounding.highest >> F) + 2)
        lanes = [
            r + (x * self.gamma >> F) + units
            for r, x in zip(rounding.lane, normed.bounds, strict=True)
        ]
        found = inner + (off * (strength + inner) >> F) + 1
        found += sum((abs(w) + 1) * r for w, r in zip(weights, lanes, strict=True)) >> F
        found += (rounding.mean * rounding.highest >> F) * self.gains[row] >> F
        found += (strength >> 38) + (sum(normed.bounds) >> F)  # s, and weights within half a unit
        found += ((self.gains[row] >> F) + 1) * ((scale >> F) + 1)  # the mean, within a unit
        value = (product >> 3 * F) + self.constant[row]
        found += self.radius[row] + size + 4
        return value, normed.storage.stored([value], [found], [self.added[row]])[0]
