"""Audit: the answer of an audit, and its table of items."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ByheartError
from ..machine.files import replacing
from ..machine.tables import Content, Tabular

TABLES = (".jsonl", ".csv")


@dataclass(frozen=True, repr=False)
class Audit(Tabular):
    """The answer of `audit`: everything in it is observed.

    model       folder, kind, compiled (by byheart), parameters, stored_bits, vocabulary, length
    data        name, items, tokens, predicted (of them), information (bits, if they were uniform)
    reference   its name, and the code length of the data under it
    code_length of the data under the model, in bits
    memorised   bits (reference minus model, not clamped), standard_error, clamped, per_parameter,
                per_stored_bit, share (of the reference's code length)
    limits      what the parameters could hold: rules of thumb, the stored bits, theorems
    extraction  prefix, suffix, asked (items that are long enough), verbatim, common (mean tokens)
    accuracy    the share of predicted tokens that are the likeliest
    membership  AUC with its interval, exposure, and the bits that a token of an item and one of a
                stranger save; None without strangers
    verdict     what was measured, in a sentence or two
    notes       what the numbers do not show
    items       one dictionary per item, in the order of the data
    strangers   bits memorised of each stranger, in the order of their file
    """

    model: Mapping[str, Any]
    data: Mapping[str, Any]
    reference: Mapping[str, Any]
    code_length: float
    memorised: Mapping[str, Any]
    limits: tuple[Mapping[str, Any], ...]
    extraction: Mapping[str, Any]
    accuracy: float
    membership: Mapping[str, Any] | None
    verdict: str
    notes: tuple[str, ...]
    items: tuple[Mapping[str, Any], ...]
    seconds: Mapping[str, float]
    resumed: str | None = None
    table_file: str | None = None
    picture: str | None = None
    strangers: tuple[float, ...] = ()

    def json(self) -> dict[str, Any]:
        """The answer of `byheart audit --json`; the items go to a file of their own."""
        names = ("model", "data", "reference", "memorised", "extraction", "seconds")
        return {
            **{name: dict(getattr(self, name)) for name in names},
            "code_length": self.code_length,
            "limits": [dict(limit) for limit in self.limits],
            "accuracy": self.accuracy,
            "membership": None if self.membership is None else dict(self.membership),
            "evidence": "observed",
            "verdict": self.verdict,
            "notes": list(self.notes),
            "items": self.table_file,
            "folder": self.resumed,
            "picture": self.picture,
        }

    def table(self) -> Content:
        found = self.memorised
        rows: list[tuple[object, ...]] = [
            ("parameters", self.model["parameters"]),
            ("predicted tokens", self.data["predicted"]),
            ("code length, bits", self.code_length),
            (f"under {self.reference['name']}", self.reference["bits"]),
            ("memorised bits", found["bits"]),
            ("standard error", found["standard_error"]),
            ("per parameter", found["per_parameter"]),
            ("verbatim items", self.extraction["verbatim"]),
        ]
        return f"{self.model['folder']} on {self.data['name']} (observed)", ("", ""), rows

    def save_items(self, path: str | Path) -> "Audit":
        """Write the table of items, .jsonl or .csv; the file appears whole or not at all."""
        path = Path(path)
        check_table(path)
        with replacing(path) as file:
            if path.suffix.lower() == ".jsonl":
                file.write("".join(json.dumps(dict(x)) + "\n" for x in self.items).encode())
            else:
                text = io.StringIO()
                writer = csv.DictWriter(text, list(self.items[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(self.items)
                file.write(text.getvalue().encode())
        return replace(self, table_file=str(path))


def check_table(path: Path) -> None:
    """ByheartError if a table of items cannot have this name."""
    if path.suffix.lower() not in TABLES:
        raise ByheartError(f"{path}: a table of items must end in {' or '.join(TABLES)}.")
    if not path.parent.is_dir():
        raise ByheartError(f"{path.parent} is not a directory; create it first.")
