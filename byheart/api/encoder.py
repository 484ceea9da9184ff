"""encoder: the least divergence over the dimension, or how near to a dataset any model can come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..claims.result import picked
from ..data.contexts import contexts
from ..data.load import dataset_of, name_of
from ..data.targets import targets as targets_of
from ..encoders import certain
from ..encoders.curve import EncoderPoint, steps, sweep
from ..encoders.encoder import merged
from ..encoders.polytope import vanishing
from ..errors import AssumptionError
from ..gadgets.logits import check_gap
from ..machine.tables import Content, Tabular
from ..machine.threads import single
from ..machine.watch import SILENT, Watch
from .reading import reading_of

KNOWN = ("dimensions", "gap", "seed")
GAP = 1e-9


@dataclass(frozen=True, repr=False)
class EncoderCurve(Tabular):
    """The least divergence of encoders of a dataset, one point per dimension.

    distributions  how many different ones the contexts have
    associations   whether every context has one label
    entropy        of the data, in nats per prediction
    vanishing      a dimension from which on the infimum is 0
    """

    name: str
    sequences: int
    contexts: int
    distributions: int
    associations: bool
    vocabulary: int
    length: int
    entropy: float
    vanishing: int
    gap: float
    seed: int
    points: tuple[EncoderPoint, ...]
    picture: str | None = None

    def json(self) -> dict:
        data = "name sequences contexts distributions associations vocabulary length"
        rest = "entropy vanishing gap seed rows=points picture"
        return {"dataset": picked(self, data), **picked(self, rest)}

    def table(self) -> Content:
        """Title, names of the columns, and one row per dimension."""
        title = (
            f"{self.contexts:,} contexts with {self.distributions:,} distributions over "
            f"{self.vocabulary:,} tokens. The infimum is 0 from dimension {self.vanishing:,}."
        )
        rows: list[tuple[object, ...]] = [
            (x.dimension, x.divergence, x.largest, "exact" if x.exact else "upper bound", x.encoder)
            for x in self.points
        ]
        return title, ("dimension", "divergence", "largest", "", "encoder"), rows


def encoder(
    data: Any,
    dimensions: Sequence[int] | None = None,
    gap: float = GAP,
    seed: int = 0,
    *,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
    **reading: Any,
) -> EncoderCurve:
    """How near to a dataset any model of dimension d can come: d_KL(pi, L(N, S, d)) over d.

    The divergence is that of a matrix times any vector of the context: a closed form where there
    is one, otherwise the best that is found, which is an upper bound.

    Args:
        data: A Dataset, or whatever `load` reads: one label per sequence, and tokens that are
            words or integers.
        dimensions: Those to try. Default: about seven, from 2 to where nothing is lost.
        gap: What counts as 0 where the data has zeros, in nats.
        seed: Random seed of the unit vectors and of the optimiser.
        loading: The options of `load` for a file.
        watch: Receives the stages of the search.
        **reading: The options of `load`, one by one.

    Returns:
        The points by increasing dimension, with the numbers of the data.

    Raises:
        ByheartError: If the gap is out of range.
        AssumptionError: If the data has a label for every token, fewer than two tokens, or tokens
            that are neither words nor integers.

    Example:
        >>> import byheart
        >>> data = byheart.from_rows([(["a"], "x"), (["b"], "y"), (["c"], "z")])
        >>> [(point.dimension, point.encoder) for point in encoder(data, [2, 3]).points]
        [(2, 'circle'), (3, 'exact')]
    """
    loading, _ = reading_of(loading, reading, KNOWN)
    watch.stage("loading")
    dataset = dataset_of(data, loading)
    check_gap(gap)
    if dataset.every:
        raise AssumptionError(
            "An encoder gives a sequence one distribution, and in this data every token has a "
            "label; use data with one label per sequence."
        )
    if not dataset.has_vocabulary:
        raise AssumptionError(
            "An encoder reads words or integers, and this data has tokens that are neither; "
            "number them."
        )
    targets = targets_of(dataset, contexts(dataset, True))
    watch.stage("searching")
    with single():
        points = tuple(sweep(targets, dimensions or steps(targets), gap, seed, watch))
    rows = merged(targets)
    return EncoderCurve(
        name=name_of(data),
        sequences=int(dataset.counts.sum()),
        contexts=len(targets),
        distributions=len(rows.targets),
        associations=certain(targets),
        vocabulary=len(targets.vocabulary),
        length=targets.length,
        entropy=targets.entropy / int(targets.counts.sum()),
        vanishing=vanishing(rows),
        gap=gap,
        seed=seed,
        points=points,
    )
