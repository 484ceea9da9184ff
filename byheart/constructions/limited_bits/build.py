"""Dataset to network within limits: choose a code, search, assemble."""

from dataclasses import dataclass, replace

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...exact.network import Input
from ..base import Built, Report, input_of
from ..families import Retrieval
from ..hash_fold_retrieve.build import build as build_unlimited
from ..hash_fold_retrieve.build import size
from ..hash_fold_retrieve.plan import candidates, guard
from ..retrieval.assemble import assemble, constant
from ..retrieval.problem import Problem, prepare
from ..retrieval.search import effort_for, search
from .assemble import blocks
from .limits import Limited, Short

FEW = 4000  # contexts of a problem that is cheap to solve again
MOST_BITS = 1 << 13  # no coordinate of a double needs more


@dataclass(frozen=True, eq=False)
class Case:
    """A dataset made ready to be searched for under several limits.

    problem   None if there is only one label
    """

    dataset: Dataset
    contexts: Contexts
    spec: Input
    order: tuple[int, ...]
    problem: Problem | None

    def build(self, limits: Limited, options: Retrieval, report: Report) -> Built | None:
        """A network within the limits, or None if none was found."""
        if self.problem is None:
            return Built(constant(self.spec, "uniform", False, self.dataset), 0, order=self.order)
        found = search(self.problem, limits, options.minimise, options.seed, report)
        if found is None:
            return None
        layers = list(blocks(found.storage, self.problem.task.code))
        grain, unit = self.problem.grain, found.storage.hash_unit
        network = assemble(self.spec, False, "uniform", grain, found.hashed, unit, layers, "O")
        if not limits.accepts(network):
            return None
        return Built(network, found.tries, found.notes, order=self.order)

    def alternatives(self, options: Retrieval, report: Report, bits: int) -> list[Built]:
        """The networks of hash-fold-retrieve, if their longest parameters are likely to fit.

        Their hash stands above the stored sums, and they are shifted by up to their own length.
        """
        if self.problem is None:
            return []
        found, task = [], self.problem.task
        effort = effort_for(task.contexts)
        for objective in dict.fromkeys([options.minimise, "nonzero"]):
            for plan in candidates(task, objective, effort.spare, effort.slack, 0)[:1]:
                digits = plan.columns + task.window - 1 + guard(plan, task.contexts)
                hashed = (plan.top_value - 1).bit_length() + digits
                if max(digits + plan.columns, hashed) <= bits + 2:
                    chosen, length = replace(options, minimise=objective), self.spec.length
                    found.append(
                        build_unlimited(
                            self.dataset, self.contexts, chosen, report, length, tables_only=True
                        )
                    )
        return found

    def least_bits(self, options: Retrieval, bits: int = 1) -> int:
        """The smallest limit, from `bits` up, for which the search finds a network."""
        for limit in range(bits, MOST_BITS):
            if self.build(Short(limit), options, lambda sentence: None) is not None:
                return limit
        raise AssumptionError(f"this construction needs more than {MOST_BITS} bits for this data.")


def case(dataset: Dataset, contexts: Contexts, spec: Input) -> Case:
    return Case(dataset, contexts, spec, *prepare(dataset, contexts, spec))


def build(
    dataset: Dataset, contexts: Contexts, options: Retrieval, report: Report, bits: int
) -> Built:
    """A network whose parameters have at most `bits` bits; AssumptionError if there is none."""
    prepared = case(dataset, contexts, input_of(dataset, bool(options.positions)))
    # for a small problem also limits below: the first success need not be the best
    small = prepared.problem is not None and prepared.problem.task.contexts <= FEW
    limits = [bits, bits * 3 // 4, bits // 2] if small else [bits]
    found = [prepared.build(Short(limit), options, report) for limit in limits]
    if found[0] is None:
        least = prepared.least_bits(options, bits + 1)
        raise AssumptionError(
            f"A3 fails: parameters of {bits} bits are too short for this data; "
            f"with seed={options.seed} this construction needs at least {least} bits.",
            smallest=least,
        )
    found += prepared.alternatives(options, report, bits)
    short = [x for x in found if x is not None and x.network.counts()[1]["largest"] <= bits]
    return min(short, key=lambda x: size(x, options.minimise))
