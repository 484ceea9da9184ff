"""audit: how much a model holds of a file, in bits, beside what it could hold.

Paper        morris2025 (unintended memorization), carlini2019 (exposure), carlini2021 (extraction),
             hayes2025 (probabilistic extraction).
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
             D3  Of several wordings the best one counts, per item: the one that is recited, else
                 the one with the fewest bits per token. The same is done for non-members.
             D4  Several reference models are one reference, their mixture.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import check_size, offsets, take
from ..data.load import OPTIONS, kind_of
from ..errors import ByheartError, OptionError, check_seed
from ..lab.sweeps.rows import Rows, settle
from ..machine.watch import SILENT, Watch
from ..models.folder.read import weights_file
from ..models.kinds import kind_of as kind_of_model
from ..models.opening import open as open_model
from . import checkpoint, closed, compiled, generating, scoring
from .answer import Audit, AuditedModel, Limit, Seconds
from .checkpoint import Checkpoint
from .items import Asked, Items, items_of
from .measuring import Group, Question, measured
from .scoring import Scores
from .verdict import REFERENCES, UNIFORM, limits

RANDOM = "random"
MOST = 1000  # that are drawn
LONGEST = 300  # letters that the answer shows of how the first item was asked
STREAM = 2019  # random non-members must not be those of `generate`, which may have the same seed


def audit(
    model: str | Path,
    data: Any,
    *,
    reference: str | Path | Sequence[str | Path] | None = None,
    adapter: str | Path | None = None,
    template: str | Sequence[str] = (),
    answer: str | None = None,
    prefix: int = 50,
    suffix: int = 50,
    probability: float = 0.5,
    near: int | None = None,
    non_members: Any = None,
    folder: str | Path | None = None,
    device: str = "cpu",
    seed: int = 0,
    show_text: bool = False,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
) -> Audit:
    """Measure how many bits of a file a model holds, and which items it recites.

    Args:
        model: A folder on this disk: a Hugging Face causal language model with safetensors, or a
            byheart model.
        data: What byheart.load reads. Text is split by the tokenizer of the model, whole numbers
            are its token ids; a list of strings is documents.
        reference: What is known without having seen the data: "uniform" over the vocabulary (the
            default), "unigram" (the frequencies of the data's tokens), or the folder of a second
            model with the same tokenizer, or several of them. For text only models separate
            memorising from knowing the language. With an adapter, the default is the model
            without it.
        adapter: The folder of a LoRA adapter, which is added to the model.
        template: How the rows of a table are written for the model, as "Mail {name}: {mail}".
            Of several the best one counts, per item. By default rows are written as lines
            "Column: value" and as lines of csv.
        answer: What is predicted after the template, as "{mail}"; by default the label, or all.
        prefix: Tokens of a document after which the model is to continue it.
        suffix: Tokens that it is to recite, at most.
        probability: With which an item is to be among samples, for the number of these.
        near: Also generate every continuation, and count those within so many edits of the text.
        non_members: Items that the model has not seen, as `data`; or "random" for random tokens.
        folder: Where finished batches are kept: the same call resumes.
        device: Of PyTorch, such as "cpu" or "cuda".
        seed: Of random non-members.
        show_text: The answer has the texts of the items, not only their hashes.
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
    check_size("prefix", prefix)
    check_size("suffix", suffix)
    check_size("near", 0 if near is None else near, 0)
    check_seed(seed)
    if not 0 < probability < 1:
        raise OptionError("probability", probability, "must be between 0 and 1")
    path, options = Path(model), dict(loading or {})
    if isinstance(data, str | Path) and Path(data) == path:
        raise ByheartError("the model and the data are the same path; the data comes second.")
    template = template or options.pop("template", ())
    answer = answer if answer is not None else options.pop("answer", None)
    templates = (template,) if isinstance(template, str) else tuple(template)
    several = [reference] if isinstance(reference, str | Path) else list(reference or ())
    known = [str(x) for x in several] or [UNIFORM if adapter is None else str(path)]
    if len(known) > 1 and set(known) & set(REFERENCES):
        raise ByheartError("several references must be models; give one of the others alone.")
    asked = Question(known, (prefix, suffix), probability, near, show_text)
    watch.stage("loading")
    began = time.perf_counter()
    if checkpoint.is_checkpoint(path):
        subject = checkpoint.opened(path, device, adapter)

        def read(data: Any, options: Mapping[str, Any], by: Checkpoint = subject) -> Asked:
            return items_of(by, data, options, templates, answer)

        place = None if folder is None else Path(folder)
        whole = _non_members(read, data, non_members, options, seed)
        found = _checkpoint(subject, data, whole, read, asked, options, place, watch)
    else:
        other = {"folder": folder, "device": None if device == "cpu" else device}
        for name, given in {**other, "adapter": adapter, "near": near}.items():
            if given is not None:
                raise ByheartError(f"`{name}=...` is for checkpoints; a byheart model needs none.")
        words = {"template": templates or None, "answer": answer}
        options |= {name: given for name, given in words.items() if given is not None}
        found = _compiled(path, data, known[0], non_members, options, watch)
        asked = replace(asked, asks=(1, int(found.groups[0].items.lengths.max())))
    score = time.perf_counter() - found.loaded
    rate = round(found.scored / max(score, 1e-9), 1)
    seconds = Seconds(round(found.loaded - began, 3), round(score, 3), rate)
    of, held = found.model, tuple[Limit, ...]()
    if of.compiled:
        held = (Limit("code word", "theorem", of.stored_bits),)
    elif of.adapter is not None and known == [str(path)]:  # what its base does not hold
        held = limits(None, of.adapter.parameters, of.adapter.stored_bits)
    else:
        held = limits(path, of.parameters, of.stored_bits)
    result = measured(of, *found.groups, held, data, asked, seconds)
    return replace(result, resumed=None if folder is None else str(folder))


class Examination(NamedTuple):
    """A model, when it and the data were loaded, and what it makes of items and non-members."""

    model: AuditedModel
    loaded: float
    groups: tuple[Group, Group | None]
    scored: int  # tokens, by the model, in this run


def _non_members(
    read: Callable[..., Asked], data: Any, non_members: Any, loading: Mapping[str, Any], seed: int
) -> dict[str, Asked]:
    """The items, and the non-members if there are any, in the same wordings."""
    groups = {"items": read(data, loading)}
    if non_members is not None and str(non_members) == RANDOM:
        groups["non-members"] = drawn(groups["items"].items[0], seed)
    elif non_members is not None:
        # Of the options, those that apply: the file of non-members may be of another kind.
        takes = (*OPTIONS.get(kind_of(non_members, loading.get("format")), ()), "length")
        own = {name: value for name, value in loading.items() if name in takes}
        groups["non-members"] = read(non_members, own)
    if len({len(group.items) for group in groups.values()}) > 1:
        raise ByheartError(
            "the items are asked in several wordings and the non-members are not; give both as "
            "tables of the same columns, or one `template=...`."
        )
    return groups


def _checkpoint(
    subject: Checkpoint,
    data: Any,
    groups: Mapping[str, Asked],
    read: Callable[..., Asked],
    question: Question,
    loading: Mapping[str, Any],
    folder: Path | None,
    watch: Watch,
) -> Examination:
    first = groups["items"].items
    path, others = subject.folder, []
    for reference in question.references:
        if reference in REFERENCES:
            continue
        other = checkpoint.opened(reference, subject.device)
        if other.vocabulary != subject.vocabulary:
            raise ByheartError(
                f"{reference} predicts {other.vocabulary:,} tokens and {path} predicts "
                f"{subject.vocabulary:,}; a reference must have the same tokenizer."
            )
        if first[0].text:
            again = read(data, loading, other).items
            if [x.sha256() for x in again] != [x.sha256() for x in first]:
                raise ByheartError(
                    f"{reference} splits the text into other tokens than {path}; a reference must "
                    "have the same tokenizer."
                )
        others.append(other)
    loaded, asks = time.perf_counter(), question.asks
    every = [items for group in groups.values() for items in group.items]
    scores: dict[tuple[int, str, int], Scores] = {}
    fresh = 0
    with nullcontext() if folder is None else Rows(folder) as rows:
        if folder is not None:
            about = {
                "audit": 3,
                "model": scoring.identity(path),
                "adapter": subject.adapter and [x.sha256 for x in subject.adapter.weights],
                "reference": [scoring.identity(x.folder) for x in others],
                "asks": list(asks),
            }
            hashes = {name: [x.sha256() for x in group.items] for name, group in groups.items()}
            settle(folder, about | hashes)
        for number, one in enumerate((subject, *others)):
            tokens = scoring.check_memory(one, every, watch)
            for name, group in groups.items():
                for place, items in enumerate(group.items):
                    role = f"{number}-{name}-{place}"
                    found, new = scoring.score(one, items, asks, tokens, watch, rows, role)
                    scores[number, name, place] = found
                    fresh += new
    judged: dict[str, Group] = {}
    for name, group in groups.items():
        parts: list[Group] = []
        for place, items in enumerate(group.items):
            made, edits = scores[0, name, place], None
            some = [scores[i, name, place].bits for i in range(1, len(others) + 1)]
            codes = some or [coded(question.references[0], first[place], items, subject.vocabulary)]
            if question.near is not None and name == "items":
                edits = generating.edits(subject, items, made, asks, watch)
            parts.append(Group.of(items, made, np.stack(codes), asks, group.texts, place, edits))
        judged[name] = Group.best(parts, group)
    if first[0].text:
        own = first[judged["items"].wording[0]]
        given = own.ids[: min(own.asked(*asks)[0][0], own.lengths[0])]
        asked = subject.tokenizer.decode(given)[-LONGEST:]
        judged["items"] = replace(judged["items"], first=asked)
    same = "kind parameters stored_bits vocabulary weights dtype unread code adapter".split()
    model = AuditedModel(
        **{name: getattr(subject, name) for name in same},
        folder=str(path),
        compiled=False,
        length=subject.limit,
        certified=(path / checkpoint.CERTIFICATE).is_file()
        and subject.adapter is None
        and not closed.is_taught(path),
    )
    return Examination(model, loaded, (judged["items"], judged.get("non-members")), fresh)


def _compiled(
    path: Path, data: Any, reference: str, others: Any, loading: Mapping[str, Any], watch: Watch
) -> Examination:
    """Of a byheart folder: what it stores are labels, or distributions over tokens."""
    if reference not in REFERENCES:
        raise ByheartError(
            "a byheart model is compared with `reference='uniform'` or `reference='unigram'`."
        )
    if others is not None and str(others) == RANDOM:
        raise ByheartError("`non_members='random'` is for checkpoints; give a file of other items.")
    model = open_model(path)
    datasets = [compiled.dataset_for(model, x, loading) for x in (data, others) if x is not None]
    items = [compiled.labels_of(model, dataset) for dataset in datasets]
    loaded, size, longest = time.perf_counter(), len(model.labels), int(items[0].lengths.max())
    groups = []
    for dataset, own in zip(datasets, items, strict=True):
        scores = compiled.score(model, dataset, own, watch)
        codes = coded(reference, items[0], own, size)[None]
        groups.append(Group.of(own, scores, codes, (1, longest)))
    store = kind_of_model(model).store
    audited = AuditedModel(
        folder=str(path),
        kind=str(model.record.method),
        compiled=True,
        parameters=model.parameters.nonzero,
        stored_bits=store.code_bits(model.network),
        vocabulary=size,
        length=model.length,
        weights=closed.hashed([path / weights_file(store) if path.is_dir() else path]),
        dtype=None,
        certified=True,
    )
    tokens = sum(len(own.ids) for own in items)
    both = (groups[0], groups[1] if len(groups) > 1 else None)
    return Examination(audited, loaded, both, tokens)


def drawn(items: Items, seed: int) -> Asked:
    """Random items as long as the given ones, of the tokens that occur in them."""
    random = np.random.default_rng((STREAM, seed))
    chosen = np.arange(len(items))
    if len(items) > MOST:
        chosen = np.sort(random.choice(len(items), MOST, replace=False))
    lengths = items.lengths[chosen]
    begins = items.starts[:-1] + items.opening
    words = np.unique(take(items.ids, begins, items.lengths - items.opening))
    ids = words[random.integers(0, len(words), int(lengths.sum()))]
    starts = offsets(lengths)
    ids[starts[:-1, None] + np.arange(items.opening)] = items.ids[: items.opening]
    made = Items(ids, starts, items.given[chosen], items.labelled, opening=items.opening)
    return Asked((made,), np.arange(1, len(made) + 1))


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
