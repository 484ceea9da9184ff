"""The least divergence over the dimension: how near to a dataset any model can come."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..data.contexts import contexts
from ..data.dataset import Dataset
from ..data.load import dataset_of
from ..data.targets import Targets
from ..data.targets import targets as targets_of
from ..errors import AssumptionError
from ..gadgets.logits import check_gap
from ..machine.tables import Content, Tabular
from ..machine.threads import single
from ..machine.watch import SILENT, Watch
from . import candidates, certain, nearest
from .encoder import Encoder, merged
from .exact import lossless
from .polytope import vanishing

GAP = 1e-9
STEPS, LARGEST = 7, 256  # dimensions that are tried by default, the largest of them


@dataclass(frozen=True)
class EncoderPoint:
    """The best encoder of one dimension.

    divergence  the mean over predictions, in nats; `largest` is that of the worst context
    exact       whether it is a closed form: 0 up to the gap. Otherwise the divergence is an upper
                bound on the infimum
    tried       the divergence of every encoder that was tried, by name
    """

    dimension: int
    divergence: float
    largest: float
    encoder: str
    exact: bool
    seconds: float
    tried: Mapping[str, float]

    def json(self) -> dict:
        return {**vars(self), "tried": dict(self.tried)}


@dataclass(frozen=True, repr=False)
class EncoderCurve(Tabular):
    """The least divergence of encoders of a dataset, one point per dimension.

    distributions  how many different ones the contexts have
    associations   whether every context has one label
    entropy        of the data, in nats per prediction
    vanishing      a dimension from which on the infimum is 0
    """

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

    def json(self) -> dict:
        """The same as plain numbers, words, lists and dictionaries."""
        data = ("sequences", "contexts", "distributions", "associations", "vocabulary", "length")
        return {
            "dataset": {name: getattr(self, name) for name in data},
            "entropy": self.entropy,
            "vanishing": self.vanishing,
            "gap": self.gap,
            "seed": self.seed,
            "rows": [point.json() for point in self.points],
        }

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
    data: Dataset,
    dimensions: Sequence[int] | None = None,
    gap: float = GAP,
    seed: int = 0,
    watch: Watch = SILENT,
) -> EncoderCurve:
    """How near to a dataset any model of dimension d can come: d_KL(pi, L(N, S, d)) over d.

    The divergence is that of a matrix times any vector of the context: a closed form where there
    is one, otherwise the best that is found, which is an upper bound.

    Args:
        data: One label per sequence; its tokens are words or integers.
        dimensions: Those to try. Default: about seven, from 2 to where nothing is lost.
        gap: What counts as 0 where the data has zeros, in nats.
        seed: Random seed of the unit vectors and of the optimiser.
        watch: Receives the stages of the search.

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
    data = dataset_of(data)
    check_gap(gap)
    if data.every:
        raise AssumptionError(
            "An encoder gives a sequence one distribution, and in this data every token has a "
            "label; use data with one label per sequence."
        )
    if not data.has_vocabulary:
        raise AssumptionError(
            "An encoder reads words or integers, and this data has tokens that are neither; "
            "number them."
        )
    targets = targets_of(data, contexts(data, True))
    watch.stage("searching")
    with single():
        points = tuple(sweep(targets, dimensions or steps(targets), gap, seed, watch.note))
    rows = merged(targets)
    return EncoderCurve(
        sequences=int(data.counts.sum()),
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


def sweep(
    targets: Targets,
    dimensions: Sequence[int],
    gap: float,
    seed: int = 0,
    report: Callable[[str], None] = lambda sentence: None,
) -> Iterator[EncoderPoint]:
    """A point for each dimension, in increasing order.

    An encoder of a smaller dimension is one of a larger, with zeros. Where the optimiser does worse
    with more room, the point keeps the smaller encoder, and its name says so.
    """
    rows = merged(targets).targets
    before: Encoder | None = None
    for dimension in sorted(set(dimensions)):
        report(f"dimension {dimension:,}")
        started = time.perf_counter()
        tried = list(candidates(rows, dimension, gap, seed))
        if before is not None and not tried[0].exact:
            tried.append(before.padded(dimension))
        before = nearest(tried)
        yield EncoderPoint(
            dimension=dimension,
            divergence=before.divergence,
            largest=before.largest,
            encoder=before.name,
            exact=before.exact,
            seconds=time.perf_counter() - started,
            tried={encoder.name: encoder.divergence for encoder in tried},
        )


def steps(targets: Targets) -> list[int]:
    """About STEPS dimensions from 2 to where nothing is lost (or LARGEST), in equal ratios."""
    last = min(lossless(merged(targets)), LARGEST)
    if last <= 2:
        return list(range(1, last + 1))
    ratio = (last / 2) ** (1 / (STEPS - 1))
    return sorted({round(2 * ratio**i) for i in range(STEPS)})
