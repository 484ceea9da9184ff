"""The sizes of a model, and the evidence that it keeps its claim: a part of several answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..claims.record import Record
from ..claims.result import picked
from ..claims.verification import Verification
from ..models.kinds import kind_of
from ..models.model import Model

NOT_CHECKED = Verification(0, 0, None, "")


@dataclass(frozen=True)
class Summary(Record):
    """A model in numbers: its record, with other evidence and what only its claim has."""

    verification: Verification = NOT_CHECKED
    depth: int = 0
    width: int = 0
    failures: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    model: Model = field(repr=False, kw_only=True)

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
    model: Model, verification: Verification | None, seconds: Mapping[str, float]
) -> Summary:
    own = vars(model.record) | {"method": str(model.record.method), "seconds": seconds}
    own["verification"] = NOT_CHECKED if verification is None else verification
    return Summary(
        **own,
        depth=model.network.depth,
        width=model.network.width,
        failures=own["verification"].failures,
        facts=kind_of(model).show.facts(model.claim, verification),
        model=model,
    )
