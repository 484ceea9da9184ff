"""What a plan costs, before anything is built: counts in closed form.

They are exact up to what only the data decides (`digits`, the length of the longest stored sum, and
stored numbers that happen to be 0); a test compares them with built networks.
"""

import math

from ..hash_fold_retrieve.cost import Cost, Task
from .layout import Plan


def guard(plan: Plan) -> int:
    """An estimate of the bits of a stored sum above its positions.

    By how many numbers a context adds up at most, about half of them large.
    """
    half = sum(0.75 ** mask.bit_count() for mask in plan.masks)
    return math.ceil(math.log2(1 + 0.5 * half * (1 + len(plan.tables))))


def cost(plan: Plan, task: Task, digits: int | None = None, offset: bool = False) -> Cost:
    """Counts of the network.

    digits  defaults to an estimate
    offset  whether the sums of tokens are moved towards 0 (Hash.offset)
    """
    positions = plan.columns + task.window - 1
    digits = positions + guard(plan) if digits is None else digits
    stages = _stages(plan, task, digits - positions)
    width = _width(plan, task)
    nonzero = sum(count for count, _, _ in stages) + task.embed + offset + 4
    dense = sum(blocks * width + hidden * (2 * width + 1) for _, blocks, hidden in stages)
    dense += 2 * width + width * (task.inputs + 1) + width + 1
    bits = plan.unknowns * (positions + 3) + 9 * (nonzero - plan.unknowns)
    return Cost(nonzero, dense, bits)


def _width(plan: Plan, task: Task) -> int:
    """Hash, rows, lanes, gates, output, and with clean gates a lane for every gate and bit."""
    columns = plan.folds("column")
    width = 1 + len(plan.tables) + plan.lanes + columns + 1
    return width + max(0, label_digits(task) - 1) + (plan.gates + columns if plan.clean else 0)


def label_digits(task: Task) -> int:
    return (len(task.code.lengths) - 1).bit_length()


def _stages(plan: Plan, task: Task, guarded: int) -> list[tuple[int, int, int]]:
    """(nonzero parameters, blocks, hidden units) of each stage."""
    plain = plan.token_folds + plan.mix_folds + plan.spare
    strip = guarded + plan.columns
    others = plan.lanes - 1
    sums = len({mask & -mask for mask in plan.masks[1:]})
    return [
        (3 * plain, plain, plain),
        *_digits(plan),
        *((2 * rows - 3 + plan.lanes * (rows - 1), 1, rows - 1) for rows in plan.tables),
        (plan.lanes, 0, 0),  # the lanes' constants
        ((3 if plan.clean else 2) * others, sums, others),
        (3 * strip, strip, strip),
        *_reader(task),
    ]


def _digits(plan: Plan) -> list[tuple[int, int, int]]:
    """The folds of rows, gates and columns, and the shifts.

    A clean gate counts (seven parameters); one that is not is a fold that also writes.
    """
    rows, gates, columns = (plan.folds(role) for role in ("row", "gate", "column"))
    if plan.clean:
        counting = rows + gates + columns
        return [(7 * counting, counting, 2 * counting), (7 * columns, 2 * columns, 2 * columns)]
    return [
        (7 * rows, rows, 2 * rows),
        (3 * gates + plan.lanes - 1, gates, gates),
        (7 * columns, 2 * columns, 2 * columns),
    ]


def _reader(task: Task) -> list[tuple[int, int, int]]:
    kinks, digits = len(task.code.kinks) - 1, label_digits(task)
    return [
        (3 * kinks, int(kinks > 0), kinks),
        (9 * digits - 3, 2 * digits - 1, 3 * digits - 1),
    ]
