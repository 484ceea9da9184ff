"""What a plan costs, before anything is built: counts in closed form, stage by stage.

The counts are exact up to what only the data decides (`digits`, the length of the longest stored
sum, and stored numbers that happen to be 0); a test compares them with built networks.
"""

import math
from dataclasses import dataclass

from ...gadgets.prefix_code import PrefixCode
from .layout import Plan


@dataclass(frozen=True)
class Task:
    """What must be stored.

    contexts     distinct contexts
    equations    label and fingerprint bits of all contexts together
    code         words of the labels
    inputs       columns of the first layer: coordinates, or ids of an embedding
    embed        its nonzero parameters, without an offset
    marks        fingerprint bits
    total        the largest sum of coefficients: 2 length + 1 with attention
    mixing       where columns meet: "uniform", "hard", "sparse" or "sum"
    """

    contexts: int
    equations: int
    code: PrefixCode
    inputs: int
    embed: int
    marks: int
    total: int
    mixing: str = "uniform"

    @property
    def window(self) -> int:
        """Bits of the longest stored word."""
        return self.marks + self.code.longest


# nonzero parameters, and dense ones a lane
MIXING = {"uniform": (2, 2), "hard": (2, 4), "sparse": (4, 4), "sum": (0, 0)}


@dataclass(frozen=True)
class Cost:
    nonzero: int
    dense: int
    bits: float

    def of(self, objective: str) -> float:
        return {"nonzero": self.nonzero, "dense": self.dense, "bits": self.bits}[objective]


def guard(plan: Plan) -> int:
    """An estimate of the bits of a stored sum above K, by how many numbers a typical sum has."""
    stored = plan.top + plan.low + plan.gates
    typical = 1 + 0.4 * plan.lanes * len(plan.tables) + 0.6 * math.sqrt(stored)
    return max(2, math.ceil(math.log2(typical)))


def cost(
    plan: Plan,
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
    stages = _stages(plan, task, plan.unknowns if unknowns is None else unknowns, digits)
    width = _width(plan)
    mixing, lanes = MIXING[task.mixing]
    nonzero = sum(count for count, _, _ in stages) + task.embed + offset + mixing + 1
    dense = sum(blocks * width + hidden * (2 * width + 1) for _, blocks, hidden in stages)
    dense += lanes * width + width * (task.inputs + 1) + width + 1
    numbers = plan.unknowns if unknowns is None else unknowns
    bits = numbers * (positions + 3) + 9 * (nonzero - numbers) + 8 * (plan.top + plan.low)
    return Cost(nonzero, dense, bits)


def _width(plan: Plan) -> int:
    if plan.narrow:
        return 2 + (plan.columns > 1) + (plan.marks > 0)
    columns = sum(fold.role == "column" for part in plan.folds for fold in part)
    return 1 + len(plan.tables) + plan.lanes - 1 + columns + (plan.marks > 0) + 1


def _stages(plan: Plan, task: Task, unknowns: int, digits: int) -> list[tuple[int, int, int]]:
    """(nonzero parameters, blocks, hidden units) of each stage."""
    folds = [fold for part in plan.folds for fold in part]
    count = {
        role: sum(f.role == role for f in folds)
        for role in ("data", "row", "gate", "column", "mark")
    }
    counting = count["row"] + count["mark"] + (count["column"] if plan.narrow else 0)
    plain = len(folds) - counting
    gated = count["column"] if not plan.narrow else 0
    strip = digits + plan.columns - 1 - (plan.columns + task.window - 1)
    sums = len({mask & -mask for mask in plan.masks[1:]})
    return [
        (3 * plan.token_folds, plan.token_folds, plan.token_folds),
        (3 * plan.mix_folds, plan.mix_folds, plan.mix_folds),
        (3 * plain + gated + plan.lanes - 1, plain, plain),
        (7 * counting, counting, 2 * counting),
        (1, 0, 0),  # the constant
        *_tables(plan, unknowns),
        (2 * (plan.lanes - 1), sums, plan.lanes - 1),
        _shifts(plan, [f.weight for f in folds if f.role == "column"]),
        (3 * strip, strip, strip),
        *_reader(task),
    ]


def _tables(plan: Plan, unknowns: int) -> list[tuple[int, int, int]]:
    dropped = plan.unknowns - unknowns
    stages: list[tuple[int, int, int]] = []
    for rows in plan.tables:
        cells = plan.lanes * (rows - 1)
        last = rows == plan.tables[-1] and len(stages) == len(plan.tables) - 1
        saved = _saved(rows - 1, dropped) if last else 0
        stages.append((2 * (rows - 1) - 1 + cells - saved + plan.narrow, 1, rows - 1))
    if stages:
        stages.append((len(plan.constants), 0, 0))
    return stages


def _saved(cells: int, dropped: int) -> int:
    """Second differences that vanish when the last `dropped` numbers of a table are 0.

    Two stay at the edge of each lane.
    """
    lanes, rest = divmod(dropped, cells)
    return lanes * cells + (max(0, rest - 2) if rest < cells else 0)


def _shifts(plan: Plan, weights: list[int]) -> tuple[int, int, int]:
    if not plan.narrow:
        return 3 * len(weights), len(weights), len(weights)
    return sum(13 - (w == 1) for w in weights), 2 * len(weights), 4 * len(weights)


def _reader(task: Task) -> list[tuple[int, int, int]]:
    kinks = len(task.code.kinks) - 1
    digits = (len(task.code.lengths) - 1).bit_length()
    stages = [(3 * kinks, int(kinks > 0), kinks)]
    if digits:
        stages.append((8 * digits - 2, digits, 2 * digits))
    if task.marks:
        stages.append((19, 2, 5))
    return stages
