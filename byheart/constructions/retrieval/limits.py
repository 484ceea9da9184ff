"""Limits on stored numbers and hash, short or doubles: plans that keep to them, and the search."""

import math
import random
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...exact.network import Input, Network, dyadic
from ...machine.watch import SILENT, Watch
from ..base import Built, input_of, labels_of, words_of
from . import tables
from .bounded import DigitLayout, DigitPlan, blocks, cost, guard
from .build import build as build_unlimited
from .build import size
from .hashing import Hash
from .network import Settings, assemble, constant
from .plan import SPARSE, Layout, Plan, Storage, expected_load, hash_bits, loads, needed, required
from .problem import Problem, Task, prepare
from .search import Limits, Needs, effort_for, search
from .solve import Terms, Words

ROWS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48)
GATES = 30
SPARE = (3, 2, 1, 0)  # folds before the digits, as many as the limits leave room for
BLOCK = 1 << 16  # contexts whose sums are computed at once
FEW = 4000  # contexts of a problem that is cheap to solve again
MOST_BITS = 1 << 13  # no coordinate of a double needs more


def best_of(
    plan: Plan, hashes: NDArray, words: Words, tries: int, rng: random.Random
) -> tuple[Layout, int]:
    """The best layout of some random orders, and the numbers that it needs."""
    order = list(plan.parts[1])
    best, least, (lengths, window, _) = plan.layout(order), 1 << 62, words
    for _ in range(tries if plan.columns > 1 else 1):
        layout = plan.layout(order)
        counts = loads(layout.column_of(hashes), lengths, plan.columns, window)
        load = max(required(counts), int(counts[-1]) + SPARSE)
        if load < least:
            best, least = layout, load
        rng.shuffle(order)
    return best, least


class Limited(Limits):
    """Limits on the length of parameters or sums."""

    clean: bool  # whether gates must be 0 or 1
    hash_bits: int  # of H, and of the thresholds of its folds, at most
    balance = staticmethod(best_of)

    @abstractmethod
    def holds(self, plan: DigitPlan, task: Task, digits: int | None = None) -> bool:
        """Whether the stored numbers and their sums, below 2**digits, stay within the limits."""

    def accepts(self, network: Network) -> bool:
        """Whether the finished network keeps to the limits, as far as its weights tell."""
        return True

    def hash_scale(self, hashed: Hash, grain: int) -> int:
        """The hash is multiplied by 2**-scale."""
        return 0

    def scale(self, plan: DigitPlan, window: int, digits: int) -> int:
        """Stored numbers are multiplied by 2**-scale."""
        return 0

    def plans(self, task: Task, objective: str, needs: Needs) -> tuple[DigitPlan, ...]:
        sizes = needs.spare, needs.slack, needs.hash_bits, needs.guard
        return candidates(task, self, objective, *sizes)

    def store(
        self, problem: Problem, hashed: Hash, layout: DigitLayout, terms: Terms, numbers: list[int]
    ) -> Storage | None:
        plan, task = layout.plan, problem.task
        values, starts, largest = np.array(numbers, object), terms.starts, 0
        for a in range(0, len(starts) - 1, BLOCK):
            part = starts[a : a + BLOCK + 1]
            sums = np.add.reduceat(values[terms.units[part[0] : part[-1]]], part[:-1] - part[0])
            largest = max(largest, int(sums.max()))
        digits = max(plan.columns + task.window - 1, largest.bit_length())
        if not self.holds(plan, task, digits):
            return None
        unit = Fraction(1, 1 << self.scale(plan, task.window, digits))
        hash_unit = Fraction(1, 1 << self.hash_scale(hashed, problem.grain))
        return Storage(layout, numbers, digits, task.window, unit, hash_unit)


def spread(task: Task) -> int:
    """How many bits the decoder's result is longer than its argument."""
    return max(0, task.label_digits - min(task.code.lengths))


@dataclass(frozen=True)
class Short(Limited):
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

    def holds(self, plan: DigitPlan, task: Task, digits: int | None = None) -> bool:
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

    def scale(self, plan: DigitPlan, window: int, digits: int) -> int:
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
class Double(Limited):
    """In every weighted sum, the terms' absolute values add up to at most 2**53 units.

    A unit is the largest power of two that divides all terms.
    """

    clean = True
    hash_bits = 46  # a counter's terms are up to 2 * 16 * H, and two of them
    token_bits = 51

    def holds(self, plan: DigitPlan, task: Task, digits: int | None = None) -> bool:
        """Stored numbers are integers, and sums of them are odd multiples of 1/4.

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


@lru_cache(maxsize=4)
def candidates(
    task: Task,
    limits: Limited,
    objective: str,
    spare: float,
    slack: int,
    extra_bits: int,
    extra_guard: int,
) -> tuple[DigitPlan, ...]:
    """All plans within the limits that store enough, cheapest first."""
    if hash_bits(task) > limits.hash_bits:
        return ()
    # digits whose bases are not powers of two do not fill the last bit
    bits = min(hash_bits(task) + extra_bits, limits.hash_bits - 0.6)
    # columns around the best balance, 3 columns = numbers, or what the limits allow; beyond 64 not
    # every count is tried
    best = math.sqrt(task.equations / 3)
    counts, columns = [], 1
    while columns <= 3 * best + 4 and limits.holds(DigitPlan(columns, clean=limits.clean), task):
        counts.append(columns)
        columns += 1 + columns // 64
    plans = []
    for columns in counts:
        if columns < min(best / 4, counts[-1] / 2):
            continue
        for bare in _plans(task, columns, needed(task, columns, spare, slack), bits):
            with_spare = (replace(bare, clean=limits.clean, spare=folds) for folds in SPARE)
            fit = (p for p in with_spare if (p.top_value - 1).bit_length() <= limits.hash_bits)
            plan = next(fit, None)
            if plan is not None:
                digits = columns + task.window - 1 + guard(plan) + extra_guard
                plans += [plan] if limits.holds(plan, task, digits) else []
    return tuple(sorted(plans, key=lambda p: (cost(p, task).of(objective), -p.columns)))


def _plans(task: Task, columns: int, numbers: int, bits: float) -> Iterator[DigitPlan]:
    """Two equal tables in every lane, or none, and gates until H is long enough."""
    mean, _ = expected_load(task, columns)
    for rows in [(), *((count, count) for count in ROWS)]:
        cells = 1 + sum(rows) - len(rows)
        fewest = max(0, math.ceil(bits - math.log2(columns * math.prod(rows))))
        least = math.ceil(numbers / cells)
        fewest = max(fewest, math.ceil((math.sqrt(8 * least - 7) - 1) / 2))
        for gates in range(fewest, min(fewest + 3, GATES)):
            most = 1 + gates + gates * (gates - 1) // 2
            for lanes in range(max(gates + 1, least), most + 1):
                plan = DigitPlan(columns, rows, lanes, gates)
                if plan.unknowns - unread(plan, mean) >= numbers:
                    yield plan
                    break


def unread(plan: DigitPlan, mean: float) -> float:
    """About how many stored numbers no context reads, of the `mean` ones at a bit position.

    A lane with i gates is on for one context in 2**i; a row is read by an equal share. At random,
    a number with m expected readers has none with probability e**-m; at the worst position there
    are some standard deviations more of them.
    """
    lost = 0.0
    pairs = plan.lanes - 1 - plan.gates
    for lanes, gates in ((1, 0), (plan.gates, 1), (pairs, 2)):
        on = mean / (1 << gates)
        cells = sum((rows - 1) * math.exp(-on / rows) for rows in plan.tables)
        lost += lanes * (math.exp(-on) + cells)
    return lost + 2 * math.sqrt(lost)


@dataclass(frozen=True, eq=False)
class Case:
    """A dataset made ready to be searched for under several limits."""

    dataset: Dataset
    contexts: Contexts
    spec: Input
    order: tuple[int, ...]
    problem: Problem | None  # None if there is only one label

    def build(self, limits: Limited, options: Settings, watch: Watch) -> Built | None:
        claim, words = labels_of(self.dataset, self.order), words_of(self.dataset)
        if self.problem is None:
            network = constant(self.spec, "uniform", False, self.dataset)
            return Built(network, claim, words, 0)
        found = search(self.problem, limits, options.minimise, options.seed, watch)
        if found is None:
            return None
        layers = list(blocks(found.storage, self.problem.task.code))
        problem, unit = self.problem, found.storage.hash_unit
        network = assemble(self.spec, False, "uniform", problem, found.hashed, unit, layers, "O")
        if not limits.accepts(network):
            return None
        return Built(network, claim, words, found.tries, found.notes)

    def alternatives(self, options: Settings, watch: Watch, bits: int) -> list[Built]:
        """The networks of hash-fold-retrieve, if their longest parameters are likely to fit.

        Their hash stands above the stored sums, and they are shifted by up to their own length.
        """
        if self.problem is None:
            return []
        found, task = [], self.problem.task
        effort = effort_for(task.contexts)
        for objective in dict.fromkeys([options.minimise, "nonzero"]):
            for plan in tables.candidates(task, objective, effort.spare, effort.slack, 0)[:1]:
                digits = plan.columns + task.window - 1 + tables.guard(plan, task.contexts)
                hashed = (plan.top_value - 1).bit_length() + digits
                if max(digits + plan.columns, hashed) <= bits + 2:
                    chosen = replace(options, minimise=objective), watch, self.spec.length
                    given = self.dataset, self.contexts, *chosen
                    found.append(build_unlimited(*given, tables_only=True))
        return found

    def least_bits(self, options: Settings, bits: int = 1) -> int:
        """The smallest limit, from `bits` up, for which the search finds a network."""
        for limit in range(bits, MOST_BITS):
            if self.build(Short(limit), options, SILENT) is not None:
                return limit
        raise AssumptionError(f"this construction needs more than {MOST_BITS} bits for this data.")


def case(dataset: Dataset, contexts: Contexts, spec: Input) -> Case:
    return Case(dataset, contexts, spec, *prepare(dataset, contexts, spec))


def build(
    dataset: Dataset, contexts: Contexts, options: Settings, watch: Watch, bits: int
) -> Built:
    """A network whose parameters have at most `bits` bits; AssumptionError if there is none."""
    prepared = case(dataset, contexts, input_of(dataset, bool(options.positions)))
    # for a small problem also limits below: the first success need not be the best
    small = prepared.problem is not None and prepared.problem.task.contexts <= FEW
    limits = [bits, bits * 3 // 4, bits // 2] if small else [bits]
    found = [prepared.build(Short(limit), options, watch) for limit in limits]
    if found[0] is None:
        least = prepared.least_bits(options, bits + 1)
        raise AssumptionError(
            f"A3 fails: parameters of {bits} bits are too short for this data; "
            f"with `seed={options.seed}` this construction needs at least {least} bits.",
            smallest=least,
        )
    found += prepared.alternatives(options, watch, bits)
    short = [x for x in found if x is not None and x.network.counts()[1]["largest"] <= bits]
    return min(short, key=lambda x: size(x, options.minimise))
