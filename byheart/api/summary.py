"""The sizes of a model, and the evidence that it keeps its claim: a part of several answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..claims.record import Bits, DataSizes, Parameters, Search
from ..claims.result import picked
from ..claims.verification import Verification
from ..models.kinds import kind_of
from ..models.model import Model

NOT_CHECKED = Verification(0, 0, None, "")


@dataclass(frozen=True)
class Summary:
    """A model in numbers.

    search        the seed and the number of trials of the construction's search
    conflicts     how many labels were changed and sequences left out to settle conflicts
    notes         what the construction has to say
    failures      why the model does not keep its claim
    facts         what only models with this claim have
    """

    method: str
    form: str | None
    data: DataSizes
    parameters: Parameters
    bits: Bits
    depth: int
    width: int
    seconds: Mapping[str, float]
    search: Search
    verification: Verification
    conflicts: Mapping[str, int]
    notes: tuple[str, ...]
    failures: tuple[str, ...]
    facts: Mapping[str, Any]
    model: Model = field(repr=False)

    def json(self) -> dict:
        return {
            **picked(self, "method form"),
            "dataset": picked(self.data, "sequences contexts labels length vocabulary"),
            **picked(self, "parameters"),
            "bits": picked(self.bits, "total fixed encoded largest entropy information"),
            **picked(self, "depth width"),
            "seconds": {key: self.seconds.get(key) for key in ("load", "build", "verify")},
            **picked(self, "search verified=verification conflicts notes failures"),
            **self.facts,
        }


def summarise(
    model: Model,
    verification: Verification | None,
    seconds: Mapping[str, float],
    failures: Sequence[str] = (),
) -> Summary:
    """The summary of a model with this evidence."""
    record = model.record
    return Summary(
        method=str(record.method),
        form=record.form,
        data=record.data,
        parameters=record.parameters,
        bits=record.bits,
        depth=model.network.depth,
        width=model.network.width,
        seconds=seconds,
        search=record.search,
        verification=NOT_CHECKED if verification is None else verification,
        conflicts=record.conflicts,
        notes=record.notes,
        failures=tuple(failures),
        facts=kind_of(model).show.facts(model.claim, verification),
        model=model,
    )
