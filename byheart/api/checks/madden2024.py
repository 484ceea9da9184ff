"""Theorems 2, 3, 4 and 6 of madden2024, for numbers of the user's own.

The theorems are about generic numbers: those that are not given are drawn, and what one draw proves
holds for generic ones (byheart/theory/madden2024/checks.py, G1).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from ...data.dataset import Dataset
from ...errors import ByheartError, at_least
from ...theory.madden2024 import checks
from ...theory.madden2024.balls import exact
from ...theory.madden2024.kruskal import Powers, Relation, mirrored_relation, smallest_relation
from .base import Numbers, Outcome, distinct_sequences, generic

Injection = Callable[..., checks.Check]


def polynomial_rank(
    coefficients: Numbers,
    inputs: Numbers,
    weights: Numbers | None = None,
    neurons: int | None = None,
    seed: int = 0,
) -> Outcome:
    """Theorem 2; coefficients of 1, x, x^2, ..., and psi(w x) for every weight w and input x."""
    terms = {k: c for k, c in enumerate(exact(coefficients)) if c}
    a, b = _weights(inputs, weights, neurons, seed)
    verdict = checks.theorem_2(terms, a, b, seed)
    if verdict.evidence != "refuted":
        return _ranked(verdict, len(a), weights)
    powers, wanted = Powers(terms, a, b), min(len(a), len(b), len(terms))
    always = smallest_relation(powers.vandermonde(), wanted)
    relation = always or smallest_relation(powers.exact(), wanted)
    if always is None and weights is None:
        detail = "some columns are dependent for the weights drawn; for others they may not be"
        return Outcome(None, detail)
    return _ranked(verdict, len(a), weights, relation, b, always is not None)


def activation_rank(
    activation: str,
    inputs: Numbers,
    weights: Numbers | None = None,
    neurons: int | None = None,
    seed: int = 0,
) -> Outcome:
    """Theorem 3, for psi by its name."""
    a, b = _weights(inputs, weights, neurons, seed)
    verdict = checks.theorem_3(activation, a, b, seed)
    relation = mirrored_relation(activation, b) if verdict.evidence == "refuted" else None
    return _ranked(verdict, len(a), weights, relation, b)


def _weights(
    inputs: Numbers, weights: Numbers | None, neurons: int | None, seed: int
) -> tuple[list[Fraction], list[Fraction]]:
    """a and b of psi(a b^T)."""
    at_least(1, neurons=neurons)
    if weights is not None and neurons not in (None, len(weights)):
        raise ByheartError(f"`neurons` must be the number of weights, {len(weights)}, or left out.")
    b = exact(inputs)
    return exact(weights) if weights is not None else generic(neurons or len(b), seed), b


def _ranked(
    verdict: checks.Check,
    neurons: int,
    weights: Numbers | None,
    relation: Relation | None = None,
    inputs: Sequence[Fraction] = (),
    always: bool = True,
) -> Outcome:
    """The outcome of Theorem 2 or 3; a relation between columns is the counterexample."""
    facts = {"neurons": neurons, "rank": verdict.rank, "kruskal_rank": verdict.kruskal_rank}
    detail = verdict.detail
    if verdict.holds:
        whose = "for generic weights" if weights is None else "for these and for generic weights"
        detail = f"{detail}, {whose}"
    if relation is None:
        return Outcome(verdict.evidence, detail, None, facts)
    columns = [inputs[j] for j in relation.columns]
    equation = ""
    for factor, x in zip(relation.factors, columns, strict=True):
        sign = "-" if factor < 0 else "+" if equation else ""
        size = "" if abs(factor) == 1 else f"{abs(factor)} "
        equation += f" {sign} {size}psi({x} w)"
    where = "for every weight w" if always else "for each of these weights w"
    says = f"{' '.join(equation.split())} = 0 {where}"
    if always:
        detail = f"{detail}; with all inputs above zero it would hold"
    example = {"inputs": columns, "factors": list(relation.factors), "says": says}
    return Outcome(verdict.evidence, detail, example, facts)


def injective(
    theorem: Injection,
    token_values: Numbers | None = None,
    position_values: Numbers | None = None,
    data: Dataset | None = None,
    vocabulary: int | None = None,
    length: int | None = None,
    seed: int = 0,
) -> Outcome:
    """Theorem 4 or 6, for the contexts of the data or for all contexts of up to `length` tokens."""
    at_least(1, vocabulary=vocabulary, length=length)
    contexts = None
    if data is not None:
        if vocabulary is not None:
            raise ByheartError("`vocabulary=...` must be left out: the data has its own tokens.")
        contexts = distinct_sequences(data)
        vocabulary, length = len(data.tokens), data.length
    z = _values("token_values", token_values, "vocabulary", vocabulary, seed)
    u = _values("position_values", position_values, "length", length, seed + 1)
    count = sum(len(z) ** t for t in range(1, len(u) + 1)) if contexts is None else len(contexts)
    facts = {"vocabulary": len(z), "length": len(u), "contexts": count}
    verdict = theorem(z, u, contexts)
    if verdict.holds:
        drawn = token_values is None or position_values is None
        whose = "generic values" if drawn else "these and for generic values"
        detail = f"{count:,} contexts have distinct numbers, none of them zero, for {whose}"
        return Outcome(verdict.evidence, detail, None, facts)
    for t in range(1, max(map(len, verdict.pair))):  # is there a shorter pair?
        shorter = None if contexts is None else [c for c in contexts if len(c) <= t]
        also = theorem(z, u[:t], shorter)
        if not also.holds:
            verdict = also
            break
    pair = [[g if data is None else data.token(g) for g in context] for context in verdict.pair]
    has = "has the number zero" if len(pair) == 1 else "have one number"
    detail = f"these values are not generic: {' and '.join(map(str, pair))} {has}"
    return Outcome(verdict.evidence, detail, {"contexts": pair}, facts)


def _values(
    name: str, values: Numbers | None, count: str, size: int | None, seed: int
) -> list[Fraction]:
    """The values, drawn if none are given."""
    if values is None:
        if size is None:
            raise ByheartError(
                f"give `{name}=...`, or data, or `{count}=...` to draw that many values."
            )
        return generic(size, seed, 0, 2)
    if not values or size not in (None, len(values)):
        raise ByheartError(f"`{name}` must be {size or 'one or more'} numbers, not {len(values)}.")
    return exact(values)
