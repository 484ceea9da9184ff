"""Dataset to network within limits: choose a code, search, assemble."""

from dataclasses import dataclass, replace

import numpy as np

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...exact.network import Input
from ..base import Built, Report, input_of
from ..families import Retrieval
from ..hash_fold_retrieve import build as plain
from ..hash_fold_retrieve.cost import guard
from ..hash_fold_retrieve.plan import candidates
from ..hash_fold_retrieve.search import Problem, effort
from .assemble import assemble
from .limits import Limits, Short
from .search import search

FEW = 4000  # contexts of a problem that is cheap to solve again
MOST_BITS = 1 << 13  # no coordinate of a double needs more


@dataclass(frozen=True, eq=False)
class Case:
    """A dataset made ready to be searched for under several limits.

    problem   None if there is only one label; `constant` is the network then
    grain     a power of two that makes the coordinates whole numbers
    """

    spec: Input
    order: tuple[int, ...]
    problem: Problem | None = None
    grain: int = 1
    constant: Built | None = None

    def build(self, limits: Limits, options: Retrieval, report: Report) -> Built | None:
        """A network within the limits, or None if none was found."""
        if self.problem is None:
            return self.constant
        found = search(self.problem, limits, self.grain, options.minimise, options.seed, report)
        if found is None:
            return None
        code = self.problem.task.code
        network = assemble(self.spec, self.grain, found.hashed, found.storage, code)
        if not limits.accepts(network):
            return None
        return Built(network, found.tries, found.notes, order=self.order)


def case(dataset: Dataset, contexts: Contexts, spec: Input) -> Case:
    """Labels by frequency, their code, the distinct columns and how they add up to contexts."""
    counts = np.bincount(dataset.labels[contexts.first], minlength=len(dataset.label_names))
    order = tuple(int(i) for i in np.argsort(-counts, kind="stable"))
    if len(order) == 1:
        network = plain.constant(spec, "uniform", False, dataset)
        return Case(spec, order, constant=Built(network, 0, order=order))
    code = plain.label_code([int(counts[i]) for i in order], 0)
    rank = np.empty(len(order), dtype=np.int64)
    rank[list(order)] = np.arange(len(order))
    labels = rank[dataset.labels[contexts.first]]
    seen, sums = plain.sums_of(dataset, contexts, spec)
    vectors = plain.used_columns(seen, sums, False)
    task = plain.code_task(code, labels, 0, vectors, sums)
    return Case(spec, order, Problem(task, vectors, sums, labels), 1 << -seen.exponent)


def build(
    dataset: Dataset, contexts: Contexts, options: Retrieval, report: Report, bits: int
) -> Built:
    """A network whose parameters have at most `bits` bits; AssumptionError if there is none."""
    prepared = case(dataset, contexts, input_of(dataset, bool(options.positions)))
    found = [prepared.build(Short(limit), options, report) for limit in _limits(prepared, bits)]
    if found[0] is None:
        least = least_bits(prepared, options, bits + 1)
        raise AssumptionError(
            f"A3 fails: parameters of {bits} bits are too short for this data; "
            f"with seed={options.seed} this construction needs at least {least} bits.",
            smallest=least,
        )
    found += alternatives(prepared, dataset, contexts, options, report, bits)
    short = [x for x in found if x is not None and x.network.counts()[1]["largest"] <= bits]
    return min(short, key=lambda x: size(x, options.minimise))


def _limits(prepared: Case, bits: int) -> list[int]:
    """The limit, and for a small problem some below it: the first success need not be the best."""
    small = prepared.problem is not None and prepared.problem.task.contexts <= FEW
    return [bits, bits * 3 // 4, bits // 2] if small else [bits]


def alternatives(
    prepared: Case,
    dataset: Dataset,
    contexts: Contexts,
    options: Retrieval,
    report: Report,
    bits: int,
) -> list[Built]:
    """The networks of hash-fold-retrieve, if their longest parameters are likely to fit."""
    if prepared.problem is None:
        return []
    length = prepared.spec.length
    return [
        plain.build(
            dataset,
            contexts,
            replace(options, minimise=objective),
            report,
            length=length,
        )
        for objective in dict.fromkeys([options.minimise, "nonzero"])
        if _may_fit(prepared.problem, objective, bits)
    ]


def least_bits(prepared: Case, options: Retrieval, bits: int = 1) -> int:
    """The smallest limit, from `bits` up, for which the search finds a network."""
    for limit in range(bits, MOST_BITS):
        if prepared.build(Short(limit), options, lambda sentence: None) is not None:
            return limit
    raise AssumptionError(f"this construction needs more than {MOST_BITS} bits for this data")


def _may_fit(problem: Problem, objective: str, bits: int) -> bool:
    """Whether the longest parameter of hash-fold-retrieve is likely to fit.

    Its hash stands above the stored sums, and they are shifted by up to their own length.
    """
    limits = effort(problem.task.contexts)
    plans = candidates(problem.task, objective, limits.spare, limits.slack, 0)[:1]
    for plan in plans:
        digits = plan.columns + problem.task.window - 1 + guard(plan)
        return max(digits + plan.columns, (plan.top_value - 1).bit_length() + digits) <= bits + 2
    return False


def size(built: Built, objective: str) -> int:
    parameters, bits = built.network.counts()
    return bits["total"] if objective == "bits" else parameters[objective]
