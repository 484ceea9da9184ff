"""Fewer bits per parameter, more parameters: the same data under several limits.

Paper: kajitsuka2025, Theorem F.1. Every row is a network that was built and verified.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..claims.record import DataSizes
from ..claims.result import Result, picked
from ..data.load import dataset_of, name_of
from ..errors import AssumptionError, one_of
from ..machine.tables import Content, Tabular
from ..machine.watch import SILENT, Watch
from ..models.model import Model
from .compile import compile
from .reading import reading_of

METHOD, PLAIN = "limited-bits", "hash-fold-retrieve"
STEPS, MOST = 8, 64  # limits that are tried if none are given, and the largest of them
FORMS = {"small": ("small",), "faithful": ("faithful",), "both": ("small", "faithful")}
COLUMNS = ("bits per parameter", "form", "nonzero", "code word", "longest", "depth", "")


@dataclass(frozen=True)
class Row(Result):
    """A network under a limit or, where the limit is refused, the reason."""

    bits: int | None  # the limit; None for the network without one
    form: str | None
    nonzero: int | None = None  # parameters that are not 0
    encoded: int | None = None  # bits of the code word for the whole network
    total: int | None = None  # the digits of all parameters, which are no code
    largest: int | None = None  # bits of the longest parameter
    depth: int | None = None
    evidence: str | None = None
    reason: str | None = None


@dataclass(frozen=True, repr=False)
class Tradeoff(Tabular):
    """Parameters against bits per parameter."""

    name: str
    dataset: DataSizes
    smallest: Mapping[str, int]  # the smallest possible limit of each form
    rows: tuple[Row, ...]  # one network per form and limit
    plain: Row  # the network without a limit
    entropy: float  # the bits that these labels need, by their frequencies
    information: float  # the bits that the worst labels need
    picture: str | None = None

    def json(self) -> dict:
        return {
            "method": METHOD,
            "dataset": {**self.dataset.counts(), "name": self.name},
            **picked(self, "smallest rows"),
            "plain": {
                "method": PLAIN,
                **picked(self.plain, "nonzero encoded total largest depth evidence"),
            },
            **picked(self, "entropy information picture"),
        }

    def table(self) -> Content:
        title = f"{METHOD}: {self.information:,.0f} bits of information"
        rows = []
        for row in (*self.rows, self.plain):
            name = (row.bits, row.form) if row.bits else ("no limit", PLAIN)
            sizes = (row.nonzero, row.encoded, row.largest, row.depth)
            rows.append((*name, *sizes, row.reason or row.evidence))
        return title, COLUMNS, rows


def tradeoff(
    data: Any,
    bits: Iterable[int] | None = None,
    form: str = "small",
    *,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
    **options: object,
) -> Tradeoff:
    """Build limited-bits under several limits, beside the network without one.

    Args:
        data: What is memorised: a Dataset, or whatever `load` reads.
        bits: Limits on the bits of a parameter; by default, from the smallest possible one on.
        form: "small" (ours), "faithful" (the paper's) or "both".
        loading: The options of `load` for a file.
        watch: Told of each network before it is built.
        **options: As in `compile`: positions, on_conflict, seed, ..., and the options of `load`.

    Returns:
        One row per form and limit; a limit that is too small has the reason instead of a size.

    Example:
        >>> from byheart import from_rows
        >>> answer = tradeoff(from_rows([(["a"], "x"), (["b"], "y")]), bits=[8, 16])
        >>> [row.evidence for row in answer.rows]
        ['proved', 'proved']
    """
    loading, options = reading_of(loading, options)
    watch.stage("loading")
    dataset = dataset_of(data, loading)
    one_of(FORMS, form=form)
    forms = FORMS[form]

    def build(**more: object) -> Model:
        return compile(dataset, **options, **more)  # type: ignore[arg-type]

    def smallest(form: str) -> int:
        """The smallest limit, which the refusal of a limit of 1 bit holds."""
        try:
            build(method=METHOD, form=form, bits=1)
        except AssumptionError as error:
            if error.smallest is None:
                raise
            return error.smallest
        return 1

    def sized(limit: int | None, form: str | None, model: Model) -> Row:
        assert model.verification is not None
        bits = model.bits
        sizes = (model.parameters.nonzero, bits.encoded, bits.total, bits.largest)
        return Row(limit, form, *sizes, model.network.depth, model.verification.evidence)

    watch.stage("building")
    plain = build(method=PLAIN)
    least = {form: smallest(form) for form in forms}
    limits = sorted(set(bits or ())) or steps(min(least.values()))
    rows = []
    for form in forms:
        for limit in limits:
            watch.note(f"{form}, {limit} bits")
            try:
                rows.append(sized(limit, form, build(method=METHOD, form=form, bits=limit)))
            except AssumptionError as error:
                rows.append(Row(limit, form, reason=str(error)))
    own, sizes = plain.record.bits, plain.record.data
    assert own.entropy is not None and own.information is not None  # compile has counted them
    networks = (tuple(rows), sized(None, None, plain))
    return Tradeoff(name_of(data), sizes, least, *networks, own.entropy, own.information)


def steps(smallest: int) -> list[int]:
    """About STEPS limits from the smallest to MOST (or its double), in equal ratios.

    >>> steps(16)
    [16, 20, 24, 29, 35, 43, 53, 64]
    """
    most = max(MOST, 2 * smallest)
    ratio = (most / smallest) ** (1 / (STEPS - 1))
    return sorted({round(smallest * ratio**i) for i in range(STEPS)})
