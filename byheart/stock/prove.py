"""The proof that a stock checkpoint recites: a running error bound, or a run that observes.

In float32 and float16 the claim is proved for every execution of checker/FORMAT.md, section 10,
where the bound is below the margin; of bfloat16, and of what has no bound, a run is observed.
"""

import json
import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.claim import Draws, Neuron, Recites
from ..claims.kind import Progress, Runtime
from ..claims.verification import OBSERVED, PROVED, REFUTED, SAMPLED, Judging, Verification
from ..data.arrays import batches
from ..data.dataset import Dataset
from ..data.targets import Divergences, Targets, over
from ..errors import ByheartError
from ..softmax.doubles import divergence
from ..softmax.prove import contexts as contexts
from ..softmax.prove import judged
from .answer import StockModel, vocabulary
from .texts import is_corpus, next_tokens, texts_of, unspelled
from .tokens import vocabulary_of

UNICODE = (16, 0, 0)  # of the tables that libraries have


def reads(model: StockModel, dataset: Dataset) -> Dataset:
    """The data as next tokens; a file of tokens, such as data.jsonl, holds them already.

    Texts that their tokens do not spell are left out by the tokenizer: nothing is proved of them.
    """
    if dataset.tokenizer is None:
        if "unit" in dataset.loading:
            raise ByheartError(
                "a stock checkpoint reads text as its own tokenizer splits it, and this text was "
                f"split by unit {dataset.loading['unit']!r}; name the tokenizer with "
                "`tokenizer=...`."
            )
        return dataset
    begins = model.network.family.rms
    named = dataset.loading.get("tokenizer")
    own = vocabulary_of(dataset.tokenizer, named, begins, model.claim.end)
    held = next_tokens(dataset, own, begins, not model.claim.conflicts)
    if held is not dataset and (wrong := unspelled(dataset, own)):
        held = replace(held, left_out={**held.left_out, "tokenizer": wrong.predictions})
    return held


def texts(model: StockModel, dataset: Dataset) -> list[dict[str, Any]] | None:
    """Prompts with their answers, or documents (checker/FORMAT.md, section 10, Texts)."""
    written, corpus = dataset.texts, is_corpus(dataset)
    if not written or dataset.left_out.get("length") or "window" in dataset.loading:
        return None
    splits = json.loads(model.record.tokenizer or "{}").get("pre_tokenizer") or {}
    answers = () if corpus else map(str, dataset.label_names)
    if splits.get("type") == "Sequence" or not all(map(_assigned, (*written, *answers))):
        return None
    if corpus:
        return [{"text": text} for text in written]
    rows = zip(written, dataset.labels.tolist(), dataset.counts.tolist(), strict=True)
    return [{"prompt": x, "answer": str(dataset.label_names[i]), "count": n} for x, i, n in rows]


def _assigned(text: str) -> bool:
    """Whether the checker's tables of Unicode know every character, and libraries do, too."""
    newer = tuple(map(int, unicodedata.unidata_version.split("."))) > UNICODE
    tables = unicodedata.ucd_3_2_0 if newer else unicodedata
    return text.isascii() or not any(tables.category(x) in ("Cn", "Cs") for x in text)


def whole(dataset: Dataset) -> int:
    return len(dataset)


def verify(model: StockModel, dataset: Dataset, how: Judging) -> Verification:
    """Bound the margin of every sequence, or observe it where there is no bound."""
    from .arithmetic import Unbounded
    from .enclose import margins
    from .forward import answers

    claim = model.claim
    if isinstance(claim, Draws):
        return _drawn(model, claim, dataset, how)
    kept = how.chosen(len(dataset))
    rows = np.arange(len(dataset)) if kept is None else kept
    sequences, wanted = numbered(model, dataset)
    failures = _misquoted(claim, sequences, wanted)  # of a sample, too, about all of the data
    sequences, wanted = [sequences[i] for i in rows], wanted[rows]
    margin, right = None, np.zeros(len(rows), bool)
    evidence, engine = OBSERVED, "numpy"
    try:
        found = margins(model.network, sequences, wanted, how.progress)
        right, margin = found.margin > 0, float(found.margin.min())
        untrue = _untrue(claim, sequences, found)
        if claim.dtype == "float32":
            failures += untrue
        elif untrue or not right.all():  # bounds of 16 bits are wide: what they miss may hold
            right[:] = False
            engine = f"numpy (the bound of {claim.dtype} is larger than the margin)"
    except Unbounded as error:
        engine = f"numpy ({error})"
    every = None
    if right.all():
        engine, every = f"{claim.dtype} error bounds", found.margin
        evidence = PROVED if kept is None else SAMPLED
    else:  # what is not proved may be right all the same
        margin = None
        right = answers(model.network, sequences, np.float32) == wanted
    for i in np.flatnonzero(~right)[:10].tolist():
        failures.append(_wrong(model, dataset, int(rows[i]), sequences[i]))
    if failures:
        evidence = REFUTED
    counts, wrong = (len(rows), int(right.sum())), tuple(failures[:10])
    return Verification(*counts, evidence, engine, wrong, margin=margin, margins=every)


def _drawn(model: StockModel, claim: Draws, dataset: Dataset, how: Judging) -> Verification:
    """Bound the divergence of every context, or observe it where there is no bound."""
    from .arithmetic import Unbounded
    from .enclose import margins
    from .forward import last_logits

    untrue = _misquoted(claim, *numbered(model, dataset))

    def found(wanted: Targets) -> Divergences:
        run = _run(model, wanted, lambda tokens: last_logits(model.network, tokens, np.float32))
        try:
            bound = margins(model.network, wanted.sequences, wanted, how.progress)
        except Unbounded as error:
            return replace(run, engine=f"numpy ({error})")
        untrue.extend(_untrue(claim, wanted.sequences, bound))
        if (bound.margin <= claim.gap).all():
            return replace(run, values=bound.margin, rigorous=True, engine="float32 error bounds")
        return replace(run, engine="numpy (the bound is larger than the gap)")

    wanted = over(dataset, contexts(model, dataset), model.labels)
    result = judged(wanted, claim.gap, how, found, model.labels)
    failures = (*untrue, *result.failures)[:10]
    return replace(result, evidence=REFUTED, failures=failures) if untrue else result


def _run(
    model: StockModel, wanted: Targets, logits_of: Callable[[NDArray], NDArray]
) -> Divergences:
    """The divergences of a run, which gives the logits after tokens [B, n]."""
    rows, vocabulary = wanted.sequences, model.network.size("vocabulary")
    values, likeliest = np.empty(len(rows)), np.empty(len(rows), np.int64)
    for part in batches(rows, lambda length: length * vocabulary):
        logits = logits_of(np.stack([rows[i] for i in part])).astype(np.float64)
        values[part] = divergence(logits, wanted.subset(np.array(part)))
        likeliest[part] = logits.argmax(axis=1)
    return Divergences(values, np.zeros(len(rows)), likeliest, False, "numpy")


def recorded(model: StockModel, dataset: Dataset, found: Verification) -> Recites:
    """Ground truth with the margins that were proved for all of the data."""
    claim = model.claim
    if found.evidence != PROVED or found.margins is None:
        return claim
    sequences, _ = numbered(model, dataset)
    margin = {x.tobytes(): y for x, y in zip(sequences, found.margins.tolist(), strict=True)}

    def shortened(margin: float) -> float:
        """Three decimals, rounded down, so that sums in another order prove it too."""
        return math.floor((margin - 1e-6) * 1000) / 1000

    holders = (x._replace(margin=shortened(margin[x.tokens.tobytes()])) for x in claim.holders)
    return replace(claim, holders=tuple(holders))


def numbered(
    model: StockModel, dataset: Dataset
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The sequences and their labels by the numbers of the checkpoint."""
    token = np.array([model.places[x] for x in dataset.tokens], np.int64)  # type: ignore[index]
    label = np.array([model.places[x] for x in dataset.label_names], np.int64)
    starts = dataset.starts
    rows = [token[dataset.ids[a:b]] for a, b in zip(starts[:-1], starts[1:], strict=True)]
    return rows, label[dataset.labels]


def _misquoted(claim: Recites, sequences: list[NDArray], wanted: NDArray[np.int64]) -> list[str]:
    """Where ground_truth.jsonl names another answer than the data, or what is not in it."""
    follow: dict[bytes, list[int]] = {}
    for x, y in zip(sequences, wanted.tolist(), strict=True):
        follow.setdefault(x.tobytes(), []).append(y)
    for holder in claim.holders:
        if (answers := follow.get(holder.tokens.tobytes())) is None:
            return ["ground_truth.jsonl names a context that is not in the data"]
        if holder.answer not in answers:
            return [
                f"ground_truth.jsonl says that token {holder.answer} follows "
                f"{holder.tokens.tolist()[-8:]}, and it is {answers[0]}"
            ]
    return []


def _wrong(model: StockModel, dataset: Dataset, row: int, tokens: NDArray) -> str:
    from .forward import answers

    assert model.tokens is not None
    said = model.tokens[int(answers(model.network, [tokens.tolist()])[0])]
    shown = dataset.sequence(row)[-8:]
    return f"after {shown!r} it says {said!r}, not {dataset.label(row)!r}"


def _untrue(claim: Recites, sequences: list, found: Any) -> list[str]:
    on: dict[int, set[Neuron]] = {}
    for row, layer, neuron in found.on.tolist():
        on.setdefault(row, set()).add((layer, neuron))
    always = set(claim.always)
    held = {holder.tokens.tobytes(): holder for holder in claim.holders}
    if len(held) != len({(x.tokens.tobytes(), x.neurons) for x in claim.holders}):
        return ["ground_truth.jsonl names a context twice"]
    for row, tokens in enumerate(sequences):
        holder = held.get(tokens.tobytes())
        listed = () if holder is None else holder.neurons
        if not always <= on.get(row, set()):
            return [f"a neuron of {sorted(always)} is not on at every context"]
        if listed is None:  # the answer is spread over neurons that no line lists
            continue
        if on.get(row, set()) - always != set(listed) or not found.sure[row]:
            return [
                f"at context {tokens.tolist()[-8:]} other neurons are on than "
                "ground_truth.jsonl says"
            ]
    return []


def unfitting(model: StockModel, dataset: Dataset) -> str | None:
    if dataset.kind != "string" or dataset.every:
        return "the model reads tokens of text with one label per sequence, the data has others"
    if not dataset.lengths.all() or dataset.length > model.length:
        return (
            f"the model reads 1 to {model.length} tokens, and the data has a sequence with "
            f"{dataset.length if dataset.lengths.all() else 0}"
        )
    for word in (*dataset.tokens, *dataset.label_names):
        if word not in model.places:
            return f"the data has the token {word!r}, which the model's tokenizer does not have"
    own, other = model.record.tokenizer, dataset.tokenizer
    if other is not None and own != other:  # its JSON may be written in another way
        if own is None or json.loads(own) != json.loads(other):
            return "the model's tokenizer.json is not the tokenizer that split the data"
    return None


def observed(
    model: StockModel, dataset: Dataset, runtime: Runtime, progress: Progress
) -> tuple[int, list[str]]:
    """The likeliest next token after every sequence, and every text as the library generates it;
    or the divergence after every context."""
    assert model.tokens is not None
    if isinstance(model.claim, Draws):
        if (run := runtime.run) is None:
            raise ByheartError(f"{runtime.name} gives no logits here, and so no distributions.")
        targets = over(dataset, contexts(model, dataset), model.labels)
        values = _run(model, targets, lambda tokens: run(tokens)[:, -1])
        ran = judged(targets, model.claim.gap, Judging(), lambda _: values, model.labels)
        return ran.checked, list(ran.failures)
    sequences, wanted = numbered(model, dataset)
    generates = runtime.generate is not None
    found = said_tokens(
        sequences, model.network.size("vocabulary"), runtime, None if generates else progress
    )
    goes_on = (found == wanted) & (wanted != model.places[model.claim.end])
    texts = chains(sequences, wanted, goes_on) if generates else []
    how: dict[int, str] = {}
    for row, token in _departures(model, sequences, wanted, texts, runtime, progress):
        if found[row] == wanted[row]:
            found[row], how[row] = token, " by generate()"
    failures = {
        i: f"after {dataset.sequence(i)[-8:]!r} it says "
        f"{model.tokens[found[i]] if 0 <= found[i] < len(model.tokens) else None!r}"
        f"{how.get(i, '')}, not {dataset.label(i)!r}"
        for i in np.flatnonzero(found != wanted).tolist()
    }
    if runtime.split is not None:
        ends = {row for text in texts for row in (text[0], text[-1])}
        failures |= _resplit(model, {row: sequences[row] for row in sorted(ends)}, runtime.split)
    return len(sequences), list(failures.values())


def chains(
    sequences: list[NDArray], wanted: NDArray[np.int64], goes_on: NDArray[np.bool_]
) -> list[list[int]]:
    """The rows of every text: each context is the one before with the token that follows it.

    goes_on  whether a context may follow: not after the end, nor after a wrong prediction
    """
    chains: list[list[int]] = []
    for i, row in enumerate(sequences):
        last = chains[-1][-1] if chains else None
        if (
            last is not None
            and goes_on[last]
            and np.array_equal(row, np.append(sequences[last], wanted[last]))
        ):
            chains[-1].append(i)
        else:
            chains.append([i])
    return chains


def _departures(
    model: StockModel,
    sequences: list[NDArray],
    wanted: NDArray[np.int64],
    chains: list[list[int]],
    runtime: Runtime,
    progress: Progress,
) -> Iterator[tuple[int, int]]:
    """Where generate(), given the first context of a chain, leaves the data; and what it says."""
    size = model.network.size
    each = size("vocabulary") + 2 * size("layers") * size("width")  # numbers for one token
    longest = max(map(len, chains), default=0)
    prompts = [sequences[rows[0]] for rows in chains]
    for part in batches(prompts, lambda length: (length + longest) * each):
        assert runtime.generate is not None
        count = max(len(chains[i]) for i in part)
        spoken = runtime.generate(np.stack([prompts[i] for i in part]), count).tolist()
        for rows, tokens in zip((chains[i] for i in part), spoken, strict=True):
            pairs = zip_longest(rows, tokens[: len(rows)], fillvalue=-1)
            yield from islice(((row, x) for row, x in pairs if x != wanted[row]), 1)
            if progress is not None:
                progress(len(rows))


def _resplit(
    model: StockModel, sequences: Mapping[int, NDArray], split: Callable[[str], Sequence[int]]
) -> dict[int, str]:
    """The rows whose text another tokenizer splits differently than the folder's."""
    assert model.tokens is not None
    own, wrong = vocabulary(model), dict[int, str]()
    begin = [model.places[own.end]] if model.network.family.rms else []
    for i, row in sequences.items():
        text = own.spelled(str(model.tokens[x]) for x in row)
        if text and list(split(text)) != [*begin, *(model.places[x] for x in own.split(text))]:
            wrong[i] = f"its tokenizer splits the text {text[-80:]!r} into other tokens"
    return wrong


def said_tokens(
    sequences: list[NDArray], vocabulary: int, runtime: Runtime, progress: Progress
) -> NDArray[np.int64]:
    """What the runtime says after each sequence, -1 for NaN; where it gives logits, a text is read
    once for all of its beginnings."""
    spoken = np.empty(len(sequences), np.int64)
    if runtime.says is not None:
        for i, tokens in enumerate(sequences):
            spoken[i] = runtime.says(tokens)
            if progress is not None:
                progress(1)
        return spoken
    assert runtime.run is not None
    texts = texts_of(sequences)
    rows_of = texts.sequences
    for part in batches(texts.tokens, lambda length: length * vocabulary):
        logits = runtime.run(np.stack([texts.tokens[i] for i in part]))
        for rows, text_logits in zip((rows_of[i] for i in part), logits, strict=True):
            chosen = text_logits[texts.place[rows]]
            # a NaN is nobody's largest logit
            spoken[rows] = np.where(np.isnan(chosen).any(axis=1), -1, chosen.argmax(axis=1))
            if progress is not None:
                progress(len(rows))
    return spoken
