"""Dataset to network: choose a code and a form, search for a hash and numbers, assemble."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...exact.network import Input, Network
from ...gadgets.blocks import digit_order
from ..base import Built, Report, input_of
from ..families import Retrieval
from ..retrieval.assemble import assemble, constant
from ..retrieval.hashing import Hash
from ..retrieval.plan import Cost, Storage, needed
from ..retrieval.problem import Inputs, Problem, Task, prepare
from ..retrieval.search import Limits, Needs, cheapest, effort_for, first_needs, search
from ..retrieval.solve import Terms
from . import readers, two_blocks
from .assemble import blocks
from .balance import climb
from .layout import FoldLayout, FoldPlan
from .plan import HELD, candidates, cost
from .two_blocks import extremes

FEW = 4000  # contexts of a problem for which both forms are tried


class Unlimited(Limits):
    """held: the share of the folds between two blocks that hold numbers."""

    bounded = False
    lowest = True
    balance = staticmethod(climb)

    def __init__(self, held: float = HELD) -> None:
        self.held = held

    def plans(self, task: Task, objective: str, needs: Needs) -> tuple[FoldPlan, ...]:
        plans = candidates(task, objective, needs.spare, needs.slack, needs.hash_bits, self.held)
        if not plans:
            raise ByheartError(
                f"no plan of this family is large enough for {task.contexts} contexts."
            )
        return plans

    def solved(
        self, problem: Problem, hashed: Hash, layout: FoldLayout, hashes: NDArray, load: int
    ) -> Storage | str:
        if layout.plan.upper:
            return two_blocks.solved(problem, layout, hashes, load) or "rank"
        return super().solved(problem, hashed, layout, hashes, load)

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
        numbers = layout.centred(numbers, modulus)
        low, high = extremes(terms, numbers, modulus)
        lift = max(0, math.ceil(-low + 1e-6))
        longest = digits + math.ceil(math.log2(high + lift + 1e-6))
        constant = numbers[0] + lift * modulus
        hash_unit = Fraction(1 << layout.scale(numbers, numbers, modulus))
        return Storage(layout, numbers, longest, window, Fraction(1), hash_unit, constant)


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
    told = [_tables_cost(problem, options)]
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
    told, hoped = _tables_cost(problem, options).of(objective), math.inf
    # bits and dense parameters are not what readers save: where it is cheap, both forms are tried
    if not tables_only and (objective == "nonzero" or problem.task.contexts <= FEW):
        plan = readers.first_plan(problem, objective, _effort(problem, options))
        hoped = (
            math.inf if plan is None else readers.expected_cost(plan, problem.task).of(objective)
        )
    made: list[Built] = []
    # the smaller form first; the other one only if it may be smaller than what was built
    for expected, form in sorted(
        [(hoped, _with_readers), (told, _with_tables)], key=lambda x: x[0]
    ):
        if expected < math.inf and all(expected < size(built, objective) for built in made):
            built = form(spec, dataset.every, options, problem, order, report)
            made += [] if built is None else [built]
    if made:
        return min(made, key=lambda built: size(built, objective))
    count = problem.task.contexts
    raise ByheartError(
        f"no hash separated all {count} contexts within {effort_for(count).attempts} attempts; "
        "use another seed=...."
    )


def size(built: Built, objective: str) -> int:
    """The count that the objective minimises."""
    parameters, bits = built.network.counts()
    return bits["total"] if objective == "bits" else parameters[objective]


def _effort(problem: Problem, options: Retrieval) -> readers.Effort:
    return readers.effort_for(problem.task.contexts, options.effort == "high")


def _limits(options: Retrieval) -> Unlimited:
    """With a high effort every fold between two blocks holds a number, whatever its length."""
    return Unlimited(1.0) if options.effort == "high" else Unlimited()


def _tables_cost(problem: Problem, options: Retrieval) -> Cost:
    needs = first_needs(problem)
    plan = cheapest(problem, _limits(options), options.minimise, needs)[0]
    assert isinstance(plan, FoldPlan)
    portion = plan.portion(problem.task)
    numbers = needed(portion, plan.columns, needs.spare, needs.slack)
    return cost(plan, problem.task, plan.used(numbers))


def _with_tables(
    spec: Input,
    every: bool,
    options: Retrieval,
    problem: Problem,
    order: tuple[int, ...],
    report: Report,
) -> Built | None:
    found = search(problem, _limits(options), options.minimise, options.seed, report)
    if found is None:
        return None
    hashed, storage, labels = found.hashed, found.storage, len(order)
    network, unknown = network_of(spec, every, options, problem, hashed, storage, labels)
    return Built(network, found.tries, found.notes, order=order, unknown=unknown)


def _with_readers(
    spec: Input,
    every: bool,
    options: Retrieval,
    problem: Problem,
    order: tuple[int, ...],
    report: Report,
) -> Built | None:
    effort = _effort(problem, options)
    found = readers.search(problem, options.minimise, effort, options.seed, report)
    if found is None:
        return None
    solution, mixing, grain = found.solution, options.attention, problem.grain
    unit, hashed = Fraction(3 << solution.scale), solution.draw.hashed
    layers = list(readers.blocks(solution, problem.task.code))
    network = assemble(spec, every, mixing, grain, hashed, unit, layers, "O")
    return Built(network, found.tries, order=order)


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
