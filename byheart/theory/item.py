"""An item of a paper, and the row that answers a question with it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

from ..errors import AssumptionError
from .question import Facts, Question
from .sizes import check

KINDS = ("theorem", "rate", "rule_of_thumb", "open")
SIGNS = {"at_least": "≥", "at_most": "≤"}
MAY_BE_ZERO = {"conflicts", "every", "heads", "mixed", "near", "padded", "parameters", "width"}
Value = int | float | None
NAMES = {
    "union": "vocabulary", "mixed": "labels of multisets", "outputs": "vocabulary",
    "near": "distribution of each context", "conflicts": "labels of each context",
}  # fmt: skip


@dataclass(frozen=True)
class Bound:
    """A row.

    paper, item  where it stands
    kind         theorem, rate, rule_of_thumb or open
    direction    at_least or at_most
    quantity     of what
    value        None where only a rate is known, or no number at all
    applies      whether the assumptions hold, as far as the facts tell
    reason       which assumption fails or which fact is missing; else what the value is about
    """

    paper: str
    item: str
    kind: str
    direction: str
    quantity: str
    value: Value
    applies: bool
    reason: str

    def json(self) -> dict:
        return asdict(self)


class Assumption(NamedTuple):
    """holds is a function of facts, by their names; where one is not known it is taken to hold."""

    holds: Callable[..., bool]
    otherwise: str


@dataclass(frozen=True)
class Item:
    """One numbered statement.

    about    whose facts it reads: "data", "architecture" or "both"
    formula  as the paper has it
    value    a function of facts, by their names; of a rate it is what stands in O(...)
    assumes  what must hold beside A1 and A2, which the functions check themselves
    remark   one sentence for the case that it applies
    order    the power of N that it grows with, up to logarithms
    """

    paper: str
    item: str
    about: str
    kind: str
    direction: str
    quantity: str
    formula: str
    value: Callable[..., Value] | None = None
    assumes: tuple[Assumption, ...] = ()
    remark: str = ""
    order: float | None = None

    def answer(self, question: Question) -> Bound:
        """The row; what cannot be answered says why."""
        facts = question.facts(self.about)
        found, reason = self._found(facts)
        value = None if self.kind in ("rate", "open") else found
        fixed = self.paper, self.item, self.kind, self.direction, self.quantity
        return Bound(*fixed, value, reason is None, reason or self._said())

    def growth(self, question: Question) -> Value:
        """The value, and of a rate what stands in O(...)."""
        return self._found(question.facts(self.about))[0]

    def _found(self, facts: Facts) -> tuple[Value, str | None]:
        """The value, or why there is none. A rate is one without numbers, too."""
        try:
            for assumption in self.assumes:
                if not _unknown(assumption.holds, facts) and not _called(assumption.holds, facts):
                    return None, assumption.otherwise.format_map(facts)
            missing = [] if self.value is None else _unknown(self.value, facts)
            if missing and self.kind != "rate":
                return None, f"not known: {', '.join(dict.fromkeys(map(_worded, missing)))}."
            if self.value is None or missing:
                return None, None
            check(**_sizes(self.value, facts))
            return _called(self.value, facts), None
        except AssumptionError as error:
            return None, str(error)

    def _said(self) -> str:
        if self.kind != "rate":
            return self.remark
        said = f"Only a rate: {self.formula}."
        return f"{said} {self.remark}" if self.remark else said


def _unknown(function: Callable, facts: Facts) -> list[str]:
    """The facts that it needs and that are not there."""
    needed = inspect.signature(function).parameters.values()
    return [x.name for x in needed if x.default is x.empty and facts.get(x.name) is None]


def _sizes(function: Callable, facts: Facts) -> dict[str, tuple[int, int]]:
    """A1: the sizes that it reads, none of which may be 0."""
    names = set(inspect.signature(function).parameters) - MAY_BE_ZERO
    found = {_worded(name): facts.get(name) for name in sorted(names)}
    return {name: (size, 1) for name, size in found.items() if isinstance(size, int)}


def _called(function: Callable, facts: Facts) -> Value:
    return function(**{name: facts.get(name) for name in inspect.signature(function).parameters})


def _worded(name: str) -> str:
    return NAMES.get(name, name.replace("_", " "))


def listed(module: Mapping[str, object]) -> tuple[Item, ...]:
    """The items of a module, in the order in which they stand there."""
    return tuple(x for x in module.values() if isinstance(x, Item))
