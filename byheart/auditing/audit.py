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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constructions.base import Report
from ..data.arrays import offsets
from ..data.load import OPTIONS, kind_of
from ..errors import ByheartError
from ..lab.sweeps.rows import settle
from ..machine.watch import SILENT, Watch
from ..models.folder.read import open as open_model
from . import checkpoint, compiled, scoring
from .answer import Audit
from .items import Items, items_of
from .membership import Membership, exposures, membership
from .scoring import Scores
from .verdict import REFERENCES, UNIFORM, limits, notes, verdict

RANDOM = "random"
MOST_STRANGERS = 1000  # that are drawn
STREAM = 2019  # random strangers must not be those of `generate`, which may have the same seed


def audit(
    model: str | Path,
    data: Any,
    *,
    reference: str | Path = UNIFORM,
    prefix: int = 32,
    suffix: int = 50,
    strangers: Any = None,
    folder: str | Path | None = None,
    device: str = "cpu",
    seed: int = 0,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
    report: Report = lambda sentence: None,
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
        strangers: Items that the model has not seen, as `data`; or "random" for random tokens.
        folder: Where finished batches are kept: the same call resumes.
        device: Of PyTorch, such as "cpu" or "cuda".
        seed: Of random strangers.
        loading: Options of byheart.load.
        watch: Follows the progress.
        report: Told before scoring begins how much memory it takes at most.

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
        >>> found.memorised["bits"], found.extraction["verbatim"]
        (8.0, 8)
    """
    for name, value, least in (("prefix", prefix, 1), ("suffix", suffix, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ByheartError(f"{name} must be an integer of {least} or more, not {value!r}.")
    path, options = Path(model), dict(loading or {})
    if isinstance(data, str | Path) and Path(data) == path:
        raise ByheartError("the model and the data are the same path; the data comes second.")
    watch.stage("loading")
    if checkpoint.is_checkpoint(path):
        asks, told = (prefix, suffix), (watch, report)
        return _checkpoint(
            path, data, str(reference), asks, strangers, folder, device, seed, options, *told
        )
    for name, given in (("folder", folder), ("device", None if device == "cpu" else device)):
        if given is not None:
            raise ByheartError(f"{name}=... is for checkpoints; a byheart model needs none.")
    return _compiled(path, data, str(reference), strangers, options, watch)


def _checkpoint(
    path: Path,
    data: Any,
    reference: str,
    asks: tuple[int, int],
    strangers: Any,
    folder: str | Path | None,
    device: str,
    seed: int,
    loading: Mapping[str, Any],
    watch: Watch,
    report: Report,
) -> Audit:
    """Of a Hugging Face folder; asks are the prefix and the suffix."""
    began = time.perf_counter()
    subject = checkpoint.opened(path, device)
    items = items_of(subject, data, loading)
    groups = {"items": items}
    if strangers is not None and str(strangers) == RANDOM:
        groups["strangers"] = drawn(items, seed)
    elif strangers is not None:
        groups["strangers"] = items_of(subject, strangers, meaningful(strangers, loading))
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
    with scoring.journal(None if folder is None else Path(folder)) as rows:
        if folder is not None:
            settle(Path(folder), configuration)
        for role, one in (("", subject), ("reference-", second)):
            if one is None:
                continue
            tokens = scoring.check_memory(one, list(groups.values()), report)
            for name, group in groups.items():
                after, asked = group.asked(*asks)
                scores[role + name] = scoring.score(
                    one, group, after, asked, tokens, watch, rows, role + name
                )
    ended = time.perf_counter()
    facts = {
        "folder": str(path),
        "kind": subject.kind,
        "compiled": False,
        "parameters": subject.parameters,
        "stored_bits": subject.stored,
        "vocabulary": subject.vocabulary,
        "length": subject.limit,
    }
    codes = {
        name: scores[f"reference-{name}"].bits
        if second is not None
        else coded(reference, items, group, subject.vocabulary)
        for name, group in groups.items()
    }
    seconds = {"load": loaded - began, "score": ended - loaded}
    return _answer(
        facts,
        named(data),
        reference,
        groups,
        scores,
        codes,
        asks,
        limits(path, subject.parameters, subject.stored),
        seconds,
        None if folder is None else str(folder),
    )


def _compiled(
    path: Path,
    data: Any,
    reference: str,
    strangers: Any,
    loading: Mapping[str, Any],
    watch: Watch,
) -> Audit:
    """Of a byheart folder: what it stores are labels, or distributions over tokens."""
    if reference not in REFERENCES:
        raise ByheartError(
            "a byheart model is compared with reference='uniform' or reference='unigram'."
        )
    if strangers is not None and str(strangers) == RANDOM:
        raise ByheartError("strangers='random' is for checkpoints; give a file of other items.")
    began = time.perf_counter()
    model = open_model(path)
    datasets = {"items": compiled.dataset_for(model, data, loading)}
    if strangers is not None:
        datasets["strangers"] = compiled.dataset_for(model, strangers, loading)
    groups = {name: compiled.labels_of(model, dataset) for name, dataset in datasets.items()}
    loaded = time.perf_counter()
    scores = {
        name: compiled.score(model, dataset, groups[name], watch)
        for name, dataset in datasets.items()
    }
    size = compiled.outcomes(model)
    codes = {name: coded(reference, groups["items"], group, size) for name, group in groups.items()}
    facts = {
        "folder": str(path),
        "kind": str(model.about.get("method")),
        "compiled": True,
        "parameters": model.parameters.nonzero,
        "stored_bits": model.bits.total,
        "vocabulary": size,
        "length": model.length,
    }
    ended = time.perf_counter()
    own = ({"name": "stored bits", "kind": "theorem", "bits": model.bits.total},)
    seconds = {"load": loaded - began, "score": ended - loaded}
    asks = (1, int(groups["items"].lengths.max()))
    return _answer(facts, named(data), reference, groups, scores, codes, asks, own, seconds, None)


def named(data: Any) -> str:
    return Path(data).name if isinstance(data, str | Path) else "data"


def meaningful(data: Any, loading: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that apply to strangers, whose file may be of another kind."""
    takes = OPTIONS.get(kind_of(data, loading.get("format")), ())
    return {name: value for name, value in loading.items() if name in (*takes, "length")}


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
    count, so that a stranger's token has a code word, too.
    """
    targets = group.targets()
    size = max(vocabulary, int(items.ids.max()) + 1, int(group.ids.max()) + 1)
    if reference == UNIFORM:
        return group.scored.astype(np.float64) * math.log2(vocabulary)
    counts = np.bincount(items.targets(), minlength=size) + 0.5
    return group.sums(-np.log2(counts / counts.sum())[targets])


def _answer(
    model: Mapping[str, Any],
    name: str,
    reference: str,
    groups: Mapping[str, Items],
    scores: Mapping[str, Scores],
    codes: Mapping[str, NDArray],
    asks: tuple[int, int],
    held: tuple[Mapping[str, Any], ...],
    seconds: Mapping[str, float],
    folder: str | None,
) -> Audit:
    """All numbers of the answer, from the scores of the items and of strangers."""
    items, found, code = groups["items"], scores["items"], codes["items"]
    saved = code - found.bits
    total, count = float(saved.sum()), len(items)
    error = float(saved.std(ddof=1) * math.sqrt(count)) if count > 1 else None
    _, asked = items.asked(*asks)
    verbatim = (found.common == asked) & (asked > 0)
    told: Membership | None = None
    exposed = None
    unseen: tuple[float, ...] = ()
    if "strangers" in groups:
        unseen = tuple((codes["strangers"] - scores["strangers"].bits).tolist())
        each = {
            role: (codes[role] - scores[role].bits) / groups[role].scored
            for role in ("items", "strangers")
        }
        told = membership(each["items"], each["strangers"])
        exposed = exposures(each["items"], each["strangers"])
    memorised = {
        "bits": total,
        "standard_error": error,
        "clamped": float(np.maximum(saved, 0).sum()),
        "per_parameter": total / model["parameters"],
        "per_stored_bit": total / model["stored_bits"],
        "share": total / float(code.sum()) if code.sum() else None,
    }
    extraction = {
        "prefix": asks[0] if not items.labelled else None,
        "suffix": asks[1],
        "asked": int((asked > 0).sum()),
        "verbatim": int(verbatim.sum()),
        "common": float(found.common[asked > 0].mean()) if (asked > 0).any() else None,
    }
    belongs = None
    if told is not None and exposed is not None:
        belongs = {
            **told._asdict(),
            "saved": {
                role: float((codes[role] - scores[role].bits).sum() / groups[role].scored.sum())
                for role in ("items", "strangers")
            },
            "exposure": {
                "mean": float(exposed.mean()),
                "largest": float(exposed.max()),
                "possible": math.log2(told.strangers + 1),
            },
        }
    predicted = int(items.scored.sum())
    shown = [
        {**limit, "share": total / limit["bits"] if limit.get("bits") else None} for limit in held
    ]
    return Audit(
        model=model,
        data={
            "name": name,
            "items": count,
            "tokens": len(items.ids) - items.opening * count,
            "predicted": predicted,
            "information": predicted * math.log2(model["vocabulary"]),
            "skipped": items.skipped,
            "cut": items.cut,
            "text": items.text,
            "labelled": items.labelled,
        },
        reference={"name": reference, "bits": float(code.sum())},
        code_length=float(found.bits.sum()),
        memorised=memorised,
        limits=tuple(shown),
        extraction=extraction,
        accuracy=float(found.hits.sum() / predicted),
        membership=belongs,
        verdict=verdict(reference, memorised, extraction, told, items.text, items.labelled),
        notes=tuple(notes(reference, items.text, memorised, told)),
        items=tuple(
            {
                "item": i,
                "tokens": int(items.lengths[i]) - items.opening,
                "predicted": int(items.scored[i]),
                "bits": float(found.bits[i]),
                "reference_bits": float(code[i]),
                "memorised": float(saved[i]),
                "clamped": max(0.0, float(saved[i])),
                "accuracy": float(found.hits[i] / items.scored[i]),
                "asked": int(asked[i]),
                "common": int(found.common[i]) if asked[i] else None,
                "verbatim": bool(verbatim[i]) if asked[i] else None,
                "exposure": None if exposed is None else float(exposed[i]),
            }
            for i in range(count)
        ),
        seconds={
            **{name: round(x, 3) for name, x in seconds.items()},
            "tokens_per_second": round(
                sum(len(group.ids) for group in groups.values()) / max(seconds["score"], 1e-9), 1
            ),
        },
        resumed=folder,
        strangers=unseen,
    )
