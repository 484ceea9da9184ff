"""Figures 1a, 1b, 2a and 4 of dana2024: accuracy on all bigrams as one size of the model grows."""

from dataclasses import dataclass
from functools import cached_property

from ..figure import Part, RowsByLabel, Settings
from ..fits import Fit, least_squares
from ..published import column
from . import parts
from .parts import DIFFERENCES, Points

AUTHORS = ("script", "paper")  # protocols of theirs, for orientation


@dataclass(frozen=True)
class Scaling:
    """A figure with one size on its axis.

    axis        the size that grows, letter its sign in the paper
    values      what it takes, quick a few of them
    sizes       the other sizes of the model
    experiment  of the published numbers
    degree      of the polynomial that is fitted, unless `pieces` cuts the axis in two lines
    others      values that are trained by the authors' schedules as well
    """

    name: str
    title: str
    paper: str
    vocabulary: int
    axis: str
    letter: str
    values: tuple[int, ...]
    quick: tuple[int, ...]
    sizes: dict[str, int]
    experiment: str
    degree: int = 1
    pieces: int | None = None
    seeds: int = parts.SEEDS
    others: tuple[tuple[str, tuple[int, ...]], ...] = ()
    remark: str = ""

    def trains(self, settings: Settings) -> list[Part]:
        """All values by the protocol fast, a few by those of the authors."""
        dataset = parts.table(self.vocabulary)
        values = self.quick if settings.quick else self.values
        wanted = [("fast", values, self.seeds)]
        if not settings.quick:
            wanted += [(name, some, 1) for name, some in self.others]
        return [
            parts.part(settings, name, dataset, self.sizes, (self.axis, some), name, seeds)
            for name, some, seeds in wanted
        ]

    @property
    def labels(self) -> tuple[str, ...]:
        return ("fast", *(name for name, _ in self.others))

    @cached_property
    def theirs(self) -> Points:
        """The published accuracies, which have no spread."""
        fixed = {**self.sizes, "vocabulary": self.vocabulary}
        found = parts.published(self.experiment, **fixed)
        return parts.exact(column(found, self.axis), column(found, "accuracy"))

    def laws(self, rows: RowsByLabel) -> list[Fit]:
        """The polynomial, or the two lines, for our points and for the published ones."""
        ours = parts.points(rows.get("fast", ()), self.axis)
        return [
            fit
            for name, found in (("ours", ours), ("published", self.theirs))
            for part, xs in self.pieces_of(parts.unsaturated(found))
            for fit in parts.law(name + part, {x: found[x] for x in xs}, self._degree, self.letter)
        ]

    @property
    def _degree(self) -> int:
        return 1 if self.pieces else self.degree

    def pieces_of(self, found: Points) -> list[tuple[str, list[int]]]:
        if self.pieces is None:
            return [("", list(found))]
        cut, sign = self.pieces, self.letter
        return [
            (f", {sign} <= {cut}", [x for x in found if x <= cut]),
            (f", {sign} >= {cut}", [x for x in found if x >= cut]),
        ]

    def fits(self, rows: RowsByLabel) -> list[Fit]:
        """The laws, and C(N) H d_h^2 d + C' of the paper where H or d_h grows."""
        return [*self.laws(rows), *self._products(rows)]

    def _products(self, rows: RowsByLabel) -> list[Fit]:
        if self.axis == "dimension":  # the law is for d_h <= d
            return []
        ours = parts.points(rows.get("fast", ()), self.axis)
        found = []
        for name, some in (("ours", ours), ("published", self.theirs)):
            kept = {x: y for x, (y, _, _) in parts.unsaturated(some).items()}
            if len(kept) > 1:
                products = [_product(self.all_sizes(x)) for x in kept]
                columns = {"H d_h^2 d": products, "1": [1] * len(kept)}
                found.append(least_squares(f"{name}, C(N) H d_h^2 d", columns, [*kept.values()]))
        return found

    def all_sizes(self, value: int) -> dict[str, int]:
        return {**self.sizes, self.axis: value}

    def caption(self, rows: RowsByLabel) -> str:
        said = [parts.trained(rows), self._compared(rows), DIFFERENCES, self.remark]
        return " ".join(x for x in said if x)

    def _compared(self, rows: RowsByLabel) -> str:
        """What the authors' schedules come to on the table, beside what was reported."""
        found = [
            f"{self.letter} = {x}: {name} {y:.3f}, published {self.theirs[x][0]:.3f}"
            for name in AUTHORS
            for x, (y, _, _) in parts.points(rows.get(name, ()), self.axis).items()
            if x in self.theirs
        ]
        return (
            f"The authors' schedules, judged on all bigrams: {'; '.join(found)}." if found else ""
        )


def _product(sizes: dict[str, int]) -> int:
    return sizes["heads"] * sizes["head_dimension"] ** 2 * sizes["dimension"]
