"""An item of a paper, and the row that answers a question with it."""

import csv
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, NamedTuple

from ..errors import AssumptionError
from .assumptions import check
from .papers import cited
from .question import Facts, Question

KINDS = ("theorem", "rate", "rule_of_thumb", "open")
SIGNS = {"at_least": "≥", "at_most": "≤"}
MAY_BE_ZERO = set("conflicts every heads mixed near padded parameters positions width".split())
Value = int | float | None
NAMES = {
    "union": "vocabulary",
    "outputs": "vocabulary",
    "mixed": "labels of multisets",
    "near": "distribution of each context",
    "conflicts": "labels of each context",
}


@dataclass(frozen=True)
class Bound:
    """A row: what an item of a paper says about a quantity."""

    paper: str
    item: str
    kind: str  # theorem, rate, rule_of_thumb or open
    direction: str  # at_least or at_most
    quantity: str  # what is bounded
    value: Value  # None where only a rate is known, or no number at all
    applies: bool  # whether the assumptions hold, as far as the facts show
    reason: str  # which assumption fails or which fact is missing; else what the value is about

    @property
    def source(self) -> str:
        """Where it is from, as a paper would cite it."""
        return cited(f"{self.paper}, {self.item}")

    def json(self) -> dict:
        return asdict(self)


class Assumption(NamedTuple):
    """holds is a function of facts, by their names; where one is not known it is taken to hold."""

    holds: Callable[..., bool]
    otherwise: str


@dataclass(frozen=True)
class Item:
    """One numbered statement."""

    paper: str
    item: str
    about: str  # whose facts it reads: "data", "architecture" or "both"
    kind: str
    direction: str
    quantity: str
    formula: str  # as the paper has it
    value: Callable[..., Value] | None = None  # of facts, by name; of a rate what stands in O(...)
    assumes: tuple[Assumption, ...] = ()  # beside A1 and A2, which the functions check themselves
    remark: str = ""  # one sentence for the case that it applies
    order: float | None = None  # the power of N that it grows with, up to logarithms

    def answer(self, question: Question) -> Bound:
        """The row; one without an answer has the reason."""
        found, reason = self._found(self._facts(question))
        rate = f"Only a rate: {self.formula}. {self.remark}".rstrip()
        remark = reason or (rate if self.kind == "rate" else self.remark)
        value = None if self.kind in ("rate", "open") else found
        fixed = self.paper, self.item, self.kind, self.direction, self.quantity
        return Bound(*fixed, value, reason is None, remark)

    def growth(self, question: Question) -> Value:
        """The value; of a rate, what stands in O(...)."""
        return self._found(self._facts(question))[0]

    def _facts(self, question: Question) -> Facts:
        """The facts, with the contexts that the statement is about.

        Where order does not count, a lower bound is about labels of multisets. An upper bound is
        about a model that reads order, and has to give each order of a multiset its label.
        """
        facts = question.facts(self.about)
        if not (self.about == "data" and self.direction == "at_least"):
            facts["contexts"] = facts.get("ordered") or facts.get("contexts")
        return facts

    def _found(self, facts: Facts) -> tuple[Value, str | None]:
        """The value, or why there is none. A rate needs no numbers."""
        try:
            for assumption in self.assumes:
                if not _unknown(assumption.holds, facts) and not _called(assumption.holds, facts):
                    return None, assumption.otherwise.format_map(facts)
            if self.value is None:
                return None, None
            missing = [_worded(name) for name in _unknown(self.value, facts)]
            if missing:
                unknown = f"not known: {', '.join(dict.fromkeys(missing))}."
                return None, None if self.kind == "rate" else unknown
            names = set(inspect.signature(self.value).parameters) - MAY_BE_ZERO
            sizes = {_worded(name): facts.get(name) for name in sorted(names)}
            check(**{name: (size, 1) for name, size in sizes.items() if isinstance(size, int)})
            value = _called(self.value, facts)
        except AssumptionError as error:
            return None, str(error)
        except OverflowError:
            return None, "the facts are too large for floating point."
        if isinstance(value, float) and not math.isfinite(value):
            return None, "it says nothing: the bound is infinite."
        return value, None


def _unknown(function: Callable, facts: Facts) -> list[str]:
    """The facts that it needs and that are not known."""
    needed = inspect.signature(function).parameters.values()
    return [x.name for x in needed if x.default is x.empty and facts.get(x.name) is None]


def _called(function: Callable, facts: Facts) -> Value:
    return function(**{name: facts.get(name) for name in inspect.signature(function).parameters})


def _worded(name: str) -> str:
    return NAMES.get(name, name.replace("_", " "))


def items(group: str, **code: tuple[Any, ...]) -> dict[str, Item]:
    """The items of items.csv of this group, by name, with their value and assumptions in code."""
    text = files(__package__).joinpath("items.csv").read_text("utf-8")
    rows = [row for row in csv.DictReader(text.splitlines()) if row.pop("group") == group]
    names = [row.pop("name") for row in rows]
    assert code.keys() <= set(names), "code without an item"
    result = {}
    for name, row in zip(names, rows, strict=True):
        order = json.loads(row.pop("order") or "null")
        value, *assumes = code.get(name, (None,))
        result[name] = Item(**row, value=value, assumes=tuple(assumes), order=order)
    return result
