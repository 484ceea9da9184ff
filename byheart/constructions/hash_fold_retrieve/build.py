"""Dataset to network: choose a code and a form, search for a hash and numbers, assemble."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...exact.network import Input, Network
from ...gadgets.blocks import digit_order
from ...machine.kernels import njit
from ..base import Built, Report, input_of
from ..families import Retrieval
from ..retrieval.assemble import assemble, constant
from ..retrieval.hashing import Hash
from ..retrieval.plan import Cost, Storage
from ..retrieval.problem import Inputs, Problem, Task, prepare
from ..retrieval.search import Limits, Needs, cheapest, effort_for, first_needs, search
from ..retrieval.solve import Terms
from . import readers
from .assemble import blocks
from .balance import climb
from .layout import FoldLayout, FoldPlan
from .plan import candidates, cost

FEW = 4000  # contexts of a problem for which both forms are tried


class Unlimited(Limits):
    bounded = False
    lowest = True
    balance = staticmethod(climb)

    def plans(self, task: Task, objective: str, needs: Needs) -> tuple[FoldPlan, ...]:
        plans = candidates(task, objective, needs.spare, needs.slack, needs.hash_bits)
        if not plans:
            raise ByheartError(
                f"no plan of this family is large enough for {task.contexts} contexts."
            )
        return plans

    def store(
        self, problem: Problem, hashed: Hash, layout: FoldLayout, terms: Terms, numbers: list[int]
    ) -> Storage:
        """Centre the numbers in thresholds, find the constant and the lengths.

        Numbers matter modulo 2**(K + 1) only, so those in thresholds may be negative; the constant
        grows until every sum is positive.
        """
        window = problem.task.window
        digits = layout.plan.columns + window  # K + 1
        modulus = 1 << digits
        numbers = numbers[:]
        for unit in layout.stored.values():
            if numbers[unit] >= modulus // 2:
                numbers[unit] -= modulus
        values = np.zeros(layout.plan.unknowns)  # 0 for those that are left out
        values[: len(numbers)] = [float(x / modulus) for x in numbers]
        low, high = _extremes(terms.starts, terms.units, values)
        lift = max(0, math.ceil(-low + 1e-6))
        longest = digits + math.ceil(math.log2(high + lift + 1e-6))
        constant = numbers[0] + lift * modulus
        hash_unit = Fraction(1 << layout.scale(numbers, numbers, modulus))
        return Storage(layout, numbers, longest, window, Fraction(1), hash_unit, constant)


@njit
def _extremes(starts, units, values):
    """The smallest and the largest sum over all contexts."""
    low, high = np.inf, -np.inf
    for i in range(starts.shape[0] - 1):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            unit = units[e]
            total += values[unit] if unit >= 0 else -values[~unit]
        low = min(low, total)
        high = max(high, total)
    return low, high


def read(dataset: Dataset, options: Retrieval, length: int | None = None) -> Input:
    """What the network reads."""
    spec = input_of(dataset, bool(options.positions))
    spec = replace(spec, length=length or spec.length)
    if options.attention == "sum":
        spec = replace(spec, padding=None)
    if options.attention == "sparse":
        spec = replace(spec, extra=spec.padding)
    return spec


def posed(
    dataset: Dataset, contexts: Contexts, options: Retrieval, length: int | None = None
) -> tuple[Input, tuple[int, ...], Problem | None]:
    """What the network reads, the labels by frequency, and the problem; None if there is none."""
    spec = read(dataset, options, length)
    return spec, *prepare(
        dataset,
        contexts,
        spec,
        marks=options.reject_unknown,
        mixing=options.attention,
        embedding=options.embeds,
        objective=options.minimise,
    )


def estimate(dataset: Dataset, contexts: Contexts, options: Retrieval) -> int | None:
    """The nonzero parameters of the plan that is tried first; None if nothing is to be told apart.

    Those of the network differ by what only the search decides.
    """
    _, _, problem = posed(dataset, contexts, options)
    if problem is None:
        return None
    told = [_tables_cost(problem, options.minimise)]
    if not options.editable:
        plan = readers.first_plan(problem, options.minimise, _effort(problem, options))
        told += [] if plan is None else [readers.expected_cost(plan, problem.task)]
    return min(told, key=lambda cost: cost.of(options.minimise)).nonzero


def build(
    dataset: Dataset,
    contexts: Contexts,
    options: Retrieval,
    report: Report,
    length: int | None = None,
    tables_only: bool = False,
) -> Built:
    """The small network for any setting of the family, in the form that makes it smallest.

    length       of the network, if not that of the longest sequence
    tables_only  leave the form with readers out
    """
    mixing, embedding, objective = options.attention, options.embeds, options.minimise
    spec, order, problem = posed(dataset, contexts, options, length)
    if problem is None:
        return Built(constant(spec, mixing, embedding, dataset), 0, order=order)
    # output number r is what the network reads for rank digit_order[r]
    order = tuple(order[rank] for rank in np.argsort(digit_order(len(order))))
    made: list[Built] = []
    # bits and dense parameters are not what readers save: where it is cheap, both forms are tried
    few = problem.task.contexts <= FEW
    if not tables_only and (objective == "nonzero" or few):
        found = readers.search(problem, objective, _effort(problem, options), options.seed, report)
        if found is not None:
            network = _reading_network(spec, dataset.every, options, problem, found.solution)
            made.append(Built(network, found.tries, order=order))
    if not made or size(made[0], objective) > _tables_cost(problem, objective).of(objective):
        made += _tables(spec, dataset.every, options, problem, order, report, bool(made))
    return min(made, key=lambda built: size(built, objective))


def size(built: Built, objective: str) -> int:
    """The count that the objective minimises."""
    parameters, bits = built.network.counts()
    return bits["total"] if objective == "bits" else parameters[objective]


def _effort(problem: Problem, options: Retrieval) -> readers.Effort:
    return readers.effort_for(problem.task.contexts, options.effort == "high")


def _tables_cost(problem: Problem, objective: str) -> Cost:
    plan = cheapest(problem, Unlimited(), objective, first_needs(problem))[0]
    assert isinstance(plan, FoldPlan)
    return cost(plan, problem.task)


def _tables(
    spec: Input,
    every: bool,
    options: Retrieval,
    problem: Problem,
    order: tuple[int, ...],
    report: Report,
    optional: bool,
) -> list[Built]:
    """The network with tables; an error if there is none, unless it is optional."""
    found = search(problem, Unlimited(), options.minimise, options.seed, report)
    if found is not None:
        network, unknown = network_of(
            spec, every, options, problem, found.hashed, found.storage, len(order)
        )
        return [Built(network, found.tries, found.notes, order=order, unknown=unknown)]
    if optional:
        return []
    count = problem.task.contexts
    raise ByheartError(
        f"no hash separated all {count} contexts within {effort_for(count).attempts} attempts; "
        "use another seed=...."
    )


def _reading_network(
    spec: Input, every: bool, options: Retrieval, problem: Problem, solution: readers.Solution
) -> Network:
    unit, hashed = Fraction(3 << solution.scale), solution.draw.hashed
    layers = list(readers.blocks(solution, problem.task.code))
    mixing, grain = options.attention, problem.grain
    return assemble(spec, every, mixing, grain, hashed, unit, layers, "O")


def network_of(
    spec: Input,
    every: bool,
    options: Retrieval,
    inputs: Inputs,
    hashed: Hash,
    storage: Storage,
    labels: int,
) -> tuple[Network, int | None]:
    """The network with these stored numbers, and what it answers for an unknown input."""
    unknown = labels if options.reject_unknown else None
    layers = list(blocks(storage, inputs.task.code, unknown))
    output = "J0" if storage.layout.plan.narrow else "O"
    mixing, grain, unit = options.attention, inputs.grain, storage.hash_unit
    return assemble(spec, every, mixing, grain, hashed, unit, layers, output), unknown
