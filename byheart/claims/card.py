"""Parts of a model card, the README.md of a model folder, and of tables of sizes."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from ..machine.tables import number
from .record import Bits, Record
from .verification import Verification

Row = tuple[str, str, str]  # name, value and remark

DATA_ROWS = {x: x for x in ("sequences", "contexts", "labels", "length", "vocabulary")}
PARAMETER_ROWS = {
    "nonzero": "nonzero parameters",
    "counted": "of these, counted by the theorem",
    "dense": "parameters with zeros",
}
BIT_ROWS = {
    "encoded": "bits of the code word for the whole network",
    "total": "digits of all nonzero parameters, in bits",
    "largest": "bits of the longest parameter",
    "entropy": "bits that these labels need, by their frequencies",
    "information": "bits that the worst labels need",
}


def trained(training: Mapping) -> str:
    """How much was trained, and for how long."""
    trial = training.get("trial")
    named = trial if isinstance(trial, dict) else {}
    protocol = named.get("protocol")
    return (
        f"The architecture `{plain(named.get('architecture'))}` has "
        f"{several(training.get('parameters'), 'parameter')}; its training took "
        f"{several(training.get('steps'), 'step')}\n(protocol "
        f"`{plain(protocol.get('name') if isinstance(protocol, dict) else None)}`, seed "
        f"{plain(named.get('seed'))}; `training` in config.json has all settings)."
    )


def source(record: Record) -> str:
    what = "Theorem" if record.training is None else "Architecture"
    return f"{what}: {plain(record.paper)}, {plain(record.item)}"


def filled(package: str, tags: str, record: Record, verified: Verification, **parts: str) -> str:
    """card.md of a package, with what all cards say of a model and its parts."""
    head = files(__package__).joinpath("head.md").read_text("ascii").format(tags=tags)
    text = files(package).joinpath("card.md").read_text("ascii")
    known = {"engine": plain(verified.engine), "sha256": plain(record.data.sha256)}
    common = {"source": source(record), "evidence": verified.evidence, **known}
    correct = f"{verified.correct} of {parts.pop('correct')}"
    listed = rows(record.data, DATA_ROWS) + parts.pop("rows")
    body = text.format(**common, **parts, correct=correct, rows=listed)
    return f"{head}\n{body}"


def rows(counts: NamedTuple, names: Mapping[str, str]) -> str:
    values = {title: getattr(counts, name) for name, title in names.items()}
    return table({title: plain(value) for title, value in values.items() if value is not None})


def plain(value: object) -> str:
    """One line without markup: what a stranger's model says about itself is only text."""
    if value is None:
        return "not recorded"
    if isinstance(value, float):
        return f"{value:.6g}"
    return re.sub(r"[\s`|<>\[\]]+", " ", str(value)).strip()


def several(value: object, noun: str) -> str:
    """A number of things, as far as it is recorded."""
    return f"{plain(value)} {noun}" + ("" if value == 1 else "s")


def table(values: Mapping[str, object]) -> str:
    return "".join(f"| {title} | {value} |\n" for title, value in values.items())


def bit_rows(bits: Bits) -> list[Row]:
    """The bits of the network's code word, beside those that its labels and the worst ones need.

    The digits of the parameters (bits.total) are no code: without shapes and positions, and with no
    marks between them, they may be fewer than any limit allows.
    """
    needed, ratios = [], []
    limits = {
        "entropy": (bits.entropy, "bits of these labels, by their frequencies"),
        "information": (bits.information, "bits of the worst labels"),
    }
    for name, (value, words) in limits.items():
        limit = value if isinstance(value, int | float) else None  # a folder's own words
        needed.append((name, number(limit if limit is None else round(limit)), words))
        ratios += [f"{number(bits.encoded / limit)} x the {name}"] if limit and bits.encoded else []
    return [("encoded bits", number(bits.encoded), ", ".join(ratios)), *needed]
