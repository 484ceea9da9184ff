"""Candidate plans in order of cost."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ..hash_fold_retrieve.cost import Task
from ..hash_fold_retrieve.plan import hash_bits, load, needed
from .cost import cost, guard
from .layout import Plan
from .limits import Limits

ROWS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48)
GATES = 30
SPARE = (3, 2, 1, 0)  # folds before the digits, as many as the limits leave room for


@lru_cache(maxsize=4)
def candidates(
    task: Task,
    limits: Limits,
    objective: str,
    spare: float,
    slack: int,
    extra_bits: int,
    extra_guard: int,
) -> tuple[Plan, ...]:
    """All plans within the limits that store enough, cheapest first.

    spare, slack  see `needed`
    extra_bits    of the hash, beyond what random contexts need
    extra_guard   bits of a stored sum, beyond what is expected
    """
    if hash_bits(task) > limits.hash_bits:
        return ()
    # digits whose bases are no powers of two do not fill the last bit
    bits = min(hash_bits(task) + extra_bits, limits.hash_bits - 0.6)
    plans = [
        plan
        for columns in _column_counts(task, limits)
        for bare in _plans(task, columns, needed(task, columns, spare, slack), bits)
        for plan in _with_spare(replace(bare, clean=limits.clean), limits)
        if limits.holds(plan, task, columns + task.window - 1 + guard(plan) + extra_guard)
    ]
    return tuple(sorted(plans, key=lambda p: (cost(p, task).of(objective), -p.columns)))


def _column_counts(task: Task, limits: Limits) -> list[int]:
    """Around the best balance, 3 columns = numbers, or what the limits allow.

    Beyond 64 not every count is tried.
    """
    best = math.sqrt(task.equations / 3)
    counts, columns = [], 1
    while columns <= 3 * best + 4 and limits.holds(Plan(columns, clean=limits.clean), task):
        counts.append(columns)
        columns += 1 + columns // 64
    return [columns for columns in counts if columns >= min(best / 4, counts[-1] / 2)]


def _with_spare(plan: Plan, limits: Limits) -> Iterator[Plan]:
    """The plan with as many spare folds as fit."""
    for spare in SPARE:
        with_spare = replace(plan, spare=spare)
        if (with_spare.top_value - 1).bit_length() <= limits.hash_bits:
            yield with_spare
            return


def _plans(task: Task, columns: int, numbers: int, bits: float) -> Iterator[Plan]:
    """Two equal tables in every lane, or none, and gates until H is long enough."""
    mean, _ = load(task, columns)
    for tables in [(), *((rows, rows) for rows in ROWS)]:
        cells = 1 + sum(tables) - len(tables)
        told_apart = columns * math.prod(tables)
        fewest = max(0, math.ceil(bits - math.log2(told_apart)))
        lanes = math.ceil(numbers / cells)
        fewest = max(fewest, math.ceil((math.sqrt(8 * lanes - 7) - 1) / 2))
        for gates in range(fewest, min(fewest + 3, GATES)):
            plan = _enough(Plan(columns, tables, max(gates + 1, lanes), gates), numbers, mean)
            if plan is not None:
                yield plan


def _enough(plan: Plan, numbers: int, mean: float) -> Plan | None:
    """The plan with lanes for all numbers and for those that no context of a position reads."""
    most = 1 + plan.gates + plan.gates * (plan.gates - 1) // 2
    for lanes in range(plan.lanes, most + 1):
        plan = replace(plan, lanes=lanes)
        if plan.unknowns - unread(plan, mean) >= numbers:
            return plan
    return None


def unread(plan: Plan, mean: float) -> float:
    """About how many stored numbers no context reads, of the `mean` ones at a bit position.

    A lane with i gates is on for one context in 2**i; a row is read by an equal share. At random,
    a number with m expected readers has none with chance e**-m; at the worst position there are
    some standard deviations more of them.
    """
    lost = 0.0
    pairs = plan.lanes - 1 - plan.gates
    for lanes, gates in ((1, 0), (plan.gates, 1), (pairs, 2)):
        on = mean / (1 << gates)
        cells = sum((rows - 1) * math.exp(-on / rows) for rows in plan.tables)
        lost += lanes * (math.exp(-on) + cells)
    return lost + 2 * math.sqrt(lost)
