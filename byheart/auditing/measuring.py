"""The numbers of an audit, from what a model and references make of items and of non-members."""

import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Ints
from ..data.load import name_of
from . import answer
from .closed import hashed
from .items import Asked, Items
from .membership import Ranked, beyond, exposures, judged
from .scoring import Scores
from .verdict import REFERENCES, notes, verdict
from .wordings import AS_IT_IS, Text, Wording

Floats = NDArray[np.float64]
SAMPLES = tuple(10**k for k in range(7))
Z = 1.959963984540054  # 95 %
# per item; the rest of a group's fields are of all items
EACH = (
    "tokens predicted asked bits hits common suffix low places codes mixture zlib edits texts"
).split()


@dataclass(frozen=True)
class Question:
    references: Sequence[str]
    asks: tuple[int, int]  # a prefix and a suffix, as in Items.asked
    probability: float
    near: int | None
    show_text: bool


@dataclass(frozen=True, eq=False)
class Group:
    """N items, and what the model and the references make of each in one wording."""

    items: Items  # in the first wording
    tokens: Ints
    predicted: Ints
    asked: Ints
    bits: Floats
    hits: Ints
    common: Ints
    suffix: Floats  # NaN where it is not known, as the next two
    low: Floats
    places: Floats
    codes: Floats  # under the reference; the mean of several
    mixture: Floats  # under the mixture of the references
    zlib: Floats  # bytes of the text; NaN where there is none
    edits: Ints  # -1 where nothing was generated
    texts: NDArray[np.object_]  # pairs of what is given and predicted, or None
    wording: Ints  # the number of the best one
    wordings: tuple[Wording, ...] = (AS_IT_IS,)
    recited: tuple[int, ...] = ()  # by wording
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    lines: Ints | None = None
    columns: Mapping[str, tuple] = field(default_factory=dict)
    first: str | None = None  # the text after which the first item was to be continued

    @classmethod
    def of(
        cls,
        items: Items,
        scores: Scores,
        codes: Floats,
        asks: tuple[int, int],
        texts: Sequence[Sequence[Text]] = (),
        place: int = 0,
        edits: Ints | None = None,
    ) -> Self:
        """Of one wording; codes are [R, N], a row for each reference."""
        own: list[Text | None] = list(texts[place]) if texts else [None] * len(items)
        objects = np.empty(len(items), object)
        objects[:] = own
        least = codes.min(axis=0)
        packed = [math.nan if x is None else len(zlib.compress(x[1].encode())) for x in own]
        return cls(
            items=items,
            tokens=items.lengths - items.opening,
            predicted=items.scored,
            asked=items.asked(*asks)[1],
            **vars(scores),
            codes=codes.mean(axis=0),
            mixture=least - np.log2(np.exp2(least - codes).mean(axis=0)),
            zlib=np.array(packed, np.float64),
            edits=np.full(len(items), -1) if edits is None else edits,
            texts=objects,
            wording=np.zeros(len(items), np.int64),
            rows=np.arange(1, len(items) + 1),
        )

    @classmethod
    def best(cls, parts: Sequence["Group"], asked: Asked) -> "Group":
        """Of every item its best wording: the one recited, else with the fewest bits per token."""
        order = np.stack([np.where(x.verbatim, -1.0, x.bits / x.predicted) for x in parts])
        chosen, each = order.argmin(axis=0), np.arange(len(parts[0].bits))
        values = {name: np.stack([getattr(x, name) for x in parts])[chosen, each] for name in EACH}
        return replace(
            parts[0],
            **values,
            wording=chosen,
            wordings=asked.wordings,
            recited=tuple(int(x.verbatim.sum()) for x in parts),
            rows=asked.rows,
            lines=asked.lines,
            columns=asked.columns,
        )

    @property
    def verbatim(self) -> NDArray[np.bool_]:
        return (self.common == self.asked) & (self.asked > 0)

    @property
    def saved(self) -> Floats:
        """[N] bits that the model saves against the reference."""
        return self.mixture - self.bits


def ranked(own: Group, other: Group, references: Sequence[str]) -> tuple[Ranked, ...]:
    """The values of every score that can be computed, per token, the higher the more familiar."""
    both = (own, other)
    scores = {"loss": [-x.bits / x.predicted for x in both]}
    if references[0] != "uniform":
        scores["loss - reference"] = [x.saved / x.predicted for x in both]
    if len(references) > 1:
        scores["loss - mean of references"] = [(x.codes - x.bits) / x.predicted for x in both]
    scores["zlib"] = [-x.bits / x.zlib for x in both]
    scores |= {"min-20 %": [x.low for x in both], "min-20 % ++": [x.places for x in both]}
    finite = {x: y for x, y in scores.items() if all(np.isfinite(z).all() for z in y)}
    return tuple(Ranked(name, *values) for name, values in finite.items())


def measured(
    model: answer.AuditedModel,
    own: Group,
    others: Group | None,
    held: tuple[answer.Limit, ...],
    data: Any,
    question: Question,
    seconds: answer.Seconds,
) -> answer.Audit:
    items, code, saved = own.items, float(own.mixture.sum()), own.saved
    count, total, predicted = len(saved), float(saved.sum()), int(own.predicted.sum())
    knows = question.references[0] not in REFERENCES or not items.text
    test, above, used, scores = None, None, total, tuple[Ranked, ...]()
    exposed = against = None
    if others is not None:
        groups = {"items": own, "non_members": others}
        scores = ranked(own, others, question.references)
        each, strongest = judged(scores)
        exposed = exposures(scores[0].items, scores[0].non_members)
        if len(scores) > 1 and scores[1].name == "loss - reference":
            against = exposures(scores[1].items, scores[1].non_members)
        most = math.log2(len(others.bits) + 1)
        rates = (float(x.saved.sum() / x.predicted.sum()) for x in groups.values())
        levels = [
            None if x is None else answer.Exposure(float(x.mean()), float(x.max()), most)
            for x in (exposed, against)
        ]
        assert levels[0] is not None
        sizes = (count, len(others.bits))
        told = answer.Saved(*rates)
        test = answer.MembershipTest(each, strongest, *sizes, told, levels[0], levels[1])
        counts = {x: y.predicted for x, y in groups.items()}
        bits, error = beyond({x: y.saved for x, y in groups.items()}, counts)
        ends = (None, None) if error is None else (bits - Z * error, bits + Z * error)
        used = min(bits, total) if total > 0 else bits  # language that was lost is no memory
        above = answer.Beyond(bits, error, ends[0], ends[1], used / model.parameters)
    memorised = answer.Memorised(
        bits=total,
        standard_error=float(saved.std(ddof=1) * math.sqrt(count)) if count > 1 else None,
        clamped=float(np.maximum(saved, 0).sum()),
        per_parameter=total / model.parameters,
        per_stored_bit=total / model.stored_bits,
        share=total / code if code else None,
        beyond=above,
    )
    verbatim, tried = own.verbatim, own.asked > 0
    chances = np.where(tried, np.exp2(-own.suffix), math.nan)
    with np.errstate(divide="ignore", invalid="ignore"):  # the least n with 1 - (1 - q)^n >= p
        least = np.ceil(math.log1p(-question.probability) / np.log1p(-chances) - 1e-9)
    samples = np.where(np.isfinite(chances), np.maximum(least, 1), math.inf)
    curve = []
    if np.isfinite(chances).any():
        curve = [answer.Sampled(n, int((samples <= n).sum())) for n in SAMPLES]
    extraction = answer.Extraction(
        prefix=None if items.labelled else question.asks[0],
        suffix=question.asks[1],
        asked=int(tried.sum()),
        verbatim=int(verbatim.sum()),
        common=float(own.common[tried].mean()) if tried.any() else None,
        probability=question.probability,
        curve=tuple(curve),
        near=question.near,
        within=None if question.near is None else int((tried & (own.edits <= question.near)).sum()),
    )
    share = above is not None or knows
    reference = answer.Reference(", ".join(question.references), code, knows)
    best = np.bincount(own.wording, minlength=len(own.wordings)).tolist()
    recited = own.recited or (int(verbatim.sum()),)
    wordings = tuple(
        answer.WordingAsked(x.name, x.pattern, x.guessed, number, many)
        for x, number, many in zip(own.wordings, best, recited, strict=True)
    )
    listed = [
        answer.AuditedItem(
            item=i + 1,
            row=int(own.rows[i]),
            line=None if own.lines is None else int(own.lines[i]),
            wording=own.wordings[own.wording[i]].name,
            tokens=int(own.tokens[i]),
            predicted=int(own.predicted[i]),
            bits=float(own.bits[i]),
            reference_bits=float(own.mixture[i]),
            memorised=float(saved[i]),
            clamped=max(0.0, float(saved[i])),
            accuracy=float(own.hits[i] / own.predicted[i]),
            asked=int(own.asked[i]),
            common=int(own.common[i]) if tried[i] else None,
            verbatim=bool(verbatim[i]) if tried[i] else None,
            probability=_known(chances[i]),
            samples=int(samples[i]) if samples[i] < 1e18 else None,
            edits=int(own.edits[i]) if own.edits[i] >= 0 else None,
            min_k=_known(own.low[i]),
            min_k_plus=_known(own.places[i]),
            zlib=_known(-own.bits[i] / own.zlib[i]),
            exposure=None if exposed is None else float(exposed[i]),
            exposure_reference=None if against is None else float(against[i]),
            sha256=own.texts[i] and hashlib.sha256("".join(own.texts[i]).encode()).hexdigest(),
            text="".join(own.texts[i]) if question.show_text and own.texts[i] else None,
            columns={x: values[i] for x, values in own.columns.items()},
        )
        for i in range(count)
    ]
    again = isinstance(data, str | Path) and Path(data).is_file()  # whether it can be read again
    return answer.Audit(
        model=model,
        data=answer.AuditedData(
            name=name_of(data),
            sha256=hashed([Path(data)])[0].sha256 if again else None,
            items=count,
            tokens=int(own.tokens.sum()),
            predicted=predicted,
            information=predicted * math.log2(model.vocabulary),
            **{x: getattr(items, x) for x in ("skipped", "cut", "text", "labelled")},
        ),
        reference=reference,
        code_length=float(own.bits.sum()),
        memorised=memorised,
        limits=tuple(replace(x, share=used / x.bits if x.bits and share else None) for x in held),
        extraction=extraction,
        accuracy=float(own.hits.sum() / predicted),
        membership=test,
        verdict=verdict(reference, memorised, extraction, test, items, wordings),
        notes=tuple(notes(model, question.references, memorised, test, items, wordings)),
        items=tuple(listed),
        seconds=seconds,
        wordings=wordings,
        asked=own.first,
        non_members=() if others is None else tuple(others.saved.tolist()),
        ranked=scores,
    )


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
