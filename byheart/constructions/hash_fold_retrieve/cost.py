"""The cost of a plan, before anything is built: counts in closed form, stage by stage.

The counts are exact up to what only the data decides (`digits`, the length of the longest stored
sum, and stored numbers that happen to be 0); a test compares them with built networks.
"""

import math

from ..retrieval.plan import Cost, Stage, cost_of
from ..retrieval.problem import Task
from .layout import FoldPlan


def guard(plan: FoldPlan) -> int:
    """An estimate of the bits of a stored sum above K, by how many numbers a typical sum has."""
    stored = plan.top + plan.low + plan.gates
    typical = 1 + 0.4 * plan.lanes * len(plan.tables) + 0.6 * math.sqrt(stored)
    return max(2, math.ceil(math.log2(typical)))


def cost(
    plan: FoldPlan,
    task: Task,
    unknowns: int | None = None,
    digits: int | None = None,
    offset: bool = False,
) -> Cost:
    """Counts of the network.

    unknowns  defaults to all numbers of the plan
    digits    defaults to an estimate
    offset    whether the sums of tokens are moved towards 0 (Hash.offset)
    """
    positions = plan.columns + task.window - 1
    digits = positions + guard(plan) if digits is None else digits
    numbers = plan.unknowns if unknowns is None else unknowns
    count = {role: sum(f.role == role for f in plan.folds) for role in ("row", "column", "mark")}
    if plan.narrow:
        width = 2 + (plan.columns > 1) + (plan.marks > 0)
    else:
        width = 1 + len(plan.tables) + plan.lanes - 1 + count["column"] + (plan.marks > 0) + 1
    counting = count["row"] + count["mark"] + (count["column"] if plan.narrow else 0)
    plain = len(plan.folds) - counting
    gated = count["column"] if not plan.narrow else 0
    strip = digits - task.window
    sums = len({mask & -mask for mask in plan.masks[1:]})
    shifts: Stage = (3 * gated, gated, gated)
    if plan.narrow:
        weights = [f.weight for f in plan.folds if f.role == "column"]
        shifts = sum(13 - (w == 1) for w in weights), 2 * len(weights), 4 * len(weights)
    kinks = len(task.code.kinks) - 1
    reader: list[Stage] = [(3 * kinks, int(kinks > 0), kinks)]
    if bits := task.label_digits:
        reader.append((8 * bits - 2, bits, 2 * bits))
    if task.marks:
        reader.append((19, 2, 5))
    stages: list[Stage] = [
        (3 * plan.token_folds, plan.token_folds, plan.token_folds),
        (3 * plan.mix_folds, plan.mix_folds, plan.mix_folds),
        (3 * plain + gated + plan.lanes - 1, plain, plain),
        (7 * counting, counting, 2 * counting),
        (1, 0, 0),  # the constant
        *_tables(plan, plan.unknowns - numbers),
        (2 * (plan.lanes - 1), sums, plan.lanes - 1),
        shifts,
        (3 * strip, strip, strip),
        *reader,
    ]
    whole = cost_of(task, stages, width, offset, numbers, positions)
    return Cost(whole.nonzero, whole.dense, whole.bits + 8 * (plan.top + plan.low))


def _tables(plan: FoldPlan, dropped: int) -> list[Stage]:
    """The tables and the lanes' constants.

    When the last `dropped` numbers of the last table are 0, second differences vanish; two stay at
    the edge of each lane.
    """
    stages: list[Stage] = []
    for table, rows in enumerate(plan.tables, 1):
        cells, saved = plan.lanes * (rows - 1), 0
        if table == len(plan.tables):
            lanes, rest = divmod(dropped, rows - 1)
            saved = lanes * (rows - 1) + max(0, rest - 2)
        stages.append((2 * (rows - 1) - 1 + cells - saved + plan.narrow, 1, rows - 1))
    if stages:
        stages.append((len(plan.constants), 0, 0))
    return stages
