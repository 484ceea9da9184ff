"""Reading the bits of a long number in turn, and the search for a key in it.

kajitsuka2025, Lemmas G.4 (bits), G.5 (comparison) and G.6 (search), repaired: the state between
items is x, two lanes for each number and a sixth one for the answer; keys take rho bits of one
number and labels c bits of the other (eq. (153) mixes the two up); an item takes 3 max(rho, c) + 3
layers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..exact.network import Dyadic
from .relu_layers import ONE, Row, Step, carry, power, row


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
    where relu cuts the negative case off. Three layers per bit: kinks, tents, difference.
    Bits are gathered as A <- 2A + bit, so no weight is above 2^(n+2); the paper's sum of
    2^(j-t) bit_t would need 2^(n+2) * 2^(j-i).
    """

    name: str
    items: int
    width: int

    def lane(self, part: str) -> str:
        return f"{self.name} {part}"

    @property
    def fractions(self) -> tuple[str, str]:
        """The lanes of psi^t(z) and psi^t(y)."""
        return self.lane("z"), self.lane("y")

    def start(self) -> tuple[Row, ...]:
        """z and y."""
        n = self.items * self.width
        z, y = self.fractions
        return (
            row(z, {self.name: power(-n)}, power(-n - 1)),  # eq. (161)
            row(y, {self.name: power(-n)}, power(-n - 2)),
        )

    def kinks(self, step: int) -> tuple[Row, ...]:
        """relu(2z) and relu(4z - 2), and for y; all bits read: z and y as they are."""
        if step >= self.width:
            return carry(*self.fractions)
        return tuple(
            row(f"{lane}{kink}", {lane: slope}, bias)
            for lane in self.fractions
            for kink, slope, bias in (("1", 2, 0), ("2", 4, -2))
        )

    def tents(self, step: int) -> tuple[Row, ...]:
        """psi of z and of y."""
        if step >= self.width:
            return carry(*self.fractions)
        return tuple(row(lane, {f"{lane}1": 1, f"{lane}2": -1}) for lane in self.fractions)

    def difference(self, step: int) -> tuple[Row, ...]:
        """The next bit, up to a power of two."""
        if step >= self.width:
            return ()
        z, y = self.fractions
        return (row(self.lane("bit"), {y: 1, z: -1}),)

    def gathered(self, item: int, step: int, factor: int = 1) -> dict[str, Dyadic]:
        """factor * the number whose bits are the first `step` ones of the item, as a linear form.

        The last bit is still in its own lane.
        """
        if step == 0:
            return {}
        sign = 1 if factor > 0 else -1
        double = abs(factor).bit_length() - 1  # factor is a power of two
        if step > self.width:
            return {self.lane("sum"): power(double, sign)}
        read = item * self.width + step
        scale = self.items * self.width + 2 - read
        last = {self.lane("bit"): power(scale + double, sign)}
        return {self.lane("sum"): power(double + 1, sign), **last} if step > 1 else last


def search(
    lane: str, keys: Tape, labels: Tape, carried: Sequence[str], end: Sequence[Row]
) -> Iterator[Step]:
    """Lemma G.6: the label of the item whose key is floor(x), x in `lane`; 0 if there is none.

    There is none if |x - 1/2 - key| > 1 for all keys. The last layer's rows are `end`, in which
    "found" and "match" together are the answer (eq. (162)); at most one item matches.
    """
    assert keys.items == labels.items
    steps, sums = max(keys.width, labels.width), (keys.lane("sum"), labels.lane("sum"))
    yield Step("read", carry(*carried, lane) + keys.start() + labels.start() + (row("found"),))
    for item in range(keys.items):
        for step in range(steps):  # key and label bit by bit, side by side, eq. (155), (156)
            new = item > 0 and step == 0  # the item before may have matched
            gathered = keys.gathered(item, step), labels.gathered(item, step)
            yield Step(
                "read",
                carry(*carried, lane)
                + (answer("found") if new else carry("found")[0],)
                + keys.kinks(step)
                + labels.kinks(step)
                + (row(sums[0], gathered[0]), row(sums[1], gathered[1])),
            )
            held = carry(*carried, lane, "found", *sums)
            yield Step("read", held + keys.tents(step) + labels.tents(step))
            held += carry(*keys.fractions, *labels.fractions)
            yield Step("read", held + keys.difference(step) + labels.difference(step))
        yield from _compare(lane, keys, labels, item, carried)
    yield Step("read", tuple(end))


def answer(output: str, *added: str) -> Row:
    """output <- the answer (plus the lanes `added`): G of eq. (160), which outputs lane six."""
    return row(output, dict.fromkeys((*added, "found", "match"), 1))


def _compare(
    lane: str, keys: Tape, labels: Tape, item: int, carried: Sequence[str]
) -> Iterator[Step]:
    """match <- the label if x is in [key, key + 1], 0 if x > key + 3/2 or x < key - 1/2.

    Lemma G.5, as in Lemma G.2: relu(1 - relu(2 key - 2x)) + relu(1 - relu(2x - 2 key - 2)) - 1 is 1
    or 0. The gate, eq. (158), is relu(2^(c+1) (indicator - 1) + label): label < 2^(c+1) is cut off
    if the indicator is 0.
    """
    steps = max(keys.width, labels.width)
    c, label = labels.width, labels.lane("sum")
    held = carry(*carried, lane, "found", *keys.fractions, *labels.fractions)
    yield Step(
        "compare",
        held
        + (
            row(label, labels.gathered(item, steps)),
            row("below", {**keys.gathered(item, steps, 2), lane: power(1, -1)}),
            row("above", {**keys.gathered(item, steps, -2), lane: power(1)}, -2),
        ),
    )
    sides = (row("not below", {"below": -1}, 1), row("not above", {"above": -1}, 1))
    yield Step("compare", held + carry(label) + sides)
    gate = {"not below": power(c + 1), "not above": power(c + 1), label: ONE}
    yield Step(
        "compare",
        held + (row("match", gate, power(c + 2, -1)),),  # eq. (158)
    )
