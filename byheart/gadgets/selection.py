"""Which interval holds a number: the selectors of kajitsuka2025, Lemmas G.2 and G.3."""

from collections.abc import Mapping, Sequence

from .relu_layers import Step, carry, row


def select(
    lane: str, first: int, last: int, numbers: Mapping[str, int], carried: Sequence[str]
) -> list[Step]:
    """Each lane of `numbers` += its number, if the lane x is in [first, last + 1]; three layers.

    Lemma G.2 with a = first and b = last + 1: the indicator is
        relu(1 - relu(2a - 2x)) + relu(1 - relu(2x - 2b)) - 1.
    In [a, b] both inner terms are 0, so it is 1 + 1 - 1 = 1. Below a - 1/2 the first inner term is
    above 1, so it is 0 + 1 - 1 = 0; above b + 1/2 likewise. In the two gaps of length 1/2 it is
    neither; floors of keys that are 2 apart keep every other key out of them:
    x <= key - 2 < floor(key) - 1 and x >= key + 2 >= floor(key) + 2.
    Lemma G.3 adds number * indicator to a lane, which is not negative, so relu carries it.
    """
    a, b = first, last + 1
    held = carry(*carried, lane, *numbers)
    edges = (row("below", {lane: -2}, 2 * a), row("above", {lane: 2}, -2 * b))
    sides = (row("not below", {"below": -1}, 1), row("not above", {"above": -1}, 1))
    added = tuple(
        row(k, {k: 1, "not below": w, "not above": w}, -w)  # eq. (152)
        for k, w in numbers.items()
    )
    return [
        Step("select", held + edges),
        Step("select", held + sides),
        Step("select", carry(*carried, lane) + added),
    ]
