"""Feed-forward blocks h + W2 relu(W1 h + b1) + b2, written with named lanes.

Each gadget's docstring is its proof.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ..exact.network import FeedForward, Number, matrix, vector

Unit = tuple[Mapping[str, Number], Number]  # a hidden unit: relu(sum of weight * lane + bias)
Write = tuple[str, int, Number]  # lane += weight * unit


@dataclass(frozen=True)
class Block:
    """One block before its lanes have numbers."""

    stage: str
    units: Sequence[Unit] = ()
    writes: Sequence[Write] = ()
    constants: Mapping[str, Number] = field(default_factory=dict)

    def lanes(self) -> list[str]:
        names = [lane for weights, _ in self.units for lane in weights]
        return names + [lane for lane, _, _ in self.writes] + list(self.constants)


def feed_forward(block: Block, lanes: Mapping[str, int]) -> FeedForward:
    """The block as a layer, lanes numbered."""
    hidden, width = len(block.units), len(lanes)
    w1 = {(i, lanes[k]): w for i, (terms, _) in enumerate(block.units) for k, w in terms.items()}
    w2: dict[tuple[int, int], Number] = {}
    for lane, unit, weight in block.writes:
        w2[lanes[lane], unit] = w2.get((lanes[lane], unit), 0) + weight
    b1 = vector({i: bias for i, (_, bias) in enumerate(block.units)}, hidden)
    b2 = vector({lanes[lane]: value for lane, value in block.constants.items()}, width)
    return FeedForward(matrix(hidden, width, w1), b1, matrix(width, hidden, w2), b2, block.stage)


def feed_forwards(blocks: Iterable[Block], lanes: Sequence[str]) -> tuple[FeedForward, ...]:
    """The blocks as layers; one that comes again is the same layer, so deep networks stay small."""
    places = {lane: i for i, lane in enumerate(lanes)}
    seen: dict[int, tuple[Block, FeedForward]] = {}
    layers = []
    for block in blocks:
        if id(block) not in seen:
            seen[id(block)] = block, feed_forward(block, places)
        layers.append(seen[id(block)][1])
    return tuple(layers)


def fold(
    stage: str, lane: str, threshold: Number, slope: int = 2, extra: Sequence[Write] = ()
) -> Block:
    """lane <- lane - slope * relu(lane - threshold).

    Values above the threshold are reflected below it. With slope 2 this is
    lane <- threshold - |lane - threshold|. Three parameters.
    """
    return Block(stage, [({lane: 1}, -threshold)], [(lane, 0, -slope), *extra])


def fold_and_count(
    stage: str, lane: str, threshold: Number, gap: Number, counter: str, weight: int
) -> Block:
    """A fold that also adds `weight` to the counter if it fires.

    For a lane never in (threshold, threshold + gap): relu(x) - relu(x - gap) is 0 for x <= 0 and
    gap for x >= gap; here x = lane - threshold. Seven parameters.
    """
    step = Fraction(weight) / gap
    return Block(
        stage,
        [({lane: 1}, -threshold), ({lane: 1}, -threshold - gap)],
        [(lane, 0, -2), (counter, 0, step), (counter, 1, -step)],
    )


def select(
    stage: str,
    index: str,
    tables: Mapping[str, Sequence[int]],
    constants: Mapping[str, Number],
    reset: bool,
) -> Block:
    """lane <- lane + tables[lane][index] for every lane at once, 0 <= index < rows a whole number.

    f(j) = f(0) + sum over i of c_i relu(j - i), with c_i the second differences of f
    (c_0 = f(1) - f(0)): between whole numbers f is the broken line through its values. f(0) is 0
    here. Two parameters per row and one per row and lane.
    With reset the index returns to 0: relu(index) = index.
    """
    rows = len(next(iter(tables.values())))
    writes = []
    for lane, values in tables.items():
        assert values[0] == 0
        triples = zip([0, *values], values, values[1:], strict=False)  # f(-1) = 0 makes c_0 = f(1)
        bends = (after - 2 * here + before for before, here, after in triples)
        writes += [(lane, i, bend) for i, bend in enumerate(bends) if bend]
    if reset:
        writes.append((index, 0, -1))
    return Block(stage, [({index: 1}, -i) for i in range(rows - 1)], writes, constants)


def read_digits(
    stage: str, lane: str, count: int, one: Number, output: str, centred: bool
) -> Iterator[Block]:
    """output += digit_order(count)[x // one], for a lane that holds x with 0 < x < one * count.

    x is at least 1/2 away from multiples of `one`. Of n numbers the upper floor(n / 2) have digit
    1: the threshold is one * ceil(n / 2). With y = 2 (x - threshold), relu(y) - relu(y - 1) is 0
    for y < 0 and 1 for y >= 1. Then the lane is folded at the threshold: the upper numbers come
    to lie on the lower ones, in reverse order. Seven parameters per digit, six for the last.

    centred   the lane holds x - threshold, and c - |x - threshold| moves the next threshold to 0:
              five for the last
    """
    while count > 1:
        half = (count + 1) // 2
        writes: list[Write] = [(output, 0, count // 2), (output, 1, -(count // 2))]
        threshold = 0 if centred else half * one
        constants = {}
        if half > 1:
            writes.append((lane, 0, -1))
            if centred:
                constants[lane] = half // 2 * one
        units: list[Unit] = [({lane: 2}, -2 * threshold - place) for place in range(2)]
        yield Block(stage, units, writes, constants)
        count = half


def digit_order(count: int) -> list[int]:
    """The number that `read_digits` gives for 0, 1, ..., count - 1: a permutation; 0 gives 0.

    With h = ceil(count / 2) and R the order of h: R(r) below h, floor(count / 2) + R(2h - 1 - r)
    from h on. For an even count these are R's numbers, then h more than R's. For an odd one
    2h - 1 - r runs down to 1 only, and R(0) = 0 is left out: the numbers from h on again.
    """
    if count == 1:
        return [0]
    half = (count + 1) // 2
    lower = digit_order(half)
    return lower + [count // 2 + lower[2 * half - 1 - r] for r in range(half, count)]
