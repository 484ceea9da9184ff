"""What the stored numbers and the hash may be: short in plain binary notation, or doubles."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from ...exact.network import Network, dyadic
from ..hash_fold_retrieve.cost import Task
from ..hash_fold_retrieve.hashing import Hash
from .cost import guard, label_digits
from .layout import Plan


class Limits(ABC):
    """What a network must keep to.

    clean       whether gates must be 0 or 1
    hash_bits   of H, and of the thresholds of its folds, at most
    token_bits  of the thresholds of the token folds, at most
    """

    clean: bool
    hash_bits: int
    token_bits: int

    @abstractmethod
    def holds(self, plan: Plan, task: Task, digits: int | None = None) -> bool:
        """Whether the stored numbers and their sums, below 2**digits, stay within the limits."""

    @abstractmethod
    def holds_hash(self, hashed: Hash, grain: int) -> bool:
        """Whether E_in and the token folds stay within the limits."""

    def accepts(self, network: Network) -> bool:
        """Whether the finished network keeps to the limits, as far as its weights tell."""
        return True

    def hash_scale(self, hashed: Hash, grain: int) -> int:
        """The hash is multiplied by 2**-scale."""
        return 0

    def scale(self, plan: Plan, window: int, digits: int) -> int:
        """Stored numbers are multiplied by 2**-scale."""
        return 0


def spread(task: Task) -> int:
    """How many bits the decoder's result is longer than its argument."""
    shortest = min(task.code.lengths)
    return max(0, label_digits(task) - shortest)


@dataclass(frozen=True)
class Short(Limits):
    """Every parameter has at most `bits` bits in plain binary notation."""

    bits: int

    clean = False

    @property
    def hash_bits(self) -> int:  # type: ignore[override]
        return min(self.bits, 58)  # H and its sums stay in 64 bits

    @property
    def token_bits(self) -> int:  # type: ignore[override]
        return self.bits

    def accepts(self, network: Network) -> bool:
        return network.counts()[1]["largest"] <= self.bits

    def holds(self, plan: Plan, task: Task, digits: int | None = None) -> bool:
        """A second difference of numbers of K bits has K + 1, as has the reader's threshold.

        Strips begin at 2**(K + largest shift - 1): the scale moves the binary point so that half of
        the powers of two are below it. The reader multiplies by 4 * 2**scale.
        """
        positions = plan.columns + task.window - 1
        digits = positions + guard(plan) if digits is None else digits
        return (
            positions + 1 + spread(task) <= self.bits
            and self.scale(plan, task.window, digits) + 3 <= self.bits
            and task.total.bit_length() <= self.bits
            and (max(plan.tables, default=1) - 1).bit_length() + 2 <= self.bits
        )

    def scale(self, plan: Plan, window: int, digits: int) -> int:
        positions = plan.columns + window - 1
        # the largest shift, and the gates that outweigh the lanes
        return max(0, positions + plan.columns // 2 + 1 - self.bits, digits + 6 - self.bits)

    def holds_hash(self, hashed: Hash, grain: int) -> bool:
        scale = self.hash_scale(hashed, grain)
        numbers = [w * grain for w in hashed.weights] + [hashed.bias, hashed.offset]
        numbers += [hashed.bias - hashed.offset]
        numbers += [*hashed.token_thresholds, *hashed.mix_thresholds]
        longest = max(dyadic(Fraction(x, 1 << scale)).fixed_bits for x in numbers)
        return max(longest, scale + 8) <= self.bits

    def hash_scale(self, hashed: Hash, grain: int) -> int:
        """Fractions are read with long weights: move the binary point until they are short."""
        longest = max(dyadic(w * grain).fixed_bits for w in hashed.weights)
        return max(0, longest - self.bits)


@dataclass(frozen=True)
class Double(Limits):
    """In every weighted sum, the terms' absolute values add up to at most 2**53 units.

    A unit is the largest power of two that divides all terms.
    """

    clean = True
    hash_bits = 46  # a counter's terms are up to 2 * 16 * H, and two of them
    token_bits = 51

    def holds(self, plan: Plan, task: Task, digits: int | None = None) -> bool:
        """Stored numbers are whole, and sums of them are odd multiples of 1/4.

        A table of q rows: |c_i| < 2**(K + 1), so the terms c_i (j - i) add up to less than
        2**K q (q - 1); the lane holds less than 3 * 2**K. A strip: v < 2**digits and
        2 (v - 2**(digits - 1)) < 2**digits. The decoder's result is longer by its spread.
        """
        positions = plan.columns + task.window - 1
        digits = positions + guard(plan) if digits is None else digits
        rows = max(plan.tables, default=1)
        return (
            (rows * (rows - 1) + 3) << positions <= 1 << 53
            and digits + 3 <= 53
            and positions + spread(task) + 4 <= 53
        )

    def holds_hash(self, hashed: Hash, grain: int) -> bool:
        """A token fold: v < 3t/2 and 3 (v - t) < 3t/2. E_in: the proof looks at the data."""
        largest = max(hashed.token_thresholds + hashed.mix_thresholds, default=0)
        return 3 * largest <= 1 << 53
