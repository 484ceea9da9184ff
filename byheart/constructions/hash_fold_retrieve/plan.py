"""Candidate plans in order of cost."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from ..retrieval.plan import hash_bits, needed
from ..retrieval.problem import Task
from .cost import cost
from .layout import FoldPlan

MAX_FOLDS = 58  # H and its sums stay in 64 bits
ROWS = (2, 3, 4, 6, 8, 12, 16, 24, 32)


def candidates(
    task: Task, objective: str, spare: float, slack: int, extra_bits: int
) -> list[FoldPlan]:
    """All plans of the family that store enough, cheapest first."""
    plans: list[FoldPlan] = []
    bits = hash_bits(task) + extra_bits
    # near the best balance of columns and numbers, 3 * columns = numbers = equations / columns
    best = math.sqrt(task.equations / 3)
    sizes = sorted({1, *(m << a for a in range(20) for m in (2, 3))})
    for columns in (size for size in sizes if best / 5 <= size <= 4 * best + 4):
        numbers = needed(task, columns, spare, slack)
        plain = list(_plain_plans(task, columns, numbers, bits))
        plans += plain
        if objective == "dense":
            plans += [replace(plan, narrow=True) for plan in plain]
            plans += _narrow_plans(task, columns, numbers, bits)
        else:
            plans += _table_plans(task, columns, numbers, bits)
    return sorted(plans, key=lambda p: (cost(p, task).of(objective), p.columns))


def _plain_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """No tables: every number in a fold."""
    spelled = len(FoldPlan(columns).folds)
    data = max(numbers - 1, bits - spelled - task.marks, 0)
    if data + spelled + task.marks <= MAX_FOLDS:
        low = min(data, 3)
        yield FoldPlan(columns, top=data - low, low=low, marks=task.marks)


def _table_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """Two tables in every lane.

    A few data folds take the ends of H, which are less random than its middle: sums crowd around
    their mean, and only after some folds is a third of the range as likely as another, as a ternary
    digit needs.
    """
    for first in ROWS:
        for second in (first, 2 * first if first & (first - 1) == 0 else first * 4 // 3):
            for gates in range(1, 17):
                plan = FoldPlan(columns, (first, second), gates + 1, gates, marks=task.marks)
                used = len(plan.folds)
                ternary = any(size % 3 == 0 for size in (columns, first, second))
                fewest = 4 if ternary else 1 if task.contexts <= 4000 else 3
                data = max(fewest, bits - used)
                cells = first + second - 2 + 1
                lanes = math.ceil((numbers - 1 - data - gates + (gates + 1)) / cells)
                most = 1 + gates + gates * (gates - 1) // 2
                if gates + 1 <= lanes <= most and used + data <= MAX_FOLDS:
                    low = min(data // 2, data - 4) if ternary else data // 2
                    yield replace(plan, lanes=lanes, top=data - low, low=low)


def _narrow_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """One lane, four or five tables read one after another.

    Exclusive rows need more tables to be independent.
    """
    sizes = [s for a in range(2, 13) for s in (1 << a, 3 << (a - 1))]
    pairs = [(s, t) for s in sizes for t in (s, s * 4 // 3 if s % 3 == 0 else s * 3 // 2)]
    for count, (size, second) in product((4, 5), pairs):
        for split in range(count + 1):
            rows = (second,) * split + (size,) * (count - split)
            if not numbers * 0.9 <= sum(rows) <= numbers * 2:
                continue
            plan = FoldPlan(columns, rows, marks=task.marks, narrow=True)
            used = len(plan.folds)
            data = max(10, bits - used)
            if 1 + data + sum(rows) - count >= numbers and used + data <= MAX_FOLDS:
                yield replace(plan, top=2, low=data - 2)
