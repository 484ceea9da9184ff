"""Enclose what every execution of a GPT-2 or a Llama in float32 can compute, in integers.

Section 10 of FORMAT.md says which executions there are. A number here is an integer x that stands
for x / 2**F. Middles are rounded down and radii up, so that what an execution computes is never
further from the middle than the radius.

Three kinds of error are kept apart, because intervals alone would grow too wide:

- A stream is `middle + e_1 d_1 + ... + e_k d_k + r`: the strength of a neuron that is on is known
  up to one number e_j between -1 and 1, which multiplies its whole row d_j; |r| is at most `radius`
  in each lane.
- All lanes of a normed stream have the factor `1 / sqrt(variance)` in common: its error multiplies
  the result of a product with a matrix, and not the sum of absolute values.
- They also have the shift by the mean in common: it multiplies the product of the gains with the
  matrix.
"""

import functools
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
FEW = 48  # neurons that are added one by one
OFF = {"gelu_new": -8 << F, "gelu": -8 << F, "silu": -16 << F}  # arguments of neurons that are off

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
        radius = [r + (x * unit >> F) + 2 for r, x in zip(self.radius, self.bounds(), strict=True)]
        return replace(self, radius=radius)

    def limited(self) -> "Stream":
        """The same with fewer directions: the shortest ones become part of the radius."""
        if len(self.directions) <= DIRECTIONS:
            return self
        ordered = sorted(self.directions, key=lambda d: sum(map(abs, d)), reverse=True)
        rest = (map(abs, direction) for direction in ordered[DIRECTIONS:])
        return replace(self, directions=ordered[:DIRECTIONS], radius=plus(self.radius, *rest))


@dataclass
class Norm:
    """A LayerNorm (with a bias) or RMSNorm."""

    gain: Vector
    bias: Vector | None
    epsilon: Fraction

    def of(self, stream: Stream) -> "Normed":
        """Item 4 of the executions.

        The lanes are y = s g (x - m) + b + h. With x - mean(x) = c + sum of e_j d_j + r - mean(r)
        and m within `shift` of the mean, s from `lowest` to `highest` and |h| <= `lane`:
        y = s g c (the middle, for the s halfway, and its common `factor`) + sum of e_j s g d_j
        + s g r - s g shift + b + h. Spreads are like directions, with all means taken off.
        """
        size, bounds = len(self.gain), stream.bounds()
        if max(bounds) >= LARGE:
            check.refuse("a stream may become larger than 2^40: the checker cannot bound it")
        mean = shift = 0
        middle, directions = stream.middle, stream.directions
        if self.bias is not None:
            mean = sum(middle) // size
            middle = [x - mean for x in middle]
            means = [sum(direction) // size for direction in directions]
            directions = [[x - m for x in d] for d, m in zip(directions, means, strict=True)]
            shift = up(gamma(size) * (sum(bounds) // size + 1))
            shift += sum(stream.radius) // size + len(directions) + 2
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
        mean_size = abs(mean) + shift
        if self.bias is not None:
            error = gamma(size + 4) * (squares // size + 1 + mean_size * mean_size)
        else:
            error = gamma(size + 2) * (squares // size + 1)
        error = up(error) + 1
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
        six = 6 * highest
        lane = [
            (((x + mean_size) * g >> F) * six >> F + U) + (y >> U - 1) + units
            for x, g, y in zip(bounds, gains, found, strict=True)
        ]
        radius = plus(loose, lane)
        bounds = plus(found, lane)
        return Normed(self, middle, directions, spreads, radius, factor, shift, bounds)


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


class Projection:
    """A matrix that reads a normed stream, with a bias (None: zeros).

    A row without weights and bias is exactly 0. With `follows`, spreads are multiplied by the
    product of the matrix, the gains and the output matrix that they come from."""

    def __init__(
        self, matrix: Matrix, bias: Sequence[float] | None, norm: Norm, follows: bool = True
    ) -> None:
        self.matrix, self.norm, self.follows = matrix, norm, follows
        self.followed: dict[int, Matrix] = {}
        (self.gains, constant), radius = matrix.enclose(
            [norm.gain, norm.bias or [0] * matrix.inputs], [1] * matrix.inputs
        )
        self.gains = [abs(g) + r for g, r in zip(self.gains, radius, strict=True)]
        self.zeros = [row for row in matrix.empty if bias is None or not bias[row]]
        added = list(map(fixed, bias or [0.0] * matrix.rows))
        self.gamma = gamma(matrix.terms + 2)
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
        for row in self.zeros:
            middle[row] = radius[row] = 0
        return middle, radius


# ---------------------------------------------------------------- attention


@dataclass
class Box:
    """Numbers that are within the radius of the middle, each on its own."""

    middle: Vector
    radius: Vector

    def bounds(self) -> Vector:
        return [abs(x) + r for x, r in zip(self.middle, self.radius, strict=True)]

    def part(self, begin: int, size: int) -> "Box":
        return Box(self.middle[begin : begin + size], self.radius[begin : begin + size])


class Rotary:
    """Cosines and sines of the angles t theta^(-2 f / s), each with one radius (items 2 and 6)."""

    BITS = 128

    def __init__(self, theta: Fraction, size: int) -> None:
        self.half = size // 2
        power = check.exponential(self.BITS)
        logarithm = power.log_up(int(theta * power.one))
        # within 2^-100: the logarithm and the exponential are known to far more
        self.frequencies = [power.near(-2 * f * logarithm // size) for f in range(self.half)]
        self.circle = 2 * check.pi(self.BITS)
        self.known: dict[int, list[tuple[int, int, int]]] = {}

    def at(self, place: int) -> list[tuple[int, int, int]]:
        """(cosine, sine, radius) of every pair of lanes."""
        if place not in self.known:
            self.known[place] = [self.turn(place * angle) for angle in self.frequencies]
        return self.known[place]

    def turn(self, angle: int) -> tuple[int, int, int]:
        """The series of e^(i x) for |x| <= 4. Each of its less than 100 terms is within 100 units
        of 2^-BITS, and an angle below 2^20 within 2^21 * 2^-100."""
        bits = self.BITS
        rest = angle - (angle + self.circle // 2) // self.circle * self.circle
        term, parts, n = 1 << bits, [1 << bits, 0], 0
        while abs(term) > 1:
            n += 1
            term = (term * rest >> bits) // n
            parts[n & 1] += -term if n & 2 else term
        error = (10 * angle >> U) + (8 << bits - U) + (1 << bits - 70)
        return parts[0] >> bits - F, parts[1] >> bits - F, (error >> bits - F) + 2

    def rotate(self, given: Box, place: int) -> Box:
        half, unit = self.half, gamma(4)
        middle, radius = [0] * 2 * half, [0] * 2 * half
        for f, (cosine, sine, error) in enumerate(self.at(place)):
            x, y = given.middle[f], given.middle[f + half]
            r, q = given.radius[f], given.radius[f + half]
            middle[f] = x * cosine - y * sine >> F
            middle[f + half] = y * cosine + x * sine >> F
            sizes = abs(x) + abs(y) + r + q
            every = (sizes * error >> F) + (sizes * unit >> F) + 4
            c, s = abs(cosine), abs(sine)
            radius[f] = (r * c + q * s >> F) + every
            radius[f + half] = (q * c + r * s >> F) + every
        return Box(middle, radius)


@dataclass
class Weight:
    """The weight of one place: from `low` to `high`."""

    place: int
    low: int
    high: int


def softmax(scores: Sequence[tuple[int, int]] | int) -> tuple[int, list[Weight], int]:
    """The place with the largest score, the weights of the others, and a bound for the sum of
    those weights that are left out because they are tiny. A number instead of scores: so many
    that are exactly equal."""
    if isinstance(scores, int):
        return 0, [Weight(t, ONE // scores, ONE // scores + 1) for t in range(1, scores)], 0
    best = max(range(len(scores)), key=lambda t: scores[t][0])
    power, top = check.exponential(96), scores[best]
    ratios, rest = [], 0
    for t, (middle, radius) in enumerate(scores):
        if t == best:
            continue
        low, high = middle - top[0] - radius - top[1], middle - top[0] + radius + top[1]
        if high < -48 << F:  # e^-48 < 2^-69
            rest += 1
            continue
        mantissa, k = power.parts(low << 96 - F)
        least = max(0, check.shifted(mantissa - power.ERROR, k - 96 + F))
        ratios.append((t, least, up(power.up(high << 96 - F), 96 - F)))
    lowest, highest = sum(r[1] for r in ratios), sum(r[2] for r in ratios) + (rest >> 9) + 1
    return (
        best,
        [
            Weight(
                t,
                (low << F) // (ONE + highest - high + low),
                (high << F) // (ONE + lowest - low + high) + 1,
            )
            for t, low, high in ratios
        ],
        (rest >> 9) + 1 if rest else 0,
    )


def mixed(values: list[Box], scores: Sequence[tuple[int, int]] | int) -> Box:
    """The weighted sum of the values, with the errors of item 5."""
    best, weights, rest = softmax(scores)
    largest = [max(lanes) for lanes in zip(*(value.bounds() for value in values), strict=True)]
    first = values[best]
    middle = [0] * len(first.middle)
    share = ONE - sum(weight.low for weight in weights)
    unit = gamma(2 * len(values) + 30) + 2 * rest
    radius = [
        (r * share >> F) + (x * unit >> F) + 4 for r, x in zip(first.radius, largest, strict=True)
    ]
    for weight in weights:
        value, halfway = values[weight.place], (weight.low + weight.high) // 2
        loose = weight.high - halfway
        steps = list(map(operator.sub, value.middle, first.middle))
        middle = [m + x * halfway for m, x in zip(middle, steps, strict=True)]
        radius = [
            r + (abs(x) * loose + q * weight.high >> F) + 1
            for r, x, q in zip(radius, steps, value.radius, strict=True)
        ]
    return Box([x + (m >> F) for x, m in zip(first.middle, middle, strict=True)], radius)


@dataclass
class Seen:
    """What later places read of a place: keys by head, values of all heads that count."""

    keys: dict[int, Box]
    values: Box


@dataclass
class Attention:
    """heads    those with value and output weights that are not all 0, in order
    scored   those of them whose scores are not all exactly 0
    readers  of queries and keys of the scored heads and of values; None if there are none"""

    size: int
    heads: list[int]
    scored: list[int]
    query: Projection | None
    key: Projection | None
    value: Projection | None
    output: Output
    bias: Vector | None
    rotary: Rotary | None

    def split(self, reader: Projection | None, normed: Normed, place: int) -> dict[int, Box]:
        """Queries or keys by head, rotated where they are."""
        if reader is None:
            return {}
        together, found = Box(*reader.enclose(normed)), {}
        for number, head in enumerate(self.scored):
            part = together.part(number * self.size, self.size)
            found[head] = part if self.rotary is None else self.rotary.rotate(part, place)
        return found

    def seen(self, normed: Normed, place: int) -> Seen:
        if self.value is None:
            check.refuse("attention without values")
        return Seen(self.split(self.key, normed, place), Box(*self.value.enclose(normed)))

    def scores(self, query: Box, keys: list[Box]) -> list[tuple[int, int]]:
        root = math.isqrt(self.size << 2 * F)
        inverse = (1 << 2 * F) // root + 1  # 1 / sqrt(s), within 2 units
        unit, found = gamma(self.size + 4), []
        sizes = query.bounds()
        for key in keys:
            middle = sum(map(operator.mul, query.middle, key.middle)) >> F
            reach = key.bounds()
            error = sum(map(operator.mul, map(abs, query.middle), key.radius))
            error += sum(map(operator.mul, query.radius, reach))
            total = sum(map(operator.mul, sizes, reach)) >> F
            error = (error >> F) + (total * unit >> F) + 3
            found.append((middle * inverse >> F, (error * inverse + 2 * abs(middle) >> F) + 3))
        return found

    def added(self, stream: Stream, normed: Normed, seen: list[Seen]) -> Stream:
        """The stream after attention at the last of these places."""
        place = len(seen) - 1
        queries = self.split(self.query, normed, place)
        middle: Vector = []
        radius: Vector = []
        for number, head in enumerate(self.heads):
            values = [one.values.part(number * self.size, self.size) for one in seen]
            if head in queries:
                found = mixed(values, self.scores(queries[head], [one.keys[head] for one in seen]))
            else:
                found = mixed(values, len(values))
            middle += found.middle
            radius += found.radius
        matrix = self.output.matrix
        unit = gamma(matrix.terms + 2)
        lanes = [((abs(x) + r) * unit >> F) + 1 for x, r in zip(middle, radius, strict=True)]
        (result,), errors = matrix.enclose([middle], lanes)
        bias = self.bias or [0] * len(result)
        errors = [r + (abs(b) * unit >> F) + 2 for r, b in zip(errors, bias, strict=True)]
        spread = Spread(self.output, radius, matrix.enclose([], radius)[1])
        stream = replace(stream, spreads=[*stream.spreads, spread])
        return stream.plus(plus(result, bias), errors)


def without_heads(stream: Stream, bias: Vector | None) -> Stream:
    """Attention whose values or output weights are all 0 adds its bias alone."""
    if bias is None:
        return stream
    return stream.plus(bias, [1] * len(bias))


# ---------------------------------------------------------------- neurons


class Activation:
    """The three functions f and what executions make of them (items 2, 3 and 7).

    gelu and gelu_new: the argument of tanh or erf is a product of at most 6 roundings, constants
    included, and |x tanh'(x)|, |x erf'(x)| < 1/2: 3 u; tanh and erf themselves 8 u; 1 + tanh at
    most 2 u more; and the product with z / 2 another 2 u of at most |z|: together below 16 u |z|.
    silu: within 8 u for exp, 1 for the sum and 1 for the division, or 8 for the logistic function
    and 1 for the product: below 16 u |z| as well, and for z < 0 below 16 u |f(z)|.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        inner = {"gelu_new": "tanh", "gelu": "erf", "silu": "logistic"}[name]
        self.inner = check.Activation(inner, 80, 0)
        self.lift = self.inner.bits - F
        self.root = math.isqrt((2 << 3 * self.inner.bits) // check.pi(self.inner.bits))
        self.half_root = math.isqrt(1 << 2 * self.inner.bits - 1)
        power = check.exponential(96)
        # |z| e^z falls below z = -1; a sixteenth more is enough for 16 u and another product
        self.tails = [
            (k * up(power.up(-k << 96), 96 - F) * 17 >> 4) + 1 if k else ONE for k in range(128)
        ]

    def value(self, z: int) -> int:
        """f(z) for |z| < 2^7, within 2 units."""
        bits, x = self.inner.bits, z << self.lift
        if self.name == "silu":
            return x * self.inner.apply(x) >> bits + self.lift
        if self.name == "gelu":
            share = self.inner.apply(x * self.half_root >> bits)
        else:
            cube = (x * x >> bits) * x >> bits
            share = self.inner.apply((x + cube * 44715 // 10**6) * self.root >> bits)
        return x * ((1 << bits) + share) >> bits + 1 + self.lift

    def at(self, z: int) -> tuple[int, int]:
        """Bounds of f(z)."""
        if z >= 64 << F:  # 1 - f(z) / z is below 2^-80
            return z - (z >> 80) - 1, z
        if z <= -64 << F:
            return -1, 0
        value = self.value(z)
        return value - 2, value + 2

    def enclose(self, low: int, high: int) -> tuple[int, int]:
        """Middle and radius of what executions get for an argument from `low` to `high`."""
        left, right, least = (-13, -12, -0.279) if self.name == "silu" else (-8, -7, -0.171)
        first, last = self.at(low), self.at(high)
        bottom, top = min(first[0], last[0]), max(first[1], last[1])
        # f falls up to its least value, which lies from left / 10 to right / 10, and then rises
        if 10 * low < right << F and 10 * high > left << F:
            bottom = min(bottom, fixed(least))
        if self.name == "silu" and high < 0:
            error = -bottom >> U - 4
        else:
            error = max(abs(low), abs(high)) >> U - 4
        middle = (bottom + top) // 2
        return middle, top - middle + error + 2

    def tail(self, high: int) -> int:
        """At least the absolute value of silu of an argument of at most `high` < -1."""
        return self.tails[min(127, -high >> F)]


@dataclass
class Neurons:
    """hidden  reads the arguments; `gate` of a Llama
    factor  `up_proj` of a Llama, whose products the activations multiply
    rows    the output row of each neuron, as floats"""

    activation: Activation
    hidden: Projection
    factor: Projection | None
    rows: "Rows"
    bias: Vector | None

    def added(self, stream: Stream, normed: Normed) -> tuple[Stream, list[int], list[int]]:
        """The stream after the neurons, those that are certainly on, and those that may be."""
        middle, radius = self.hidden.enclose(normed)
        highs = list(map(operator.add, middle, radius))
        off = OFF[self.activation.name]
        active = [n for n, high in enumerate(highs) if high >= off and (high or radius[n])]
        on = [n for n in active if middle[n] - radius[n] > 0]
        unsure = [n for n in active if highs[n] > 0 and middle[n] - radius[n] <= 0]
        strengths = {n: self.activation.enclose(middle[n] - radius[n], highs[n]) for n in active}
        terms, tails = len(active), [0] * len(stream.middle)
        if self.factor is not None:
            factors, errors = self.factor.enclose(normed)
            for n, (value, error) in strengths.items():
                x, r = factors[n], errors[n]
                loose = abs(value) * r + error * (abs(x) + r) >> F
                size = (abs(value) + error) * (abs(x) + r) >> F
                strengths[n] = value * x >> F, loose + (size >> U) + 3
            terms = self.rows.terms
            sizes = list(map(operator.add, map(abs, factors), errors))
            tail = self.activation.tail
            quiet = [
                0 if high >= off else (tail(high) * size >> F) + 1
                for high, size in zip(highs, sizes, strict=True)
            ]
            tails = self.rows.spread(quiet)
        if len(active) > FEW:
            loudest = sorted(active, key=lambda n: strengths[n][1], reverse=True)[:DIRECTIONS]
            values, loose = [0] * len(middle), [0] * len(middle)
            for n, (value, error) in strengths.items():
                values[n], loose[n] = value, error
            sums, sizes = self.rows.matrix.enclose(
                [values], [abs(v) + e for v, e in zip(values, loose, strict=True)]
            )
            total = sums[0]
            for n in loudest:
                loose[n] = 0
            wide = self.rows.matrix.enclose([values], loose)[1]
        else:
            loudest = active
            total = sizes = wide = [0] * len(stream.middle)
            for n in active:
                row, (value, error) = self.rows.row(n), strengths[n]
                total = [t + (value * w >> F) for t, w in zip(total, row, strict=True)]
                reach = abs(value) + error
                sizes = [s + (reach * abs(w) >> F) + 1 for s, w in zip(sizes, row, strict=True)]
        directions = [[strengths[n][1] * w >> F for w in self.rows.row(n)] for n in loudest]
        # rows are within half a unit, and three products of each were rounded
        units = sum((abs(strengths[n][0]) + strengths[n][1] >> F) + 3 for n in loudest) + 3
        bias = self.bias or [0] * len(total)
        unit = gamma(terms + 2)
        errors = [
            w + t + ((s + t + abs(b)) * unit >> F) + units
            for w, t, s, b in zip(wide, tails, sizes, bias, strict=True)
        ]
        found = stream.directions + [d for d in directions if any(d)]
        stream = replace(stream, directions=found).limited()
        return stream.plus(plus(total, bias), errors), on, unsure


class Rows:
    """The output weights of the neurons: their rows one by one, and packed if many are needed."""

    def __init__(self, columns: list[Sequence[float]], size: int) -> None:
        self.columns, self.size = columns, size
        self.known: dict[int, Vector] = {}
        counts = [0] * size
        for column in columns:
            counts = list(map(operator.add, counts, map(bool, column)))
        self.terms = max(counts)
        self.largest = [fixed(max(map(abs, column))) + 1 for column in columns]

    def row(self, neuron: int) -> Vector:
        if neuron not in self.known:
            self.known[neuron] = list(map(fixed, self.columns[neuron]))
        return self.known[neuron]

    @functools.cached_property
    def matrix(self) -> Matrix:
        return Matrix(self.columns, self.size, len(self.columns))

    def spread(self, sizes: Vector) -> Vector:
        """At least what neurons of at most these sizes add to each lane."""
        total = sum(map(operator.mul, sizes, self.largest)) >> F
        if total < ONE >> 40:
            return [total + 1] * self.size
        return self.matrix.enclose([], sizes)[1]


# ---------------------------------------------------------------- the network


@dataclass
class Block:
    """attention  None if its values or output weights are all 0: it adds `bias` alone"""

    first: Norm
    attention: Attention | None
    bias: Vector | None
    second: Norm
    neurons: Neurons


@dataclass
class Place:
    """streams  before block 0, 1, ..., as far as they were needed
    seen     by block, what later places read
    on       the neurons of each block that are on, and those that may be"""

    streams: list[Stream]
    seen: dict[int, Seen]
    on: list[tuple[list[int], list[int]]]


@dataclass
class Answer:
    """margin  at least the label's logit minus that of `rival`, for which it is smallest
    beaten  whether the rival's logit is greater in every execution
    on      (block, neuron) of those that are certainly on at the last place
    unsure  of those that are on in some executions, as far as can be said"""

    margin: int
    rival: int
    beaten: bool
    on: set[tuple[int, int]]
    unsure: set[tuple[int, int]]


class Network:
    """Asked about one sequence after another; beginnings in common are computed once."""

    def __init__(
        self,
        tokens: Sequence[Sequence[float]],
        positions: Sequence[Sequence[float]] | None,
        blocks: list[Block],
        logits: Projection,
    ) -> None:
        self.tokens, self.positions, self.blocks, self.logits = tokens, positions, blocks, logits
        self.read: list[int] = []
        self.places: list[Place] = []

    def embedded(self, token: int, place: int) -> Stream:
        middle = list(map(fixed, self.tokens[token]))
        stream = Stream(middle, [], [], [1] * len(middle))
        if self.positions is None:
            return stream
        return stream.plus(list(map(fixed, self.positions[place])), [1] * len(middle))

    def before(self, block: int, place: int) -> Stream:
        """The stream of a place before a block (after all of them: their number)."""
        streams = self.places[place].streams
        while len(streams) <= block:
            self.pass_block(len(streams) - 1, place)
        return streams[block]

    def pass_block(self, number: int, place: int) -> None:
        block, here = self.blocks[number], self.places[place]
        stream = here.streams[number]
        if block.attention is None:
            stream = without_heads(stream, block.bias)
        else:
            seen = [self.seen(number, t) for t in range(place + 1)]
            stream = block.attention.added(stream, block.first.of(stream), seen)
        stream, *on = block.neurons.added(stream, block.second.of(stream))
        here.on.append((on[0], on[1]))
        here.streams.append(stream)

    def seen(self, number: int, place: int) -> Seen:
        here = self.places[place]
        if number not in here.seen:
            block, stream = self.blocks[number], self.before(number, place)
            if block.attention is None:
                check.refuse("attention without heads")
            here.seen[number] = block.attention.seen(block.first.of(stream), place)
        return here.seen[number]

    def answer(self, tokens: list[int], label: int) -> Answer:
        same = 0
        for one, other in zip(tokens, self.read, strict=False):
            if one != other:
                break
            same += 1
        self.read = tokens
        self.places = self.places[:same] + [
            Place([self.embedded(token, t)], {}, []) for t, token in enumerate(tokens[same:], same)
        ]
        last = self.places[-1]
        normed = self.logits.norm.of(self.before(len(self.blocks), len(tokens) - 1))
        margin, rival, beaten = self.compare(normed, label)
        pairs = [[(b, n) for b, on in enumerate(last.on) for n in on[kind]] for kind in (0, 1)]
        return Answer(margin, rival, beaten, set(pairs[0]), set(pairs[1]))

    def compare(self, normed: Normed, label: int) -> tuple[int, int, bool]:
        """The difference of two logits has the factor and the directions in common."""
        middle, directions, radius = self.logits.parts(normed)
        if normed.shift:
            shift = normed.shift
            radius = [
                r + (g * shift >> F) + 1 for r, g in zip(radius, self.logits.gains, strict=True)
            ]
        if max(radius) >= LARGE:  # sums of absolute values are below 2^23 times this
            check.refuse("a logit may become too large: the checker cannot bound it")
        own, constant = middle[label], self.logits.constant
        steps = [own - x for x in middle]
        widths = [(abs(x) * normed.factor >> F) + r + 2 for x, r in zip(steps, radius, strict=True)]
        for direction in directions:
            own = direction[label]
            widths = [w + abs(own - x) for w, x in zip(widths, direction, strict=True)]
        own, wide = constant[label], radius[label]
        steps = [x + own - c for x, c in zip(steps, constant, strict=True)]
        margins = list(map(operator.sub, steps, widths))
        others = [token for token in range(len(margins)) if token != label]
        if not others:
            return ONE, label, False
        beaten = [o for o in others if margins[o] < wide and steps[o] + widths[o] + wide < 0]
        rival = min(beaten or others, key=margins.__getitem__)
        return margins[rival] - wide, rival, bool(beaten)
