"""The cost of a plan, before anything is built: counts in closed form.

They are exact up to what only the data decides (`digits`, the length of the longest stored sum, and
stored numbers that happen to be 0); a test compares them with built networks.
"""

import math

from ..retrieval.plan import Cost, Stage, cost_of
from ..retrieval.problem import Task
from .layout import DigitPlan


def guard(plan: DigitPlan) -> int:
    """An estimate of the bits of a stored sum above its positions.

    It follows from how many numbers a context adds up at most, about half of them large.
    """
    half = sum(0.75 ** mask.bit_count() for mask in plan.masks)
    return math.ceil(math.log2(1 + 0.5 * half * (1 + len(plan.tables))))


def cost(plan: DigitPlan, task: Task, digits: int | None = None, offset: bool = False) -> Cost:
    """Counts of the network.

    digits  defaults to an estimate
    offset  whether the sums of tokens are moved towards 0 (Hash.offset)
    """
    positions = plan.columns + task.window - 1
    digits = positions + guard(plan) if digits is None else digits
    rows, gates, columns = (plan.folds(role) for role in ("row", "gate", "column"))
    # hash, rows, lanes, gates, output, and with clean gates a lane for every gate and bit
    width = 1 + len(plan.tables) + plan.lanes + columns + 1 + max(0, task.label_digits - 1)
    width += plan.gates + columns if plan.clean else 0
    plain = plan.token_folds + plan.mix_folds + plan.spare
    strip = digits - positions + plan.columns
    others = plan.lanes - 1
    sums = len({mask & -mask for mask in plan.masks[1:]})
    # a clean gate counts (seven parameters); one that is not is a fold that also writes
    counting = rows + gates + columns if plan.clean else rows
    kinks, bits = len(task.code.kinks) - 1, task.label_digits
    stages: list[Stage] = [
        (3 * plain, plain, plain),
        (7 * counting, counting, 2 * counting),
        (7 * columns, 2 * columns, 2 * columns),
        *((2 * rows - 3 + plan.lanes * (rows - 1), 1, rows - 1) for rows in plan.tables),
        (plan.lanes + 1, 0, 0),  # the lanes' constants, and the quarter
        ((3 if plan.clean else 2) * others, sums, others),
        (3 * strip, strip, strip),
        (3 * kinks, int(kinks > 0), kinks),
        (9 * bits - 3, 2 * bits - 1, 3 * bits - 1),
    ]
    if not plan.clean:
        stages.append((3 * gates + others, gates, gates))
    return cost_of(task, stages, width, offset, plan.unknowns, plan.columns)
