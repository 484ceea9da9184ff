"""Counts of the form with readers, stage by stage, and the plans to try."""

import math

from ...retrieval.plan import Cost, Stage, cost_of, expected_load, hash_bits
from ...retrieval.problem import Task
from .layout import ReaderPlan

MOST_FOLDS = 54  # H, its offset and its sums stay in 64 bits
CELLS = (2, 3, 4, 5, 6, 7, 8, 9)
MOST_GATES = 9


def strips_of(plan: ReaderPlan, guard: int) -> int:
    """Folds of the strip; the sums of stored numbers are below 2**guard in units of 2**(K + 1)."""
    return plan.columns + 1 + guard


def cost(plan: ReaderPlan, task: Task, guard: int = 0) -> Cost:
    """Counts of the network, exact but for stored numbers that happen to be 0."""
    positions = plan.columns + task.window - 1
    strips, gates = strips_of(plan, guard), plan.gates
    (_, slope), *kinks = task.code.kinks
    labels = len(task.code.lengths)
    # a kink of the decoder at the threshold of the first digit needs no bias
    level = sum(x * slope == (labels + 1) // 2 for x, _ in kinks)
    digits = task.label_digits
    stages: list[Stage] = [
        (3 * plan.token_folds, plan.token_folds, plan.token_folds),
        (3 * plan.data + plan.reads, plan.data, plan.data),
        (7 * plan.creators, plan.creators, 2 * plan.creators),
        (7 * gates, 2 * gates, 2 * gates),
        (3 * (plan.cells - 1) + 1, 1, plan.cells - 1),
        (3 * strips + (gates > 0), strips, strips),
        (3 * len(kinks) - level, int(bool(kinks)), len(kinks)),
        (7 * digits - 2, digits, 2 * digits),
    ]
    whole = cost_of(task, stages, 2 + plan.creators + gates, False, plan.unknowns, positions)
    folds = plan.data + plan.creators
    return Cost(whole.nonzero, whole.dense, whole.bits + folds * (8 + plan.folds / 2))


def expected_cost(plan: ReaderPlan, task: Task) -> Cost:
    """Counts before anything is solved: sums grow with the square root of their terms."""
    terms = 1 + (plan.data + plan.creators) / 2 + plan.reads / 4
    return cost(plan, task, max(0, round(math.log2(terms) / 2 - 0.7)))


def planned(
    task: Task, cells: int, gates: int, chain: int, unknowns: int, token_folds: int
) -> ReaderPlan | None:
    """The cheapest plan with so many folds, column gates included, and so many numbers."""
    folds = chain - gates
    reads = max(0, unknowns - 1 - folds)
    lead = lead_of(task) if reads else 0
    for creators in range(1 if reads else 0, folds + 1):
        data = folds - creators
        if data < lead:
            return None
        if creators * (data - lead) >= reads:
            return ReaderPlan(cells, gates, lead, creators, data, reads, token_folds)
    return None


def lead_of(task: Task) -> int:
    """The second fold fires for most contexts: a creator there would keep nothing."""
    return 2 if task.contexts <= 4000 else 4


def structures(
    task: Task, objective: str, luck: float, spare: float, extra_bits: int, token_folds: int
) -> list[ReaderPlan]:
    """One plan for each choice of cells, gates and folds, cheapest first.

    luck    log2 of the trials that the solver may make
    spare   of the fullest position, in units of expected_load
    """
    found = []
    bits = hash_bits(task) + extra_bits
    best = math.sqrt(task.equations / 3)
    # folds of slope -2 keep numbers modulo 3: a digit that is a multiple of it would stay linear
    for cells in (c for c in CELLS if c % 3 or not token_folds):
        for gates in range(MOST_GATES + 1):
            columns = cells << gates
            if not best / 5 <= columns <= 3 * best + 3:
                continue
            mean, excess = expected_load(task, columns)
            least = (task.equations - luck) / (columns + task.window - 1)
            unknowns = math.ceil(max(least, mean + spare * excess - luck))
            fewest = max(3 + 2 * gates if gates else 1, math.ceil(bits - math.log2(cells)))
            for chain in range(fewest, MOST_FOLDS + 1):
                plan = planned(task, cells, gates, chain, unknowns, token_folds)
                if plan is not None:
                    found.append(plan)
    return sorted(found, key=lambda plan: (cost(plan, task).of(objective), plan.columns))
