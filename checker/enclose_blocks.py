"""The blocks of a GPT-2 or a Llama, enclosed: attention, neurons, and the network of them.

Items 2, 3 and 5 to 7 of the executions are here; sums and norms, items 1 and 4, in enclose.py.
"""

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

try:
    from . import check, enclose
except ImportError:  # this folder is no package, but on the path
    import check
    import enclose

F, ONE, U = enclose.F, enclose.ONE, enclose.U
BITS = 96  # of exponentials of logits
FEW = 48  # neurons that are added one by one
WIDE = enclose.ONE >> 2  # a neuron whose argument is less certain than this is bounded again
OFF = {"gelu_new": -8 << F, "gelu": -8 << F, "silu": -16 << F}  # arguments of neurons that are off

Vector = enclose.Vector


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


@functools.cache
def tail(steps: int) -> int:
    """At least e^(-steps / 64)."""
    return check.exponential(BITS).up(-steps << BITS - 6)


class Rotary:
    """Cosines and sines of the angles t theta^(-2 f / s), each with one radius (items 2 and 6)."""

    BITS = 128

    def __init__(self, theta: Fraction, size: int) -> None:
        self.half = size // 2
        power = check.exponential(self.BITS)
        logarithm = power.log_up(int(theta * power.one))
        # within 2^-100: the logarithm and the exponential are known to far more
        self.exponents = [-2 * f * logarithm // size for f in range(self.half)]
        self.circle = 2 * check.pi(self.BITS)
        self.known: dict[int, list[tuple[int, int, int]]] = {}

    def at(self, place: int) -> list[tuple[int, int, int]]:
        """(cosine, sine, radius) of every pair of lanes."""
        if place not in self.known:
            self.known[place] = [self.turn(place * angle) for angle in self.frequencies]
        return self.known[place]

    @functools.cached_property
    def frequencies(self) -> Vector:
        return [check.exponential(self.BITS).near(x) for x in self.exponents]

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
        error = (18 * angle >> U) + (8 << bits - U) + (1 << bits - 70)
        return parts[0] >> bits - F, parts[1] >> bits - F, (error >> bits - F) + 2

    def rotate(self, given: Box, place: int) -> Box:
        half, unit = self.half, enclose.gamma(4)
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
        ratios.append((t, least, enclose.up(power.up(high << 96 - F), 96 - F)))
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


def mixed(
    values: list[Box],
    scores: Sequence[tuple[int, int]] | int,
    storage: enclose.Storage = enclose.STORAGE["float32"],
) -> Box:
    """The weighted sum of the values, with the errors of item 5, and of stored weights: two units
    of each, one of the weight and one of the sum that they are divided by."""
    best, weights, rest = softmax(scores)
    largest = [max(lanes) for lanes in zip(*(value.bounds() for value in values), strict=True)]
    first = values[best]
    middle = [0] * len(first.middle)
    share = ONE - sum(weight.low for weight in weights)
    unit = enclose.gamma(3 * len(values) + 125) + 2 * rest
    if storage.bits:
        unit += (ONE * 201 // 100 >> storage.bits) + len(values) * (ONE >> -storage.least) + 1
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
    middle = [x + (m >> F) for x, m in zip(first.middle, middle, strict=True)]
    return Box(middle, storage.stored(middle, radius))


@dataclass
class Seen:
    """What later places read of a place: keys by head, values of all heads that count."""

    keys: dict[int, Box]
    values: Box


@dataclass
class Attention:
    """heads   those with value and output weights that are not all 0, in order; at least one
    scored  those of them whose scores are not all exactly 0
    query   reads the queries of the scored heads, `key` their keys: None if there are none
    value   reads the values of all these heads"""

    size: int
    heads: list[int]
    scored: list[int]
    query: enclose.Projection | None
    key: enclose.Projection | None
    value: enclose.Projection
    output: enclose.Output
    bias: Vector | None
    rotary: Rotary | None

    def split(
        self, reader: enclose.Projection | None, normed: enclose.Normed, place: int
    ) -> dict[int, Box]:
        """Queries or keys by head, rotated where they are."""
        if reader is None:
            return {}
        together, found = Box(*reader.enclose(normed)), {}
        for number, head in enumerate(self.scored):
            part = together.part(number * self.size, self.size)
            found[head] = part if self.rotary is None else self.rotary.rotate(part, place)
        return found

    def seen(self, normed: enclose.Normed, place: int) -> Seen:
        return Seen(self.split(self.key, normed, place), Box(*self.value.enclose(normed)))

    def scores(
        self, query: Box, keys: list[Box], storage: enclose.Storage = enclose.STORAGE["float32"]
    ) -> list[tuple[int, int]]:
        """Each with its radius. Where results are stored, the factor 1 / sqrt(s) may have been
        applied to both operands, or to the product, all of which are stored."""
        root = math.isqrt(self.size << 2 * F)
        inverse = (1 << 2 * F) // root + 1  # 1 / sqrt(s), within 2 units
        unit, found = enclose.gamma(self.size + 4), []
        sizes = query.bounds()
        for key in keys:
            middle = sum(map(operator.mul, query.middle, key.middle)) >> F
            reach = key.bounds()
            error = sum(map(operator.mul, map(abs, query.middle), key.radius))
            error += sum(map(operator.mul, query.radius, reach))
            total = sum(map(operator.mul, sizes, reach)) >> F
            error = (error >> F) + (total * unit >> F) + 3
            if storage.bits:
                lost = (sum(sizes) + sum(reach) + self.size * ONE) * root >> F
                error += (2 * total >> storage.bits) + (total >> 2 * storage.bits - 1) + 2
                error += (2 * lost >> -storage.least) + 2
                (error,) = storage.stored([middle], [error])
            score, loose = middle * inverse >> F, (error * inverse + 2 * abs(middle) >> F) + 3
            (loose,) = storage.stored([score], [loose])
            found.append((score, loose))
        return found

    def added(
        self, stream: enclose.Stream, normed: enclose.Normed, seen: list[Seen]
    ) -> enclose.Stream:
        """The stream after attention at the last of these places."""
        place = len(seen) - 1
        queries = self.split(self.query, normed, place)
        middle: Vector = []
        radius: Vector = []
        for number, head in enumerate(self.heads):
            values = [one.values.part(number * self.size, self.size) for one in seen]
            if head in queries:
                keys = [one.keys[head] for one in seen]
                scores = self.scores(queries[head], keys, stream.storage)
                found = mixed(values, scores, stream.storage)
            else:
                found = mixed(values, len(values), stream.storage)
            middle += found.middle
            radius += found.radius
        matrix = self.output.matrix
        unit = enclose.gamma(matrix.terms + 2)
        lanes = [((abs(x) + r) * unit >> F) + 1 for x, r in zip(middle, radius, strict=True)]
        (result,), errors = matrix.enclose([middle], lanes)
        bias = self.bias or [0] * len(result)
        errors = [r + (abs(b) * unit >> F) + 2 for r, b in zip(errors, bias, strict=True)]
        spread = enclose.Spread(self.output, radius, matrix.enclose([], radius)[1])
        if stream.storage.bits:
            reach = [e + x for e, x in zip(errors, spread.box, strict=True)]
            total = enclose.plus(result, bias)
            stored = stream.storage.stored(total, reach, bias)
            errors = [e + s - x for e, s, x in zip(errors, stored, reach, strict=True)]
        stream = replace(stream, spreads=[*stream.spreads, spread])
        return stream.plus(enclose.plus(result, bias), errors)


def without_heads(stream: enclose.Stream, bias: Vector | None) -> enclose.Stream:
    """Attention whose values or output weights are all 0 adds its bias alone: it is added to 0."""
    if bias is None:
        return stream
    unit = enclose.gamma(2)
    return stream.plus(bias, [(abs(b) * unit >> F) + 2 for b in bias])


# ---------------------------------------------------------------- neurons


class Activation:
    """The three functions f and what executions make of them (items 2, 3 and 7).

    gelu and gelu_new: the argument of tanh or erf is a product of at most 6 roundings, constants
    included, and |x tanh'(x)|, |x erf'(x)| < 1/2: 3 u; tanh itself 8 u and erf 16 u; 1 + erf at
    most 2 u more; and the product with z / 2 another 2 u of at most |z|: together below 16 u |z|.
    Stored, every operation and constant may be off by one unit more: the argument of tanh by 7
    units (4 of them of the cube), tanh by 0.45 * 7 + 1, 1 + tanh by 2 more, and the product with
    z / 2 by half of that and one: below 5 units of |z|; results that are subnormal add less than
    3 + 3 |z| times half the least number.
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
            (k * enclose.up(power.up(-k << 96), 96 - F) * 17 >> 4) + 1 if k else ONE
            for k in range(128)
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

    def enclose(
        self, low: int, high: int, storage: enclose.Storage = enclose.STORAGE["float32"]
    ) -> tuple[int, int]:
        """Middle and radius of what executions get for an argument from `low` to `high`."""
        left, right, least = (-13, -12, -0.279) if self.name == "silu" else (-8, -7, -0.171)
        first, last = self.at(low), self.at(high)
        bottom, top = min(first[0], last[0]), max(first[1], last[1])
        # f falls up to its least value, which lies from left / 10 to right / 10, and then rises
        if 10 * low < right << F and 10 * high > left << F:
            bottom = min(bottom, enclose.fixed(least))
        if self.name == "silu" and high < 0:
            error = -bottom >> U - 4
        else:
            error = max(abs(low), abs(high)) >> U - 4
        if storage.bits:
            size = max(abs(low), abs(high))
            error += (5 * size >> storage.bits) + (4 * (size + ONE) >> -storage.least) + 2
        middle = (bottom + top) // 2
        return middle, top - middle + error + 2

    def tail(self, high: int) -> int:
        """At least the absolute value of silu of an argument of at most `high` < -1."""
        return self.tails[min(127, -high >> F)]


def multiplied(x: int, r: int, y: int, q: int) -> tuple[int, int]:
    """Middle and radius of a rounded product of two numbers within r of x and q of y."""
    loose = abs(x) * q + r * (abs(y) + q) >> F
    size = (abs(x) + r) * (abs(y) + q) >> F
    return x * y >> F, loose + (size >> U) + 3


@dataclass
class Neurons:
    """hidden  reads the arguments; `gate` of a Llama
    factor  `up_proj` of a Llama, whose products the activations multiply
    rows    the output row of each neuron, as floats"""

    activation: Activation
    hidden: enclose.Projection
    factor: enclose.Projection | None
    rows: "Rows"
    bias: Vector | None

    def added(
        self, stream: enclose.Stream, normed: enclose.Normed
    ) -> tuple[enclose.Stream, list[int], list[int]]:
        """The stream after the neurons, those that are certainly on, and those that may be."""
        middle, radius = self.hidden.enclose(normed)
        highs = list(map(operator.add, middle, radius))
        off = OFF[self.activation.name]
        close = [n for n, high in enumerate(highs) if high >= off and radius[n] > WIDE]
        if self.hidden.columns is not None and len(close) <= FEW:
            for n in close:
                found = self.hidden.along(stream, normed, n)
                if found is not None and found[1] < radius[n]:
                    middle[n], radius[n] = found
                    highs[n] = middle[n] + radius[n]
        active = [n for n, high in enumerate(highs) if high >= off and (high or radius[n])]
        on = [n for n in active if middle[n] - radius[n] > 0]
        unsure = [n for n in active if highs[n] > 0 and middle[n] - radius[n] <= 0]
        storage, enclosed = stream.storage, self.activation.enclose
        strengths = {n: enclosed(middle[n] - radius[n], highs[n], storage) for n in active}
        terms, tails = len(active), [0] * len(stream.middle)
        if self.factor is not None:
            factors, errors = self.factor.enclose(normed)
            for n, (value, error) in strengths.items():
                strengths[n] = multiplied(value, error, factors[n], errors[n])
            terms = self.rows.terms
            sizes = list(map(operator.add, map(abs, factors), errors))
            tail = self.activation.tail
            quiet = [
                0 if high >= off else (tail(high) * size >> F) + 1
                for high, size in zip(highs, sizes, strict=True)
            ]
            tails = self.rows.spread(quiet)
        if len(active) > FEW:
            loudest = sorted(active, key=lambda n: strengths[n][1], reverse=True)[
                : enclose.DIRECTIONS
            ]
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
        unit = enclose.gamma(terms + 2)
        errors = [
            w + t + ((s + t + abs(b)) * unit >> F) + units
            for w, t, s, b in zip(wide, tails, sizes, bias, strict=True)
        ]
        if storage.bits:
            reach = [s + abs(b) + units for s, b in zip(sizes, bias, strict=True)]
            errors = storage.stored(reach, errors, list(map(abs, bias)))
        found = stream.directions + [d for d in directions if any(d)]
        stream = replace(stream, directions=found).limited()
        return stream.plus(enclose.plus(total, bias), errors), on, unsure


class Rows:
    """The output weights of the neurons: their rows one by one, and packed if many are needed."""

    def __init__(self, columns: list[Sequence[float]], size: int) -> None:
        self.columns, self.size = columns, size
        self.known: dict[int, Vector] = {}
        counts = [0] * size
        for column in columns:
            counts = list(map(operator.add, counts, map(bool, column)))
        self.terms = max(counts)
        self.largest = [enclose.fixed(max(map(abs, column))) + 1 for column in columns]

    def row(self, neuron: int) -> Vector:
        if neuron not in self.known:
            self.known[neuron] = list(map(enclose.fixed, self.columns[neuron]))
        return self.known[neuron]

    @functools.cached_property
    def matrix(self) -> enclose.Matrix:
        return enclose.Matrix(self.columns, self.size, len(self.columns))

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

    first: enclose.Norm
    attention: Attention | None
    bias: Vector | None
    second: enclose.Norm
    neurons: Neurons


@dataclass
class Place:
    """streams  before block 0, 1, ..., as far as they were needed
    seen     by block, what later places read
    on       the neurons of each block that are on, and those that may be"""

    streams: list[enclose.Stream]
    seen: dict[int, Seen]
    on: list[tuple[list[int], list[int]]]


@dataclass
class Answer:
    """Of counts of labels, `divergence` is at least that of the softmax from their shares.

    margin  at least the label's logit minus that of `rival`, for which it is smallest
    beaten  whether the rival's logit is greater in every execution
    on      (block, neuron) of those that are certainly on at the last place
    unsure  of those that are on in some executions, as far as can be said"""

    margin: int
    rival: int
    beaten: bool
    on: set[tuple[int, int]]
    unsure: set[tuple[int, int]]
    divergence: Fraction | None = None


class Network:
    """Asked about one sequence after another; beginnings in common are computed once."""

    def __init__(
        self,
        tokens: Sequence[Sequence[float]],
        positions: Sequence[Sequence[float]] | None,
        blocks: list[Block],
        logits: enclose.Projection,
        storage: enclose.Storage,
    ) -> None:
        self.storage = storage
        self.tokens, self.positions, self.blocks, self.logits = tokens, positions, blocks, logits
        self.read: list[int] = []
        self.places: list[Place] = []

    def embedded(self, token: int, place: int) -> enclose.Stream:
        middle = list(map(enclose.fixed, self.tokens[token]))
        stream = enclose.Stream(middle, [], [], [1] * len(middle), self.storage)
        if self.positions is None:
            return stream
        return stream.plus(list(map(enclose.fixed, self.positions[place])), [1] * len(middle))

    def before(self, block: int, place: int) -> enclose.Stream:
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
            here.seen[number] = block.attention.seen(block.first.of(stream), place)
        return here.seen[number]

    def answer(self, tokens: list[int], label: int | dict[int, int]) -> Answer:
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
        stream = self.before(len(self.blocks), len(tokens) - 1)
        pairs = [[(b, n) for b, on in enumerate(last.on) for n in on[kind]] for kind in (0, 1)]
        if isinstance(label, dict):
            normed = self.logits.norm.of(*stream.straightened())
            found = self.divergence(normed, label)
            return Answer(0, 0, False, set(pairs[0]), set(pairs[1]), found)
        margin, rival, beaten = self.compare(self.logits.norm.of(stream), label)
        return Answer(margin, rival, beaten, set(pairs[0]), set(pairs[1]))

    def divergence(self, normed: enclose.Normed, counts: dict[int, int]) -> Fraction:
        """At least the divergence of the softmax of the logits l from the shares p of the counts:
        log sum_j exp(l_j - sum_i p_i l_i) + sum_i p_i log p_i.

        A difference of l_j and the mean logit has the factor, the shift and the directions in
        common. Exponentials of what is far below the mean are rounded up to the next 1/64.
        """
        middle, directions, radius = self.logits.parts(normed)
        shift, factor, times = normed.shift, normed.factor, sum(counts.values())
        gains = self.logits.gains
        radius = [r + (g * shift >> F) + 1 for r, g in zip(radius, gains, strict=True)]
        if max(radius) >= enclose.LARGE:
            check.refuse("a logit may become too large: the checker cannot bound it")

        def mean(numbers: Vector) -> int:
            return sum(n * numbers[token] for token, n in counts.items()) // times

        own, wide = mean(middle), mean(radius) + 4 + len(directions)
        steps = [x - own for x in middle]
        highs = [x + (abs(x) * factor >> F) + r + wide for x, r in zip(steps, radius, strict=True)]
        for direction in directions:
            own = mean(direction)
            highs = [h + abs(x - own) for h, x in zip(highs, direction, strict=True)]
        own, constant = mean(self.logits.constant), self.logits.constant
        highs = [h + c - own for h, c in zip(highs, constant, strict=True)]
        power, total = check.exponential(BITS), 0
        for high in highs:
            if high > -8 << F:
                total += power.up(high << BITS - F)
            else:
                total += tail(min(-high >> F - 6, 64 << 6))
        logs = (
            n * (power.log_of_count(n)[1] - power.log_of_count(times)[0]) for n in counts.values()
        )
        return Fraction(power.log_up(total) + -(-sum(logs) // times), power.one)

    def compare(self, normed: enclose.Normed, label: int) -> tuple[int, int, bool]:
        """The difference of two logits has the factor and the directions in common."""
        middle, directions, radius = self.logits.parts(normed)
        if normed.shift:
            shift = normed.shift
            radius = [
                r + (g * shift >> F) + 1 for r, g in zip(radius, self.logits.gains, strict=True)
            ]
        if max(radius) >= enclose.LARGE:  # sums of absolute values are below 2^23 times this
            check.refuse("a logit may become too large: the checker cannot bound it")
        own, constant = middle[label], self.logits.constant
        if self.storage.bits:
            sizes = [
                (abs(x) * normed.factor >> F) + r + 1 for x, r in zip(middle, radius, strict=True)
            ]
            sizes = enclose.plus(sizes, *(map(abs, d) for d in directions))
            logits = enclose.plus(middle, constant)
            stored = self.storage.stored(logits, sizes)
            radius = [r + a - b for r, a, b in zip(radius, stored, sizes, strict=True)]
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
