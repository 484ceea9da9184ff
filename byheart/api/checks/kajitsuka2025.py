"""Assumption 4.1 and Definition 4.1 of kajitsuka2025, on data and on a model."""

from decimal import Decimal
from fractions import Fraction
from math import isqrt
from typing import Any

from ...data.dataset import Dataset
from ...data.statistics.separation import exact_separation
from ...data.statistics.separation import separation as rounded_separation
from ...errors import OptionError
from ...models.context_ids import extreme_ids
from ...models.model import Model
from ...theory.madden2024.balls import Real, exact
from .base import Outcome


def token_separation(
    data: Dataset, radius: Real | None = None, distance: Real | None = None
) -> Outcome:
    """Assumption 4.1: no token is longer than r, and two distinct ones are at least delta apart."""
    r, delta = _positive(radius=radius), _positive(distance=distance)
    used = data.occurring()
    separation = exact_separation(used.vectors)
    if separation is None:  # too many to compare
        about = rounded_separation(used.vectors)
        facts: dict[str, Any]
        facts = {"tokens": len(used.tokens), "radius": about.radius, "distance": about.distance}
        fails = r is not None and about.radius is not None and about.radius > r
        fails |= delta is not None and about.distance is not None and about.distance < delta
        detail = "too many tokens to compare exactly; in floats " + (
            "the tokens are not separated so" if fails else _separated(about.radius, about.distance)
        )
        return Outcome(None if fails else "observed", detail, None, facts)
    largest, nearest = separation.radius, separation.distance
    norm, apart = _root(largest, True), None if nearest is None else _root(nearest, False)
    facts = {"tokens": len(used.tokens), "radius": norm, "distance": apart}
    facts |= {"radius_squared": largest, "distance_squared": nearest}
    if r is not None and largest > r * r:
        token = used.token(separation.largest)
        detail = f"the token {token} has a larger norm, {norm}"
        return Outcome("refuted", detail, {"token": token, "norm": norm}, facts)
    if delta is not None and nearest is not None and nearest < delta * delta:
        pair = [used.token(i) for i in separation.nearest]
        detail = f"the tokens {pair[0]} and {pair[1]} are nearer, {apart} apart"
        return Outcome("refuted", detail, {"tokens": pair, "distance": apart}, facts)
    return Outcome("proved", _separated(norm, apart), None, facts)


def _separated(radius: object, distance: object) -> str:
    apart = "there is one token" if distance is None else f"tokens are at least {distance} apart"
    return f"no token has a norm above {radius}, and {apart}"


def contextual_mapping(
    model: Model,
    data: Dataset,
    radius: Real | None = None,
    distance: Real | None = None,
    every: bool | None = None,
) -> Outcome:
    """Definition 4.1: no id is larger than r, and those of different contexts differ by delta.

    For all tokens of each sequence (every), or for the last one; default: where the model answers.
    """
    r, delta = _positive(radius=radius), _positive(distance=distance)
    ids = extreme_ids(model, data, every)
    facts = {"sequences": len(data), "radius": ids.radius, "distance": ids.separation}
    if not ids.separation or (delta is not None and ids.separation < delta):
        places = [
            {"place": str(x), "sequence": data.sequence(x.sequence), "token": x.token}
            for x in ids.nearest
        ]
        how = f"differ by {ids.separation}" if ids.separation else "are equal"
        detail = f"the ids of {ids.nearest[0]} and {ids.nearest[1]}, different contexts, {how}"
        return Outcome("refuted", detail, {"contexts": places}, facts)
    if r is not None and ids.radius > r:
        place = {"place": str(ids.largest), "sequence": data.sequence(ids.largest.sequence)}
        detail = f"the id of {ids.largest} is {ids.radius} in size"
        return Outcome("refuted", detail, {"contexts": [place]}, facts)
    detail = (
        f"no context id is larger than {ids.radius}, and those of different contexts differ by "
        f"at least {ids.separation}"
    )
    return Outcome("proved", detail, None, facts)


def _positive(**given: Real | None) -> Fraction | None:
    """The number, as a fraction; ByheartError if it is not above 0."""
    ((name, value),) = given.items()
    if value is None:
        return None
    (number,) = exact([value])
    if number <= 0:
        raise OptionError(name, value, "must be above 0")
    return number


def _root(square: Fraction, up: bool) -> str:
    """The square root in decimal digits: exact if that is short, else rounded up or down.

    >>> _root(Fraction(9, 4), True), _root(Fraction(2), True), _root(Fraction(2), False)
    ('1.5', '1.414214', '1.414213')
    """
    if not square:
        return "0"
    places = 0
    while square * 100**places < 10**12:
        places += 1
    scaled = square * 100**places
    digits = isqrt(scaled.numerator // scaled.denominator)
    digits += up and digits * digits != scaled
    return f"{Decimal(digits).scaleb(-places).normalize():f}"
