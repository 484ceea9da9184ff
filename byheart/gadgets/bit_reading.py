"""Reading the bits of a long number in turn, and the search for a key in it, as blocks of eq. (3).

kajitsuka2025, Lemmas G.4 (bits), G.5 (comparison) and G.6 (search), repaired: keys take rho bits of
one number and labels c bits of the other (eq. (153) mixes the two up). The paper's layers have no
skip connections; ours do. A lane that stays as it is costs nothing, and one that is overwritten is
subtracted: x - relu(x) is 0 for x >= 0. Where the paper's last relu of a lemma acts on a number
that is not negative, no unit is needed for it. An item takes 2 max(rho, c) + 3 blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from .blocks import Block, Unit, Write


@dataclass(frozen=True)
class Tape:
    """A number of items * width bits, read from its most significant bit on (Lemma G.4).

    The number x is in the lane `name`, 0 <= x < 2^n, n = items * width. Let z = x/2^n + 2^-(n+1)
    and y = x/2^n + 2^-(n+2): y < z, and both lie inside the interval of length 2^-n that starts at
    x/2^n. psi(z) = relu(2z) - relu(4z - 2) is the tent map; psi^t is a zigzag with slope 2^t on
    intervals of length 2^-t, rising on those with an even number and falling on the odd ones. The
    number's last bit is bit t of x, and y and z are inside one such interval for t <= n. So
        psi^t(y) - psi^t(z) = -2^t (z - y) if bit t of x is 0, and 2^t (z - y) if it is 1,
        bit t of x = 2^(n+2-t) relu(psi^t(y) - psi^t(z)),
    where relu cuts the negative case off. Two blocks per bit: tents, and the bit. psi(z) is
    z + relu(z) - relu(4z - 2), as z >= 0.
    Bits are gathered as A <- 2A + bit, so no weight is above 2^(n+2); the paper's sum of
    2^(j-t) bit_t would need 2^(n+2) * 2^(j-i).
    """

    name: str
    items: int
    width: int

    @property
    def lanes(self) -> tuple[str, str, str]:
        """The number, later z; y; the bits that were gathered."""
        return self.name, f"{self.name} y", f"{self.name} sum"

    def start(self) -> tuple[Unit, list[Write], dict[str, Fraction]]:
        """z and y, eq. (161): the unit is the number."""
        number, y, _ = self.lanes
        scale = Fraction(1, 1 << self.items * self.width)
        writes: list[Write] = [(number, 0, scale - 1), (y, 0, scale)]
        return ({number: 1}, 0), writes, {number: scale / 2, y: scale / 4}

    def tents(self) -> tuple[list[Unit], list[Write]]:
        """psi of z and of y."""
        units: list[Unit] = []
        writes: list[Write] = []
        for lane in self.lanes[:2]:
            writes += [(lane, len(units), 1), (lane, len(units) + 1, -1)]
            units += [({lane: 1}, 0), ({lane: 4}, -2)]
        return units, writes

    def gather(self, item: int, step: int) -> tuple[list[Unit], list[Write]]:
        """sum <- 2 sum + bit, for bit number `step` of the item, from 1 on; the sum begins as 0."""
        z, y, total = self.lanes
        read = item * self.width + step
        units: list[Unit] = [({y: 1, z: -1}, 0)]
        writes: list[Write] = [(total, 0, 1 << self.items * self.width + 2 - read)]
        if step > 1:
            units.append(({total: 1}, 0))
            writes.append((total, 1, 1))
        return units, writes


def together(stage: str, parts: list[tuple[list[Unit], list[Write]]]) -> Block:
    """Blocks side by side: one block with the units of all of them."""
    units: list[Unit] = []
    writes: list[Write] = []
    for more, written in parts:
        writes += [(lane, index + len(units), weight) for lane, index, weight in written]
        units += more
    return Block(stage, units, writes)


def erased(*lanes: str) -> tuple[list[Unit], list[Write]]:
    """lane <- lane - relu(lane), which is 0 for what is not negative."""
    return [({lane: 1}, 0) for lane in lanes], [(lane, i, -1) for i, lane in enumerate(lanes)]


def search(lane: str, keys: Tape, labels: Tape, output: str) -> Iterator[Block]:
    """Lemma G.6: output += the label of the item whose key is floor(x), x in `lane`.

    Nothing is added if |x - 1/2 - key| > 1 for all keys; at most one item matches. Sums, "below"
    and "above" are 0 before and afterwards; z and y are left as they are (`rewound`).
    """
    assert keys.items == labels.items
    tapes = (keys, labels)
    starts = [tape.start() for tape in tapes]
    begin = together("read", [([unit], writes) for unit, writes, _ in starts])
    yield Block("read", begin.units, begin.writes, {**starts[0][2], **starts[1][2]})
    both = together("read", [tape.tents() for tape in tapes])
    longer = together("read", [max(tapes, key=lambda tape: tape.width).tents()])
    shorter = min(keys.width, labels.width)
    compare = tuple(_compare(lane, keys, labels, output))
    for item in range(keys.items):
        for step in range(max(keys.width, labels.width)):  # eq. (155), (156)
            yield both if step < shorter else longer
            gathered = [tape.gather(item, step + 1) for tape in tapes if step < tape.width]
            yield together("read", gathered)
        yield from compare


def rewound(keys: Tape, labels: Tape) -> Block:
    """The lanes of both tapes are 0 again."""
    return together("read", [erased(*keys.lanes[:2], *labels.lanes[:2])])


def _compare(lane: str, keys: Tape, labels: Tape, output: str) -> Iterator[Block]:
    """output += the label if x is in [key, key + 1], 0 if x > key + 3/2 or x < key - 1/2.

    Lemma G.5, as in Lemma G.2: relu(1 - relu(2 key - 2x)) + relu(1 - relu(2x - 2 key - 2)) is 2 or
    1. The gate, eq. (158), is relu(2^(c+1) (that - 2) + label): label < 2^(c+1) is cut off if it
    is 1. Three blocks; the second leaves the sum in the lane "below".
    """
    key, label, c = keys.lanes[2], labels.lanes[2], labels.width
    yield Block(
        "compare",
        [({key: 2, lane: -2}, 0), ({lane: 2, key: -2}, -2)],
        [("below", 0, 1), ("above", 1, 1)],
    )
    yield sides("compare", {"below": 1})
    gate: Unit = ({"below": 1 << c + 1, label: 1}, -(1 << c + 2))  # eq. (158)
    found: tuple[list[Unit], list[Write]] = ([gate], [(output, 0, 1)])
    yield together("compare", [found, erased("below", key, label)])


def sides(stage: str, weights: dict[str, int]) -> Block:
    """lane += weight * (relu(1 - below) + relu(1 - above)) for each lane; both are 0 afterwards."""
    units: list[Unit] = [({"below": -1}, 1), ({"above": -1}, 1)]
    writes: list[Write] = [(k, i, w) for k, w in weights.items() for i in range(2)]
    return together(stage, [(units, writes), erased("below", "above")])
