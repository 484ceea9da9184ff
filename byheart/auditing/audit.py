"""audit: how much a model holds of a file, in bits, beside what it could hold.

Paper        morris2025 (unintended memorization), carlini2019 (exposure), carlini2021 (extraction).
Statement    What a model has memorised of an item is the code length of the item under a reference
             minus its code length under the model. The reference stands for what can be known
             about the item without having seen it.
Guarantee    G1  The code lengths are those of the model as it runs here, in floating point:
                 everything is observed, nothing is proved.
             G2  Against the uniform distribution and random data, a model that has not seen the
                 data is not expected to save a bit.
Departures   D1  The first token of a document is given, as are special tokens that the tokenizer
                 puts before it: their bits are not counted.
             D2  The total is not clamped at 0: its error is then that of a sum. The sum of the
                 items that are above 0 stands beside it; it is larger than 0 for a model that has
                 seen nothing, too.
"""

import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import offsets
from ..data.load import OPTIONS, kind_of, name_of
from ..errors import ByheartError, OptionError
from ..lab.sweeps.rows import Rows, settle
from ..machine.watch import SILENT, Watch
from ..models.folder.read import weights_file
from ..models.kinds import kind_of as kind_of_model
from ..models.opening import open as open_model
from . import checkpoint, closed, compiled, scoring
from .answer import (
    Audit,
    AuditedData,
    AuditedItem,
    AuditedModel,
    Exposure,
    Extraction,
    Limit,
    MembershipTest,
    Memorised,
    Reference,
    Saved,
    Seconds,
)
from .items import Items, items_of
from .membership import exposures, membership
from .scoring import Scores
from .verdict import REFERENCES, UNIFORM, limits, notes, verdict

RANDOM = "random"
MOST_STRANGERS = 1000  # that are drawn
STREAM = 2019  # random non-members must not be those of `generate`, which may have the same seed


def audit(
    model: str | Path,
    data: Any,
    *,
    reference: str | Path = UNIFORM,
    prefix: int = 32,
    suffix: int = 50,
    non_members: Any = None,
    folder: str | Path | None = None,
    device: str = "cpu",
    seed: int = 0,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
) -> Audit:
    """Measure how many bits of a file a model holds, and which items it recites.

    Args:
        model: A folder on this disk: a Hugging Face causal language model with safetensors, or a
            byheart model.
        data: What byheart.load reads. Text is split by the tokenizer of the model, whole numbers
            are its token ids; a list of strings is documents.
        reference: What is known without having seen the data: "uniform" over the vocabulary,
            "unigram" (the frequencies of the data's tokens), or the folder of a second model with
            the same tokenizer. For text only the latter separates memorising from knowing the
            language.
        prefix: Tokens of a document after which the model is to continue it.
        suffix: Tokens that it is to recite, at most.
        non_members: Items that the model has not seen, as `data`; or "random" for random tokens.
        folder: Where finished batches are kept: the same call resumes.
        device: Of PyTorch, such as "cpu" or "cuda".
        seed: Of random non-members.
        loading: Options of byheart.load.
        watch: Follows the progress; is told before scoring begins how much memory it takes.

    Returns:
        An Audit, whose `.json()` and `.items` have all numbers. Everything in it is observed.

    Raises:
        ByheartError: The folder, the data or an option cannot be used.

    Example:
        >>> import byheart, tempfile
        >>> data = byheart.Dataset.from_rows([([i, 1], i % 2) for i in range(8)])
        >>> with tempfile.TemporaryDirectory() as place:
        ...     byheart.compile(data).save(f"{place}/model")
        ...     found = byheart.audit(f"{place}/model", data)
        >>> found.memorised.bits, found.extraction.verbatim
        (8.0, 8)
    """
    for name, value, least in (("prefix", prefix, 1), ("suffix", suffix, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise OptionError(name, value, f"must be an integer of {least} or more")
    path, options = Path(model), dict(loading or {})
    if isinstance(data, str | Path) and Path(data) == path:
        raise ByheartError("the model and the data are the same path; the data comes second.")
    watch.stage("loading")
    began, known = time.perf_counter(), str(reference)
    if checkpoint.is_checkpoint(path):
        asks = (prefix, suffix)
        place = None if folder is None else Path(folder)
        examination = _checkpoint(
            path, data, known, asks, non_members, place, device, seed, options, watch
        )
    else:
        for name, given in (("folder", folder), ("device", None if device == "cpu" else device)):
            if given is not None:
                raise ByheartError(f"`{name}=...` is for checkpoints; a byheart model needs none.")
        examination = _compiled(path, data, known, non_members, options, watch)
        asks = (1, int(examination.items.items.lengths.max()))
    score = time.perf_counter() - examination.loaded
    groups = (examination.items, examination.non_members)
    tokens = sum(len(group.items.ids) for group in groups if group is not None)
    rate = round(tokens / max(score, 1e-9), 1)
    seconds = Seconds(round(examination.loaded - began, 3), round(score, 3), rate)
    held: tuple[Limit, ...] = (Limit("code word", "theorem", examination.model.stored_bits),)
    if not examination.model.compiled:
        held = limits(path, examination.model.parameters, examination.model.stored_bits)
    answer = _measured(examination, held, name_of(data), known, asks, seconds)
    return replace(answer, resumed=None if folder is None else str(folder))


@dataclass(frozen=True, eq=False)
class Scored:
    """Items, what the model makes of them, and [N] their code lengths under the reference."""

    items: Items
    scores: Scores
    codes: NDArray

    @property
    def saved(self) -> NDArray:
        """[N] bits that the model saves against the reference."""
        return self.codes - self.scores.bits

    @property
    def per_token(self) -> NDArray:
        """[N] the same per token that is predicted."""
        return self.saved / self.items.scored


class Examination(NamedTuple):
    """A model, what it makes of the items and of non-members, and when all were loaded."""

    model: AuditedModel
    loaded: float
    items: Scored
    non_members: Scored | None


def _checkpoint(
    path: Path,
    data: Any,
    reference: str,
    asks: tuple[int, int],
    non_members: Any,
    folder: Path | None,
    device: str,
    seed: int,
    loading: Mapping[str, Any],
    watch: Watch,
) -> Examination:
    """Of a Hugging Face folder; asks are the prefix and the suffix."""
    subject = checkpoint.opened(path, device)
    items = items_of(subject, data, loading)
    groups = {"items": items}
    if non_members is not None and str(non_members) == RANDOM:
        groups["strangers"] = drawn(items, seed)
    elif non_members is not None:
        # Of the options, those that apply: the file of non-members may be of another kind.
        takes = (*OPTIONS.get(kind_of(non_members, loading.get("format")), ()), "length")
        own = {name: value for name, value in loading.items() if name in takes}
        groups["strangers"] = items_of(subject, non_members, own)
    second = None
    if reference not in REFERENCES:
        second = checkpoint.opened(reference, device)
        if second.vocabulary != subject.vocabulary:
            raise ByheartError(
                f"{reference} predicts {second.vocabulary:,} tokens and {path} predicts "
                f"{subject.vocabulary:,}; a reference must have the same tokenizer."
            )
        if items.text and items_of(second, data, loading).sha256() != items.sha256():
            raise ByheartError(
                f"{reference} splits the text into other tokens than {path}; a reference must have "
                "the same tokenizer."
            )
    loaded = time.perf_counter()
    configuration = {
        "audit": 1,
        "model": scoring.identity(path) if folder is not None else None,
        "reference": scoring.identity(Path(reference)) if folder and second else reference,
        "prefix": asks[0],
        "suffix": asks[1],
        **{name: group.sha256() for name, group in groups.items()},
    }
    scores: dict[str, Scores] = {}
    with nullcontext() if folder is None else Rows(folder) as rows:
        if folder is not None:
            settle(folder, configuration)
        for role, one in (("", subject), ("reference-", second)):
            if one is None:
                continue
            tokens = scoring.check_memory(one, list(groups.values()), watch)
            for name, group in groups.items():
                role_name = role + name
                scores[role_name] = scoring.score(one, group, asks, tokens, watch, rows, role_name)
    scored = {}
    for name, group in groups.items():
        if second is None:
            codes = coded(reference, items, group, subject.vocabulary)
        else:
            codes = scores[f"reference-{name}"].bits
        scored[name] = Scored(group, scores[name], codes)
    model = AuditedModel(
        folder=str(path),
        kind=subject.kind,
        compiled=False,
        parameters=subject.parameters,
        stored_bits=subject.stored,
        vocabulary=subject.vocabulary,
        length=subject.limit,
        weights=subject.weights,
        dtype=subject.dtype,
        unread=subject.unread,
        code=subject.code,
    )
    return Examination(model, loaded, scored["items"], scored.get("strangers"))


def _compiled(
    path: Path,
    data: Any,
    reference: str,
    non_members: Any,
    loading: Mapping[str, Any],
    watch: Watch,
) -> Examination:
    """Of a byheart folder: what it stores are labels, or distributions over tokens."""
    if reference not in REFERENCES:
        raise ByheartError(
            "a byheart model is compared with `reference='uniform'` or `reference='unigram'`."
        )
    if non_members is not None and str(non_members) == RANDOM:
        raise ByheartError("`non_members='random'` is for checkpoints; give a file of other items.")
    model = open_model(path)
    datasets = {"items": compiled.dataset_for(model, data, loading)}
    if non_members is not None:
        datasets["strangers"] = compiled.dataset_for(model, non_members, loading)
    groups = {name: compiled.labels_of(model, dataset) for name, dataset in datasets.items()}
    loaded = time.perf_counter()
    scores = {
        name: compiled.score(model, dataset, groups[name], watch)
        for name, dataset in datasets.items()
    }
    size, store = len(model.labels), kind_of_model(model).store
    scored = {
        name: Scored(group, scores[name], coded(reference, groups["items"], group, size))
        for name, group in groups.items()
    }
    audited = AuditedModel(
        folder=str(path),
        kind=str(model.record.method),
        compiled=True,
        parameters=model.parameters.nonzero,
        stored_bits=store.code_bits(model.network),
        vocabulary=size,
        length=model.length,
        weights=closed.hashed([path / weights_file(store)]),
        dtype=None,
    )
    return Examination(audited, loaded, scored["items"], scored.get("strangers"))


def drawn(items: Items, seed: int) -> Items:
    """Random items as long as the given ones, of the tokens that occur in them."""
    random = np.random.default_rng((STREAM, seed))
    chosen = np.arange(len(items))
    if len(items) > MOST_STRANGERS:
        chosen = np.sort(random.choice(len(items), MOST_STRANGERS, replace=False))
    lengths = items.lengths[chosen]
    inner = np.ones(len(items.ids), bool)
    inner[(items.starts[:-1, None] + np.arange(items.opening)).ravel()] = False
    words = np.unique(items.ids[inner])
    ids = words[random.integers(0, len(words), int(lengths.sum()))]
    starts = offsets(lengths)
    for place in range(items.opening):
        ids[starts[:-1] + place] = items.ids[place]
    return Items(ids, starts, items.given[chosen], items.labelled, opening=items.opening)


def coded(reference: str, items: Items, group: Items, vocabulary: int) -> NDArray[np.float64]:
    """[N] the code length of a group of items under a reference that is not a model.

    The unigram code knows how often each token is predicted in the data, and adds one half to every
    count, so that a non-member's token has a code word, too.
    """
    targets = group.targets()
    size = max(vocabulary, int(items.ids.max()) + 1, int(group.ids.max()) + 1)
    if reference == UNIFORM:
        return group.scored.astype(np.float64) * math.log2(vocabulary)
    counts = np.bincount(items.targets(), minlength=size) + 0.5
    return group.sums(-np.log2(counts / counts.sum())[targets])


def _measured(
    examination: Examination,
    held: tuple[Limit, ...],
    name: str,
    reference: str,
    asks: tuple[int, int],
    seconds: Seconds,
) -> Audit:
    """All numbers of the answer, from the scores of the items and of non-members."""
    model, _, own, others = examination
    items, scores, code = own.items, own.scores, float(own.codes.sum())
    saved, lengths, scored = own.saved, items.lengths, items.scored
    total, predicted = float(saved.sum()), int(scored.sum())
    test, exposed = None, None
    if others is not None:
        exposed = exposures(own.per_token, others.per_token)
        saved_per_token = (float(x.saved.sum() / x.items.scored.sum()) for x in (own, others))
        most = math.log2(len(others.items) + 1)
        test = MembershipTest(
            *membership(own.per_token, others.per_token),
            items=len(items),
            non_members=len(others.items),
            saved=Saved(*saved_per_token),
            exposure=Exposure(float(exposed.mean()), float(exposed.max()), most),
        )
    memorised = Memorised(
        bits=total,
        standard_error=float(saved.std(ddof=1) * math.sqrt(len(items))) if len(items) > 1 else None,
        clamped=float(np.maximum(saved, 0).sum()),
        per_parameter=total / model.parameters,
        per_stored_bit=total / model.stored_bits,
        share=total / code if code else None,
    )
    _, asked = items.asked(*asks)
    verbatim = (scores.common == asked) & (asked > 0)
    extraction = Extraction(
        prefix=None if items.labelled else asks[0],
        suffix=asks[1],
        asked=int((asked > 0).sum()),
        verbatim=int(verbatim.sum()),
        common=float(scores.common[asked > 0].mean()) if (asked > 0).any() else None,
    )
    return Audit(
        model=model,
        data=AuditedData(
            name=name,
            items=len(items),
            tokens=len(items.ids) - items.opening * len(items),
            predicted=predicted,
            information=predicted * math.log2(model.vocabulary),
            skipped=items.skipped,
            cut=items.cut,
            text=items.text,
            labelled=items.labelled,
        ),
        reference=Reference(reference, code),
        code_length=float(scores.bits.sum()),
        memorised=memorised,
        limits=tuple(replace(x, share=total / x.bits if x.bits else None) for x in held),
        extraction=extraction,
        accuracy=float(scores.hits.sum() / predicted),
        membership=test,
        verdict=verdict(reference, memorised, extraction, test, items),
        notes=tuple(notes(model.code, reference, memorised, test, items)),
        items=tuple(
            AuditedItem(
                item=i,
                tokens=int(lengths[i]) - items.opening,
                predicted=int(scored[i]),
                bits=float(scores.bits[i]),
                reference_bits=float(own.codes[i]),
                memorised=float(saved[i]),
                clamped=max(0.0, float(saved[i])),
                accuracy=float(scores.hits[i] / scored[i]),
                asked=int(asked[i]),
                common=int(scores.common[i]) if asked[i] else None,
                verbatim=bool(verbatim[i]) if asked[i] else None,
                exposure=None if exposed is None else float(exposed[i]),
            )
            for i in range(len(items))
        ),
        seconds=seconds,
        non_members=() if others is None else tuple(others.saved.tolist()),
    )
