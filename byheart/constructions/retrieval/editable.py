"""A structure that fits any labels: plan, hash and order of folds, found from the inputs alone.

The ordinary search (retrieval/search.py) looks for a hash that suits the labels, so the hash itself
holds something of them. Here the hash is injective on the contexts, and at every bit position the
equations of the contexts that read it are linearly independent: whatever the labels are, the
stored numbers exist, and with free unknowns 0 they are a function of structure and labels (the
pivots of a reduced echelon form do not depend on the order of its rows). So are lengths and scale
of the stored sums, which are bounded here for all labels at once.

A position is independent only if it has fewer equations than there are numbers. The order of the
folds decides how even the positions are. Orders are drawn one after another, and the first under a
limit that is fixed beforehand is taken: unlike the best of many it does not depend on every single
context, and so almost always stays what it is when a context is added or removed.

Labels are numbered by their sorted names and all have words of one length, so that nothing of their
frequencies enters the structure. It depends on the labels' number only through that length. Label
r has the word from which the network reads r. The form with readers is left out: its positions have
more equations than unknowns, which only some labels satisfy.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...gadgets.blocks import digit_order
from ...gadgets.prefix_code import PrefixCode
from ...machine.watch import Watch
from ..base import Built, labels_of, words_of
from .build import Unlimited, network_of, read
from .folds import FoldLayout, FoldPlan
from .hashing import Hash
from .network import Settings, constant
from .plan import Storage, loads, needed
from .problem import Inputs, Problem, digits_of, inputs
from .search import Effort, Needs, cheapest, draw_hash, first_token_folds
from .solve import System, Terms, solve
from .tables import MAX_FOLDS

RANKS = 4  # orders that may be dependent before another hash is tried
# what `again` needs of a plan, beside its tables, and sizes beyond any plan
RECORDED = (
    "columns", "lanes", "gates", "token_folds", "mix_folds", "top", "low", "marks", "narrow",
)  # fmt: skip
LARGEST, MOST_TABLES, MOST_LANES = 1 << 20, 8, 1 << 10


def effort_for(contexts: int) -> Effort:
    """`balancing` is the number of orders that are tried with each hash."""
    if contexts <= 4000:
        return Effort(2000, 12, 12, 1, 200, 0.25, 6)
    if contexts <= 40_000:
        return Effort(1000, 4, 4, 1, 400, 0.42, 5)
    return Effort(500, 2, 2, 1, 800, 0.51, 5)


@dataclass(frozen=True, eq=False)
class Structure:
    """Everything but the labels."""

    layout: FoldLayout
    hashed: Hash
    hashes: NDArray[np.uint64]  # as the layout reads them
    terms: Terms  # the stored numbers that each context adds up
    window: int
    tries: int
    notes: tuple[str, ...]
    record: dict  # what finds it again without a search (`again`)

    @property
    def plan(self) -> FoldPlan:
        return self.layout.plan

    def solved(self, words: NDArray[np.uint64]) -> Storage:
        """The stored numbers that give these words, as they are placed: W(structure, labels)."""
        lengths = np.full(len(self.hashes), self.window, np.int64)
        column, unknowns = self.layout.column_of(self.hashes), self.layout.unknowns
        columns, window = self.plan.columns, self.window
        system = System(columns, column, self.terms, words, lengths, window)
        halves = solve(system, unknowns, canonical=True)
        if halves is None:  # full rank is what a structure is
            raise ByheartError("the structure does not fit the data; compile it again.")
        modulus = 1 << self.plan.columns + self.window
        numbers = self.layout.centred([2 * number for number in halves], modulus)
        lift, longest = self._reach()
        low, high = self._ranges()
        bounds = [int(x * modulus) for x in low], [int(x * modulus) for x in high]
        scale = self.layout.scale(*bounds, modulus)
        units, constant = (Fraction(1), Fraction(1 << scale)), numbers[0] + lift * modulus
        return Storage(self.layout, numbers, longest, self.window, *units, constant)

    def _ranges(self) -> tuple[list[Fraction], list[Fraction]]:
        """Where each stored number lies whatever the labels are, in units of 2**(K + 1)."""
        low, high = [Fraction(0)] * self.layout.unknowns, [Fraction(1)] * self.layout.unknowns
        for unit in self.layout.stored.values():
            low[unit], high[unit] = Fraction(-1, 2), Fraction(1, 2)
        return low, high

    def _reach(self) -> tuple[int, int]:
        """What is added so that no sum is negative, and the bits that every sum then fits into.

        A sum contains number 0, which is below its bound, so it is below the sum of the bounds.
        """
        low, high = (np.array(x, dtype=np.float64) for x in self._ranges())  # multiples of 1/2
        units, negative = self.terms.units, self.terms.units < 0
        unit = np.where(negative, ~units, units)
        least = np.where(negative, -high[unit], low[unit])
        most = np.where(negative, -low[unit], high[unit])
        lift = max(0, math.ceil(-np.add.reduceat(least, self.terms.starts[:-1]).min()))
        top = math.ceil(np.add.reduceat(most, self.terms.starts[:-1]).max()) + lift
        return lift, self.plan.columns + self.window + (top - 1).bit_length()


def find(inputs: Inputs, objective: str, seed: int, watch: Watch) -> Structure:
    """The first structure of a bounded search; the same inputs and seed give the same."""
    task, effort = inputs.task, effort_for(inputs.task.contexts)
    needs = Needs(effort.spare, effort.slack, first_token_folds(inputs))
    failures: Counter[str] = Counter()
    notes: list[str] = []
    plan, unknowns = _cheapest(inputs, objective, needs)
    for attempt in range(effort.attempts):
        outcome = _attempt(inputs, plan, unknowns, needs.slack, seed, attempt, effort.balancing)
        if isinstance(outcome, Structure):
            return replace(outcome, notes=tuple(notes))
        failures[outcome] += 1
        if failures[outcome] < effort.patience(outcome):
            continue
        failures.clear()
        notes.append(_enlarge(outcome, needs))
        watch.note(notes[-1])
        plan, unknowns = _cheapest(inputs, objective, needs)
    raise ByheartError(
        f"no structure for {task.contexts} contexts was found within {effort.attempts} attempts; "
        "try another `seed`."
    )


def again(inputs: Inputs, record: Mapping[str, Any], seed: int) -> Structure | None:
    """The structure of this record, which a stranger may have written, without a search."""
    sizes, tables = record.get("plan"), record.get("tables")
    if not isinstance(sizes, Mapping) or not isinstance(tables, list) or {*sizes} != {*RECORDED}:
        return None
    whole = [*sizes.values(), *tables, *(record.get(x) for x in ("unknowns", "attempt", "order"))]
    if not all(type(x) is int and 0 <= x < LARGEST for x in whole) or len(tables) > MOST_TABLES:
        return None
    if sizes["lanes"] > MOST_LANES or sizes["token_folds"] + sizes["mix_folds"] > MOST_LANES:
        return None
    if sum(sizes[name] for name in ("top", "low", "gates", "marks")) > MAX_FOLDS:
        return None
    try:
        plan = FoldPlan(**{**sizes, "narrow": bool(sizes["narrow"])}, tables=tuple(tables))
        if len(plan.folds) > MAX_FOLDS or not 1 <= record["unknowns"] <= plan.unknowns:
            return None
    except AssertionError:  # no such plan
        return None
    rng = random.Random(f"{seed}/{record['attempt']}")
    hashed = draw_hash(inputs, plan, rng)
    if hashed is None or len(np.unique(hashed.contexts)) < len(hashed.contexts):
        return None
    *_, layout = islice(_layouts(plan, record["unknowns"], rng), record["order"] + 1)
    return _structure(inputs, layout, hashed, plan.read(hashed.contexts), dict(record))


def _cheapest(inputs: Inputs, objective: str, needs: Needs) -> tuple[FoldPlan, int]:
    """The cheapest plan, and how many of its numbers are used."""
    plan = cheapest(inputs, Unlimited(any_labels=True), objective, needs)[0]
    assert isinstance(plan, FoldPlan)
    return plan, plan.used(needed(inputs.task, plan.columns, needs.spare, needs.slack))


def _enlarge(failure: str, needs: Needs) -> str:
    """Enlarge what the failure asks for, by fixed steps, and say so."""
    if failure in ("fit", "conflict"):
        return needs.separate(failure)
    if failure == "load":
        needs.loosened += 1
        needs.spare += 0.03 if needs.loosened <= 10 else 0.1
        return f"a bit position is too full: {needs.spare:.2f} of the random excess spared"
    needs.slack += 1
    needs.hash_bits += needs.slack % 2  # equal rows are equal bits
    return f"the stored numbers are not independent: {needs.slack} more than equations"


def _attempt(
    inputs: Inputs, plan: FoldPlan, unknowns: int, slack: int, seed: int, attempt: int, orders: int
) -> Structure | str:
    """A structure with the hash of this attempt, or why there is none."""
    rng = random.Random(f"{seed}/{attempt}")
    hashed = draw_hash(inputs, plan, rng)
    if hashed is None:
        return "fit"
    if len(np.unique(hashed.contexts)) < len(hashed.contexts):
        return "conflict"
    hashes, window = plan.read(hashed.contexts), inputs.task.window
    lengths, dependent = np.full(len(hashes), window, np.int64), 0
    orders = orders if plan.parts[1] else 1
    for number, layout in enumerate(islice(_layouts(plan, unknowns, rng), orders)):
        columns = layout.column_of(hashes)
        if loads(columns, lengths, plan.columns, window).max() > unknowns - slack:
            continue
        sizes = {name: int(getattr(plan, name)) for name in RECORDED}
        record = {"plan": sizes, "tables": list(plan.tables), "unknowns": unknowns}
        record |= {"attempt": attempt, "order": number}
        found = _structure(inputs, layout, hashed, hashes, record)
        if independent(found):
            return found
        dependent += 1
        if dependent == RANKS:
            break
    return "rank" if dependent else "load"


def _layouts(plan: FoldPlan, unknowns: int, rng: random.Random) -> Iterator[FoldLayout]:
    """The plan with its folds in random orders, one after another."""
    order = list(plan.parts[1])
    while True:
        yield replace(plan.layout(order), unknowns=unknowns)
        rng.shuffle(order)


def _structure(
    inputs: Inputs, layout: FoldLayout, hashed: Hash, hashes: NDArray[np.uint64], record: dict
) -> Structure:
    terms, tries = layout.terms(hashes), record["attempt"] + 1
    return Structure(layout, hashed, hashes, terms, inputs.task.window, tries, (), record)


def independent(structure: Structure) -> bool:
    """Whether the equations of every bit position are linearly independent."""
    column, columns = structure.layout.column_of(structure.hashes), structure.plan.columns
    words, window = np.zeros(len(column), np.uint64), structure.window
    lengths = np.full(len(column), window, np.int64)
    system = System(columns, column, structure.terms, words, lengths, window)
    fullest = np.argsort(-loads(column, lengths, columns, window)[::-1], kind="stable")
    unknowns = structure.layout.unknowns
    return all(system.factors(position, unknowns).dependent == 0 for position in fullest.tolist())


def build(dataset: Dataset, contexts: Contexts, options: Settings, watch: Watch) -> Built:
    """The network whose weights are a function of (structure, labels)."""
    names = len(dataset.label_names)
    digits = digits_of(names, options.reject_unknown)
    claim, read_words = labels_of(dataset), words_of(dataset)
    if digits + options.reject_unknown == 0:
        spec = read(dataset, options)
        network = constant(spec, options.attention, options.embeds, dataset)
        return Built(network, claim, read_words, 0)
    posed = unlabelled_inputs(dataset, contexts, options, digits)
    record, seed = options.structure, options.seed
    structure = None if record is None else again(posed, record, seed)
    structure = structure or find(posed, options.minimise, seed, watch)
    labels = np.argsort(digit_order(1 << digits))[dataset.labels[contexts.first]]
    words = Problem(**vars(posed), labels=labels).words(structure.layout.marks_of(structure.hashes))
    storage = structure.solved(words)
    spec, every = read(dataset, options), dataset.every
    network, unknown = network_of(spec, every, options, posed, structure.hashed, storage, names)
    claim = replace(claim, unknown=unknown)
    return Built(network, claim, read_words, structure.tries, structure.notes, structure.record)


def unlabelled_inputs(
    dataset: Dataset, contexts: Contexts, options: Settings, digits: int
) -> Inputs:
    """What the structure is found from: the contexts, and the bits of a label."""
    marks = options.reject_unknown
    blank = replace(dataset, labels=np.zeros_like(dataset.labels), label_names=("",))
    code, equations = PrefixCode((digits,) * (1 << digits)), len(contexts) * (digits + marks)
    spec, mixing, embedding = read(blank, options), options.attention, options.embeds
    return inputs(blank, contexts, spec, code, equations, marks, mixing, embedding)
