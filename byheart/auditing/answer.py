"""Audit: the answer of an audit, and its table of items."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..claims.result import picked
from ..errors import ByheartError
from ..machine.files import replacing
from ..machine.tables import Content, Tabular
from .adapters import AuditedAdapter
from .closed import WeightsFile
from .membership import Ranked, Score

TABLES = (".jsonl", ".csv")


@dataclass(frozen=True)
class AuditedModel:
    """The model; `compiled` by byheart or not. `length` is that of its longest context."""

    folder: str
    kind: str
    compiled: bool
    parameters: int
    # of the weights in their number type; of a byheart model, of its code word, because the digits
    # of exact parameters are no limit: they leave out shapes and positions
    stored_bits: int
    vocabulary: int
    length: int | None
    weights: tuple[WeightsFile, ...]  # the files that were loaded
    dtype: str | None  # the number type that they were loaded as; None of a byheart model
    unread: tuple[str, ...] = ()  # files of weights or code in the folder that were not opened
    # classes of the folder's own that its configs name: the library's were loaded instead
    code: tuple[str, ...] = ()
    adapter: AuditedAdapter | None = None  # that was added to the weights
    certified: bool = False  # whether byheart compiled the folder, and its certificate is there


@dataclass(frozen=True)
class AuditedData:
    name: str
    items: int
    tokens: int
    predicted: int  # of its tokens
    information: float  # bits, if these were uniform
    skipped: int  # items that are too short
    cut: int  # tokens that were cut off
    text: bool
    labelled: bool
    sha256: str | None = None  # of the file


@dataclass(frozen=True)
class Reference:
    """What is known without the data, and the code length of the data under it."""

    name: str  # several models are joined by commas: their mixture is the reference
    bits: float
    knows: bool = False  # the language: it is a model, or the data is no text


@dataclass(frozen=True)
class Beyond:
    """Bits memorised beyond what as many tokens of non-members save, with an interval of 95 %."""

    bits: float
    standard_error: float | None
    low: float | None
    high: float | None
    per_parameter: float  # of no more than what is saved against the reference, if that is anything


@dataclass(frozen=True)
class Memorised:
    """Bits of the reference minus those of the model; `clamped` is the sum over items above 0."""

    bits: float
    standard_error: float | None
    clamped: float
    per_parameter: float
    per_stored_bit: float
    share: float | None  # of the code length under the reference; None if that is 0
    beyond: Beyond | None = None  # the same corrected by non-members; None without any


@dataclass(frozen=True)
class Limit:
    """What the parameters could hold: bits, or contexts in a direction and by which theorem."""

    name: str
    kind: str  # "rule_of_thumb" or "theorem"
    bits: float | None = None
    contexts: int | float | None = None
    direction: str | None = None
    reason: str | None = None
    share: float | None = None  # of these bits that is memorised, as far as that is known

    def json(self) -> dict:
        return {x: y for x, y in vars(self).items() if y is not None or x == "share"}


@dataclass(frozen=True)
class Sampled:
    """How many items are among so many samples with the probability that was asked for."""

    samples: int
    items: int


@dataclass(frozen=True)
class Extraction:
    """What is recited: of the items that are long enough (`asked`), how many verbatim."""

    prefix: int | None  # tokens that are given; None if those are the input
    suffix: int
    asked: int
    verbatim: int
    common: float | None  # tokens that are recited on average before the first error
    probability: float = 0.5  # p of (n, p)-discoverable extraction
    curve: tuple[Sampled, ...] = ()  # the items for some n
    near: int | None = None  # edits
    within: int | None = None  # items whose greedy continuation is within so many of the text


@dataclass(frozen=True)
class Saved:
    """Bits that a token of an item saves, and one of a non-member."""

    items: float
    non_members: float


@dataclass(frozen=True)
class Exposure:
    """In bits: of the items, and the most that is possible with so many non-members."""

    mean: float
    largest: float
    possible: float


@dataclass(frozen=True)
class MembershipTest:
    """Whether items can be told from non-members, by each score of one pass of the model."""

    scores: tuple[Score, ...]
    strongest: Score  # the score with the largest AUC; its interval allows for having chosen it
    items: int
    non_members: int
    saved: Saved
    exposure: Exposure  # by the model's own log-perplexity, as published
    against: Exposure | None  # exposure by what is saved against the reference

    def json(self) -> dict:
        answer = asdict(self)
        return {**answer, "exposure_reference": answer.pop("against")}


@dataclass(frozen=True)
class WordingAsked:
    """A wording of the items: how often it was the best one, and how many it had recited."""

    name: str
    pattern: str
    guessed: bool
    best: int
    verbatim: int


@dataclass(frozen=True)
class AuditedItem:
    """One item of the data; `asked`, `common` and `verbatim` are of its recitation."""

    item: int  # item, row, line: counted from 1
    row: int  # or document
    line: int | None  # of the file
    wording: str
    tokens: int
    predicted: int
    bits: float
    reference_bits: float
    memorised: float
    clamped: float
    accuracy: float
    asked: int
    common: int | None
    verbatim: bool | None
    probability: float | None
    samples: int | None  # after how many it is among them with the probability asked for
    edits: int | None
    min_k: float | None
    min_k_plus: float | None
    zlib: float | None
    exposure: float | None
    exposure_reference: float | None
    sha256: str | None
    text: str | None = None  # only if it is shown, otherwise its SHA-256
    columns: Mapping[str, Any] = field(default_factory=dict)

    def row_of_table(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name != "columns"}
        return own | {f"data.{name}": value for name, value in self.columns.items()}


@dataclass(frozen=True)
class Seconds:
    """How long it took, and how quickly tokens were scored."""

    load: float
    score: float
    tokens_per_second: float


@dataclass(frozen=True, repr=False)
class Audit(Tabular):
    """The answer of `audit`: everything in it is observed.

    code_length  of the data under the model, in bits
    limits       what the parameters could hold: rules of thumb, the stored bits, theorems
    accuracy     the share of predicted tokens that are the likeliest
    membership   whether items can be told from non-members; None without any
    verdict      what was measured, in a sentence or two
    notes        what the numbers do not show
    items        in the order of the data
    wordings     in which each item was asked; the best one counts
    asked        how item 1 was asked, in its best wording
    non_members  bits memorised of each of them, in the order of their file
    ranked       the values of every score
    table_file   where the table of items is
    resumed      the folder of finished batches
    picture      the file that was drawn
    """

    model: AuditedModel
    data: AuditedData
    reference: Reference
    code_length: float
    memorised: Memorised
    limits: tuple[Limit, ...]
    extraction: Extraction
    accuracy: float
    membership: MembershipTest | None
    verdict: str
    notes: tuple[str, ...]
    items: tuple[AuditedItem, ...]
    seconds: Seconds
    resumed: str | None = None
    table_file: str | None = None
    picture: str | None = None
    report: str | None = None
    wordings: tuple[WordingAsked, ...] = ()
    asked: str | None = None
    non_members: tuple[float, ...] = ()
    ranked: tuple[Ranked, ...] = field(default=(), repr=False)

    def json(self) -> dict[str, Any]:
        names = "model data reference memorised extraction seconds code_length limits accuracy "
        more = "verdict notes wordings asked items=table_file folder=resumed picture report"
        found = picked(self, names + "membership")
        return {**found, "evidence": "observed", **picked(self, more)}

    def table(self) -> Content:
        beyond = self.memorised.beyond
        rows: list[tuple[object, ...]] = [
            ("parameters", self.model.parameters),
            ("predicted tokens", self.data.predicted),
            ("code length, bits", self.code_length),
            (f"under {self.reference.name}", self.reference.bits),
            ("memorised bits", self.memorised.bits),
            ("standard error", self.memorised.standard_error),
            *([("beyond non-members", beyond.bits)] if beyond else []),
            ("per parameter", self.memorised.per_parameter),
            ("verbatim items", self.extraction.verbatim),
        ]
        return f"{self.model.folder} on {self.data.name} (observed)", ("", ""), rows

    def save_items(self, path: str | Path) -> "Audit":
        """Write the table of items, .jsonl or .csv; the file appears whole or not at all."""
        path = Path(path)
        check_name(path, "table of items", TABLES)
        rows = [item.row_of_table() for item in self.items]
        with replacing(path) as file:
            if path.suffix.lower() == ".jsonl":
                file.write("".join(json.dumps(row, default=str) + "\n" for row in rows).encode())
            else:
                text = io.StringIO()
                writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
                file.write(text.getvalue().encode())
        return replace(self, table_file=str(path))


def check_name(path: Path, what: str, endings: Sequence[str]) -> None:
    """ByheartError if a table of items, or a report, cannot have this name."""
    if path.suffix.lower() not in endings:
        raise ByheartError(f"{path}: a {what} must end in {' or '.join(endings)}.")
    if not path.parent.is_dir():
        raise ByheartError(f"{path.parent} is not a directory; create it first.")
