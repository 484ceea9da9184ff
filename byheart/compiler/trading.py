"""Fewer bits a parameter, more parameters: the same data under several limits.

Paper: kajitsuka2025, Theorem F.1. Every row is a network that was built and verified.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from ..constructions.base import Report
from ..data.dataset import Dataset
from ..data.values import integer_list
from ..errors import AssumptionError
from ..models.model import Model
from .compiling import compile, find

METHOD, PLAIN = "limited-bits", "hash-fold-retrieve"
STEPS, MOST = 8, 64  # limits that are tried if none are named, the largest of them


def tradeoff(
    dataset: Dataset,
    *,
    forms: Sequence[str] = ("small",),
    bits: Sequence[int] | None = None,
    report: Report = lambda sentence: None,
    **options: object,
) -> dict:
    """The rows, the network without a limit, and the bits that the worst labelling needs.

    bits     limits (default: from the smallest possible on)
    options  as in compile
    """

    def build(**more: object) -> Model:
        model = compile(dataset, **options, **more)  # type: ignore[arg-type]
        assert isinstance(model, Model)  # both methods store labels
        return model

    for form in forms:
        find(METHOD, form)
    plain = build(method=PLAIN)
    smallest = {form: _smallest(build, form) for form in forms}
    limits = sorted(set(bits)) if bits else steps(min(smallest.values(), default=1))
    return {
        "method": METHOD,
        "dataset": {key: x for key, x in plain.about["data"].items() if key != "sha256"},
        "smallest": smallest,
        "rows": list(_rows(build, forms, limits, report)),
        "plain": {"method": PLAIN, **_size(plain)},
        "information": plain.about["bits"]["information"],
    }


def steps(smallest: int) -> list[int]:
    """About STEPS limits from the smallest to MOST (or its double), in equal ratios.

    >>> steps(16)
    [16, 20, 24, 29, 35, 43, 53, 64]
    """
    most = max(MOST, 2 * smallest)
    ratio = (most / smallest) ** (1 / (STEPS - 1))
    return sorted({round(smallest * ratio**i) for i in range(STEPS)})


def _smallest(build: Callable[..., Model], form: str) -> int:
    """The smallest limit, as the refusal of a limit of 1 bit names it."""
    try:
        build(method=METHOD, form=form, bits=1)
    except AssumptionError as error:
        named = re.search(r"(?:smallest|least)\D*(\d+)", str(error))
        if named is None:
            raise
        return int(named[1])
    return 1


def _rows(
    build: Callable[..., Model], forms: Sequence[str], limits: Sequence[int], report: Report
) -> Iterator[dict]:
    for form in forms:
        for limit in limits:
            report(f"{form}, {limit} bits")
            yield {"bits": limit, "form": form, **_row(build, form, limit)}


def _row(build: Callable[..., Model], form: str, limit: int) -> dict:
    """The network's size or, where the limit is refused, the reason."""
    try:
        model = build(method=METHOD, form=form, bits=limit)
    except AssumptionError as error:
        return dict.fromkeys((*SIZE, "evidence")) | {"reason": str(error)}
    return {**_size(model), "reason": None}


SIZE = ("nonzero", "total", "largest", "depth")


def _size(model: Model) -> dict:
    parameters, bits = model.about["parameters"], model.about["bits"]
    sizes = (parameters["nonzero"], bits["total"], bits["largest"], model.network.depth)
    evidence = model.about["verification"].evidence
    return {**dict(zip(SIZE, sizes, strict=True)), "evidence": evidence}


def limits_of(text: str) -> list[int]:
    """The numbers of a list like 16,24,32."""
    return integer_list(text, "bits", "16,24,32")
