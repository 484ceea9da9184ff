"""Counts of the form with readers, stage by stage, and the plans to try."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from ...retrieval.plan import Cost, Stage, cost_of, expected_load, hash_bits
from ...retrieval.problem import Task
from .layout import ReaderPlan

MOST_FOLDS = 54  # H, its offset and its sums stay in 64 bits
CELLS = (2, 3, 4, 5, 6, 7, 8, 9)
MOST_GATES = 9
TABLES = ((), (8, 8), (8, 16), (16, 16), (16, 32), (32, 32), (16, 64), (32, 64))
SPARE = 0.6  # of the fullest position of the best hashes, in units of expected_load
FEWEST_IN_TABLES = 250  # numbers from which on tables are considered


def strips_of(plan: ReaderPlan, guard: int) -> int:
    """Folds of the strip; the sums of stored numbers are below 2**guard in units of 2**(K + 1)."""
    return plan.columns + 1 + guard


def cost(plan: ReaderPlan, task: Task, guard: int = 0) -> Cost:
    """Counts of the network, exact but for stored numbers that happen to be 0."""
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
        (7 * plan.row_bits, plan.row_bits, 2 * plan.row_bits),
        *_tables(plan),
        (max(0, plan.lanes - 1), 0, 0),  # data folds that add their lane
        (7 * gates, 2 * gates, 2 * gates),
        (3 * (plan.cells - 1) + 1, 1, plan.cells - 1),
        (3 * strips + (gates > 0), strips, strips),
        (3 * len(kinks) - level, int(bool(kinks)), len(kinks)),
        (7 * digits - 2, digits, 2 * digits),
    ]
    width = 2 + plan.creators + gates + len(plan.rows) + max(0, plan.lanes - 1)
    whole = cost_of(task, stages, width, False, plan.unknowns, plan.columns)
    folds = plan.data + plan.creators
    return Cost(whole.nonzero, whole.dense, whole.bits + folds * (8 + plan.folds / 2))


def _tables(plan: ReaderPlan) -> Iterator[Stage]:
    """Two parameters per row, but for a bias that is 0, and one per number.

    Where the last rows of a lane are left out, two second differences stay at the edge.
    """
    dropped = plan.dropped
    for rows in reversed(plan.rows):
        here = min(dropped, rows - 1)
        dropped -= here
        saved = here if here == rows - 1 else max(0, here - 2)
        yield 2 * rows - 3 + plan.lanes * (rows - 1) - saved, 1, rows - 1


def expected_cost(plan: ReaderPlan, task: Task) -> Cost:
    """Counts before anything is solved: sums grow with the square root of their terms."""
    terms = 1 + (plan.data + plan.creators) / 2 + plan.reads / 4 + len(plan.rows) * plan.lanes / 2
    return cost(plan, task, max(0, round(math.log2(terms) / 2 - 0.7)))


def planned(
    task: Task,
    cells: int,
    gates: int,
    chain: int,
    unknowns: int,
    token_folds: int,
    rows: tuple[int, ...] = (),
) -> ReaderPlan | None:
    """The cheapest plan with this number of folds, column gates and row bits included, and of
    unknowns.
    """
    folds = chain - gates - sum(r.bit_length() - 1 for r in rows)
    lead = lead_of(task) if rows or unknowns > 1 + folds else 0
    for creators in range(folds - lead + 1):
        plan = ReaderPlan(cells, gates, lead, creators, folds - creators, 0, token_folds, rows)
        reads = max(0, unknowns - plan.unknowns)
        if reads <= plan.most_reads:
            surplus = max(0, plan.unknowns - unknowns)
            dropped = min(surplus, sum(r - 1 for r in rows) - 1) if rows else 0
            return replace(plan, reads=reads, dropped=dropped)
    return None


def lead_of(task: Task) -> int:
    """The second fold fires for most contexts: a creator there would keep nothing."""
    return 2 if task.contexts <= 4000 else 4


def structures(
    task: Task, objective: str, luck: float, extra_bits: int, token_folds: int
) -> list[ReaderPlan]:
    """One plan for each choice of cells, gates and folds, cheapest first.

    luck    log2 of the trials that the solver may make
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
            unknowns = math.ceil(max(least, mean + SPARE * excess - luck))
            fewest = max(3 + 2 * gates if gates else 1, math.ceil(bits - math.log2(cells)))
            tables = TABLES if unknowns >= FEWEST_IN_TABLES else ((),)
            for chain, rows in product(range(fewest, MOST_FOLDS + 1), tables):
                plan = planned(task, cells, gates, chain, unknowns, token_folds, rows)
                # some room, in case that the hashes need more
                if plan is not None and (not rows or plan.dropped >= unknowns // 50):
                    found.append(plan)
    return sorted(found, key=lambda plan: (cost(plan, task).of(objective), plan.columns))
