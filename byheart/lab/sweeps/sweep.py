"""Sweep: a question (how large must it be?) as the trials that answer it.

Which trials are still wanted is a function of the rows that are there, and of nothing else. So a
sweep that was killed resumes, and asks for the same trials as one that was not.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any

from ...architectures.trainable import trainable
from ...errors import ByheartError, OptionError
from ..protocol import Protocol
from ..trial import Criterion, Row, Trial

SEQUENCES = "sequences"  # the axis of the data: how many of its first sequences are learnt
Axis = tuple[str, tuple[int, ...]]
Place = tuple[int, ...]  # a value of every axis except the last
RowsByKey = Mapping[str, Row]


@dataclass(frozen=True)
class Sweep:
    """A grid of sizes, each trained with several seeds."""

    architecture: str
    sizes: Mapping[str, int]  # of the architecture that stay the same
    # what varies, name and increasing values; the last axis is the one that is searched for its
    # smallest value that memorises; "sequences" is the axis of the data
    axes: tuple[Axis, ...]
    data: Mapping[str, Any]  # {"sha256": ...}, and "loss": "squared" unless it is the cross-entropy
    protocol: Protocol
    criterion: Criterion
    seeds: int = 1
    find: bool = False  # bisect the last axis, instead of training all of it

    def __post_init__(self) -> None:
        if not self.axes:
            raise ByheartError("nothing varies: there is no axis.")
        if self.seeds < 1:
            raise OptionError("seeds", self.seeds, "must be 1 or more")
        if self.find and self.axes[-1][0] == SEQUENCES:
            raise ByheartError("a size is searched for; the axis sequences cannot be the last.")
        names = [name for name, _ in self.axes]
        for name, values in self.axes:
            if names.count(name) > 1:
                raise ByheartError(f"the axis {name} is given twice.")
            if name in self.sizes:
                raise ByheartError(f"{name} is an axis and is fixed as well.")
            if not values or values[0] < 1 or any(a >= b for a, b in pairwise(values)):
                raise ByheartError(f"the values of the axis {name} must increase from 1 or more.")

    @property
    def searched(self) -> Axis:
        return self.axes[-1]

    @property
    def size(self) -> int:
        return prod(len(values) for _, values in self.axes) * self.seeds

    @property
    def places(self) -> list[Place]:
        """The combinations of the other axes, the first axis slowest."""
        return list(product(*(values for _, values in self.axes[:-1])))

    def at(self, place: Place) -> dict[str, int]:
        return dict(zip((name for name, _ in self.axes[:-1]), place, strict=True))

    def trial(self, place: Place, value: int, seed: int) -> Trial:
        """The trial at one point of the grid; its sizes are complete, as its row will have them."""
        point = {**self.at(place), self.searched[0]: value}
        data = dict(self.data)
        if SEQUENCES in point:
            data[SEQUENCES] = point.pop(SEQUENCES)
        sizes = trainable(self.architecture).complete({**self.sizes, **point})
        return Trial(self.architecture, sizes, data, self.protocol, self.criterion, seed)

    def trials(self) -> list[Trial]:
        """The whole grid: places in order, the searched axis within, seeds innermost."""
        return list(self._grid)

    @cached_property
    def _grid(self) -> tuple[Trial, ...]:
        """The trials, made once: they cache their keys, which are read after every row."""
        return tuple(
            self.trial(place, value, seed)
            for place in self.places
            for value in self.searched[1]
            for seed in range(self.seeds)
        )

    def wanted(self, rows: RowsByKey) -> list[Trial]:
        """The trials that can be run now and are not in the rows; none if the question is answered.

        A bisection wants one trial at a time for every place and seed. A trial that is wanted stays
        so until its row is there, whatever other rows come.
        """
        if not self.find:
            return [trial for trial in self._grid if trial.key not in rows]
        return [trial for trial, _, _ in self._searches(rows) if trial is not None]

    def total(self, rows: RowsByKey) -> int:
        """How many trials it takes in all; of a bisection, at most."""
        if not self.find:
            return self.size
        return sum(done + left for _, done, left in self._searches(rows))

    def done(self, rows: RowsByKey) -> int:
        if not self.find:
            return sum(trial.key in rows for trial in self._grid)
        return sum(done for _, done, _ in self._searches(rows))

    def _searches(self, rows: RowsByKey) -> Iterator[tuple[Trial | None, int, int]]:
        """Bisect every line of the grid as far as the rows go.

        Of each, the trial that it wants next, how many are done, how many it may still take.

        Values up to `low` count as too small and those from `high` on as large enough, so the
        smallest is among high - low places, one of them beyond the axis, and every trial halves
        them: ceil(log2(k + 1)) trials for k values, whatever their outcomes are.
        """
        values = self.searched[1]
        for place, seed in product(self.places, range(self.seeds)):
            low, high, done, wanted = -1, len(values), 0, None
            while high - low > 1 and wanted is None:
                middle = (low + high) // 2
                trial = self.trial(place, values[middle], seed)
                if trial.key not in rows:
                    wanted = trial
                    continue
                done += 1
                low, high = (low, middle) if rows[trial.key]["reached"] else (middle, high)
            yield wanted, done, (high - low - 1).bit_length()

    @property
    def fixed_sizes(self) -> dict[str, int]:
        """The sizes that stay the same, with those that the architecture has by default."""
        varies = {name for name, _ in self.axes}
        sizes = trainable(self.architecture).complete(self.sizes, varies)
        return {name: size for name, size in sizes.items() if name not in varies}

    def json(self) -> dict:
        """The resolved configuration, as it is read back; "axes" and "seeds" may be extended."""
        axes: list[dict] = [{"name": name, "values": list(values)} for name, values in self.axes]
        axes[-1]["find"] = self.find
        own = {"architecture": self.architecture, "sizes": self.fixed_sizes, "axes": axes}
        how = {"protocol": self.protocol.json(), "criterion": asdict(self.criterion)}
        configuration = {**own, "data": dict(self.data), **how, "seeds": self.seeds}
        return json.loads(json.dumps(configuration))
