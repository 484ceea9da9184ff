"""Dataset to network: choose a code and a form, search for a hash and numbers, assemble."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...exact.network import Input, Network
from ...gadgets.blocks import digit_order
from ...machine.watch import Watch
from ..base import Built, input_of, labels_of, words_of
from . import readers, reading
from .balance import climb
from .folds import FoldLayout, FoldPlan
from .hashing import Hash
from .network import Settings, assemble, constant
from .plan import Cost, Storage, needed
from .problem import Inputs, Problem, Task, prepare
from .search import Limits, Needs, cheapest, effort_for, first_needs, search
from .solve import Terms
from .tables import blocks, candidates, cost


@dataclass(frozen=True)
class Unlimited(Limits):
    """Tables in any number of bits."""

    # the hash must suit all labels, and a record must be able to name the plan
    any_labels: bool = False

    bounded = False
    lowest = True
    balance = staticmethod(climb)

    def plans(self, task: Task, objective: str, needs: Needs) -> tuple[FoldPlan, ...]:
        bits = needs.hash_bits + self.any_labels
        plans = candidates(task, objective, needs.spare, needs.slack, bits)
        plans = tuple(plan for plan in plans if not (self.any_labels and plan.reads))
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
        numbers = layout.centred(numbers, modulus)
        values = np.zeros(layout.plan.unknowns)  # those that are left out count 0
        values[: len(numbers)] = [number / modulus for number in numbers]
        sums = terms.sums(values)
        low, high = float(sums.min()), float(sums.max())
        lift = max(0, math.ceil(-low + 1e-6))
        longest = digits + math.ceil(math.log2(high + lift + 1e-6))
        constant = numbers[0] + lift * modulus
        hash_unit = Fraction(1 << layout.scale(numbers, numbers, modulus))
        return Storage(layout, numbers, longest, window, Fraction(1), hash_unit, constant)


def read(dataset: Dataset, options: Settings, length: int | None = None) -> Input:
    spec = input_of(dataset, bool(options.positions))
    spec = replace(spec, length=length or spec.length)
    if options.attention == "sum":
        spec = replace(spec, padding=None)
    if options.attention == "sparse":
        spec = replace(spec, extra=spec.padding)
    return spec


def posed(
    dataset: Dataset, contexts: Contexts, options: Settings, length: int | None = None
) -> tuple[Input, tuple[int, ...], Problem | None]:
    """What the network reads, the labels by frequency, and the problem; None if there is none."""
    spec = read(dataset, options, length)
    form = options.reject_unknown, options.attention, options.embeds, options.minimise
    return spec, *prepare(dataset, contexts, spec, *form, intervals=not options.editable)


def estimate(dataset: Dataset, contexts: Contexts, options: Settings) -> int | None:
    """The nonzero parameters of the plan that is tried first; None if there is only one label."""
    _, _, problem = posed(dataset, contexts, options)
    if problem is None:
        return None
    costs = [_tables_cost(problem, options)]
    if not options.editable:
        costs += _readers_costs(problem, options)
    return min(costs, key=lambda cost: cost.of(options.minimise)).nonzero


def build(
    dataset: Dataset,
    contexts: Contexts,
    options: Settings,
    watch: Watch,
    length: int | None = None,
    tables_only: bool = False,
) -> Built:
    """The small network for any setting of the family; `tables_only` leaves out readers."""
    mixing, objective, seed = options.attention, options.minimise, options.seed
    spec, order, problem = posed(dataset, contexts, options, length)
    words = words_of(dataset)
    if problem is None:
        network = constant(spec, mixing, options.embeds, dataset)
        return Built(network, labels_of(dataset, order), words, 0)
    # output number r is what the network reads for rank digit_order[r]
    claim = labels_of(dataset, (order[rank] for rank in np.argsort(digit_order(len(order)))))

    def with_tables() -> Built | None:
        result = search(problem, Unlimited(), objective, seed, watch)
        if result is None:
            return None
        network, unknown = network_of(
            spec, dataset.every, options, problem, result.hashed, result.storage, len(claim.labels)
        )
        return Built(network, replace(claim, unknown=unknown), words, result.tries, result.notes)

    def with_readers() -> Built | None:
        result = reading.search(problem, objective, _effort(problem, options), seed, watch)
        if result is None:
            return None
        solution = result.solution
        unit, hashed = Fraction(3 << solution.scale), solution.draw.hashed
        layers = list(readers.blocks(solution, problem.task.code))
        network = assemble(spec, dataset.every, mixing, problem, hashed, unit, layers, "O")
        return Built(network, claim, words, result.tries)

    forms = [(_tables_cost(problem, options).of(objective), with_tables)]
    if not tables_only:
        costs = _readers_costs(problem, options)
        forms = [*((cost.of(objective), with_readers) for cost in costs), *forms]
    networks: list[Built] = []
    # the smaller form first; the other one only if it may be smaller than what was built
    for expected, form in sorted(forms, key=lambda form: form[0]):
        if all(expected < size(built, objective) for built in networks):
            built = form()
            networks += [] if built is None else [built]
    if networks:
        return min(networks, key=lambda built: size(built, objective))
    count = problem.task.contexts
    raise ByheartError(
        f"no hash separated all {count} contexts within {effort_for(count).attempts} attempts; "
        "try another `seed`."
    )


def size(built: Built, objective: str) -> int:
    """The count that the objective minimises."""
    parameters, bits = built.network.counts()
    return bits["total"] if objective == "bits" else parameters[objective]


def _effort(problem: Problem, options: Settings) -> reading.Effort | None:
    return reading.effort_for(problem.task.contexts, options.effort == "high")


def _tables_cost(problem: Problem, options: Settings) -> Cost:
    needs = first_needs(problem)
    plan = cheapest(problem, Unlimited(), options.minimise, needs)[0]
    assert isinstance(plan, FoldPlan)
    numbers = needed(problem.task, plan.columns, needs.spare, needs.slack)
    return cost(plan, problem.task, plan.used(numbers))


def _readers_costs(problem: Problem, options: Settings) -> list[Cost]:
    """The expected cost of the form with readers, if it is considered."""
    plan = reading.first_plan(problem, options.minimise, _effort(problem, options))
    return [] if plan is None else [readers.expected_cost(plan, problem.task)]


def network_of(
    spec: Input,
    every: bool,
    options: Settings,
    inputs: Inputs,
    hashed: Hash,
    storage: Storage,
    labels: int,
) -> tuple[Network, int | None]:
    """The network with these stored numbers, and what it answers for an unknown input."""
    unknown = labels if options.reject_unknown else None
    layers = list(blocks(storage, inputs.task.code, unknown))
    output = "J0" if storage.layout.plan.narrow else "O"
    mixing, unit = options.attention, storage.hash_unit
    return assemble(spec, every, mixing, inputs, hashed, unit, layers, output), unknown
