"""The data that a model is judged on: how it is read, and whether it is the model's own.

A model folder may come from anywhere. It says how its data was read, and it may have left out a
part of it; data is read that way only as far as nothing of it is lost, or as the user repeats it.
"""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..claims.model import ModelData
from ..claims.verification import PROVED
from ..data.contexts import RESOLUTIONS, resolve, settled
from ..data.dataset import Dataset
from ..data.load import LOADING, TEMPLATE, applicable, extent, is_corpus, load, unlike
from ..data.load import kind_of as kind_of_data
from ..data.readers.objects import NAME
from ..data.readers.tokenizers import is_trained
from ..data.templates import fields
from ..errors import AssumptionError, ByheartError, Message
from ..machine.tables import plural
from .kinds import kind_of

TYPES = {option.name: option.accepts for option in LOADING}
CHOOSING = ("input", "label", *TEMPLATE)  # columns
SELECTS = tuple(option.name for option in LOADING if option.selects)
REFUSE = RESOLUTIONS[0]
READS = {  # what a model does by an option, before the option's value
    "records": "reads only what stands at", "table": "reads only",
    "count": "weighs rows by the column", "encoding": "reads the text as",
}  # fmt: skip
LISTED = 20  # columns or files that a sentence names
KEPT_AS, KEPT = "tokenizer", "tokenizer.json"  # an option whose file a stock folder holds


def stored(model: ModelData) -> dict:
    """How the model's data was loaded, as far as the folder says it in options that there are."""
    options = {
        name: value
        for name, value in model.record.loading.items()
        if isinstance(value, TYPES.get(name, ())) and not isinstance(value, bool)
    }
    if isinstance(older := model.record.loading.get("files"), str):
        options["include"] = [older]
    table = "input" in options and "numeric" not in options  # of version 0.1
    if options.get("unit") == "word" or table:
        options["unit"] = "wordpunct"  # which version 0.1 called word, and did to every table
    return options


def of_texts(model: ModelData) -> bool:
    """Whether the model was made from documents, rather than from rows."""
    return bool({"documents", "dtype"} & model.record.loading.keys())


def load_for(model: ModelData, data: Any, given: Mapping[str, Any] | None = None) -> Dataset:
    """The data of a file or of objects, split as the model's; `given` options count first."""
    given = dict(given or {})
    data = list(data) if isinstance(data, Iterator) else data
    name = str(data) if isinstance(data, str | Path) else NAME
    options = applicable(data, stored(model), given.get("format"))
    options.pop("shape", None)  # what the columns suggest, and not what a folder says
    options |= given
    if {"unit", "tokenizer"} <= options.keys() and len(given.keys() & {"unit", "tokenizer"}) == 1:
        options.pop("tokenizer" if "unit" in given else "unit")
    for own, other in (
        (TEMPLATE, ("input", "label")),
        (("input",), (*TEMPLATE, "label")),
        (("label",), ("answer",)),
    ):
        if given.keys() & {*own}:
            options = {x: y for x, y in options.items() if x in given or x not in other}
    path = "tokenizer" in options and not is_trained(options["tokenizer"])
    if path and "tokenizer" not in given:  # a stranger may have named it
        raise ByheartError(
            f"{name}: the model's text was split by a tokenizer of its own; name the file with "
            "`tokenizer=...`."
        )
    return load(data, **options)  # type: ignore[arg-type]


def covered(data: Any, dataset: Dataset) -> dict[str, Any]:
    """How many predictions of a file were read in full, and of how many.

    A file has as many as rows, or a text as many as it has tokens without each document's first.
    Files and bytes, where there are any, are counted as they are stored.
    """
    corpus = is_corpus(data, dataset.loading.get("format"))  # type: ignore[arg-type]
    cut, empty, wrong = (dataset.left_out.get(x, 0) for x in ("length", "empty", "tokenizer"))
    whole = len(dataset) + empty + (cut if corpus else 0)
    counts = {"predictions": max(0, whole - cut - empty - wrong), "of": whole}
    return counts | extent(data, dataset.loading)


def unspelled(data: Any, dataset: Dataset) -> list[Message]:
    """What nobody can accept: texts that their tokens do not spell, and documents that a tokenizer
    from elsewhere takes for a single token, so that nothing of them is predicted."""
    sentences = []
    if "tokenizer" in dataset.left_out:
        whole, wrong = covered(data, dataset)["of"], dataset.left_out["tokenizer"]
        sentences.append(
            f"{wrong:,} of {plural(whole, 'prediction')} of the data stand in a text that the "
            "tokenizer does not spell: its tokens make up another one"
        )
    tokenizer = dataset.loading.get("tokenizer")
    if "documents" in dataset.loading and tokenizer and not is_trained(tokenizer):
        if dataset.skipped:
            sentences.append(
                f"{plural(dataset.skipped, 'document')} of fewer than two tokens of this tokenizer "
                "cannot be claimed; leave them out of the file"
            )
    return [Message(sentence) for sentence in sentences]


def skipped_note(dataset: Dataset) -> tuple[str, ...]:
    """What there is to say of documents without a prediction."""
    if "documents" not in dataset.loading or not dataset.skipped:
        return ()
    verb = "holds" if dataset.skipped == 1 else "hold"
    return (f"{plural(dataset.skipped, 'document')} of fewer than two tokens {verb} no prediction",)


def unaccepted(data: Any, dataset: Dataset, given: Mapping[str, Any]) -> list[Message]:
    """What of the data the model left out without anybody having asked for it, as sentences."""
    sentences, left_out, used = [], dataset.left_out, dataset.loading
    corpus = is_corpus(data, used.get("format"))  # type: ignore[arg-type]
    whole = covered(data, dataset)["of"]  # predictions

    def unread(option: str, noun: str) -> str:
        count = left_out[option]
        verb = "was" if count == 1 else "were"
        return f"{count:,} of {plural(whole, noun)} of the data {verb} not read"

    if "length" in left_out and "length" not in given:
        what = unread("length", "prediction") if corpus else f"{unread('length', 'row')} in full"
        size = plural(used["length"], "token")
        sentences.append(f"{what}: the model stops at {size} (`length=...`)")
    if "separator" in left_out and "separator" not in given:
        sentences.append(
            f"the token {used['separator']} was left out {plural(left_out['separator'], 'time')}: "
            "the model takes it for the end of a document (`separator=...`)"
        )
    if "empty" in left_out and "empty" not in given:
        what = unread("empty", "row")
        sentences.append(f"{what}: the model leaves out those with an empty cell (`empty=...`)")
    if "header" in left_out and not given.keys() & {"header", "count", *CHOOSING}:
        sentences.append(
            "the first row of the data was not read: the model takes it for the names of columns "
            "(`header=...`)"
        )
    for option, does in READS.items():
        if option in used and option not in given:
            sentences.append(f"the model {does} {used[option]!r} (`{option}=...`)")
    if "template" in used and not ("template" in given and given.keys() & {"answer", "label"}):
        shown = " and ".join(map(repr, used["template"]))  # type: ignore[call-overload]
        sentences.append(f"the model asks every row as {shown} (`template=...`)")
    for option, seems in unlike(data, used):
        if option not in given:
            sentences.append(
                f"the model reads the file with {option} {used[option]!r}, and it looks like "
                f"{seems!r} (`{option}=...`)"
            )
    more, was = len(dataset.unused) - LISTED, "was" if len(dataset.unused) == 1 else "were"
    others = ", ".join(map(repr, dataset.unused[:LISTED]))
    others += f" and {more:,} more" if more > 0 else ""
    if dataset.unused and corpus and "include" not in given:
        sentences.append(
            f"{plural(len(dataset.unused), 'file')} of the folder {was} not read: {others} "
            "(`include=...`)"
        )
    elif unclaimed(data, dataset, given):
        noun = "arrays" if kind_of_data(data, used.get("format")) == ".npz" else "columns"  # type: ignore[arg-type]
        chosen = f"the {noun} {' and '.join(map(repr, columns_of(used)))}"
        options = "`input=...`, `label=...`"
        if "shape" in used:
            chosen, options = f"what rows of the shape {used['shape']!r} hold", "`shape=...`"
        sentences.append(f"the model has {chosen}, and the data has others: {others} ({options})")
    return list(map(Message, sentences))


def unclaimed(data: Any, dataset: Dataset, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns, or arrays, that the model does not read, if nobody named those that it reads."""
    named = given.keys() & {"template", "shape"} or given.keys() >= {"input", "label"}
    corpus = is_corpus(data, dataset.loading.get("format"))  # type: ignore[arg-type]
    return () if corpus or named else dataset.unused


def columns_of(used: Mapping[str, Any]) -> list[str]:
    of_templates = fields(used.get("template", ()), used.get("answer"))
    named = [*used.get("input", ()), *of_templates, *filter(None, [used.get("label")])]
    return list(dict.fromkeys(named))


def verify_command(
    model: ModelData,
    directory: str = "DIR",
    data: str = "DATA",
    canonical: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> str:
    """What verifies the model, with the options that leave out a part of the file repeated.

    canonical  whether the data is the data.jsonl of a folder, which needs none
    reading    the options that this data was read with, where they are more than the model's
    """
    words = ["byheart", "verify", directory, data]
    for name, value in ({} if canonical else {**stored(model), **(reading or {})}).items():
        if name in SELECTS or (name == "delimiter" and value != ","):
            if name == KEPT_AS and KEPT in kind_of(model).store.FILES and not is_trained(value):
                value = directory  # which holds the file, wherever it was then
            for each in value if isinstance(value, list | tuple) else [value]:
                words += [f"--{name}", str(each)]
    verified = model.record.verification
    if verified is not None and verified.evidence not in (None, PROVED):
        words += ["--accept", str(verified.evidence)]
    return shlex.join(words)


def rule_of(model: ModelData) -> str:
    """How the folder says that conflicts of its data were settled."""
    rule = model.record.options.get("on_conflict")
    return rule if model.claim.conflicts and rule in RESOLUTIONS else REFUSE


def settlement(model: ModelData, dataset: Dataset) -> tuple[str, Dataset, dict[str, int]]:
    """That rule, what it makes of this data, and counts: labels changed, sequences left out."""
    rule, left = rule_of(model), dataset
    if rule != REFUSE:
        with suppress(AssumptionError):  # nothing would be left
            left = resolve(dataset, kind_of(model).prove.contexts(model, dataset), rule)
    return rule, left, settled(dataset, left)


def differences(model: ModelData, dataset: Dataset) -> list[str]:
    """Why this is not the data that the folder names."""
    named, claim, has = model.record.data, model.claim, plural(len(dataset), "sequence")
    if dataset.sha256() != named.sha256:
        rule, left, counts = settlement(model, dataset)
        if left is not dataset and left.sha256() == named.sha256:
            changed = f"changed {plural(counts['relabelled'], 'label')}"
            if counts["dropped"]:
                changed = f"left out {counts['dropped']:,} of {has}"
            return [f"the model was made from this file after --on-conflict {rule} had {changed}"]
        if len(dataset) != named.sequences:
            return [f"the data has {has}, the model was made from {named.sequences}"]
        return ["the data is not what the model was made from: its hash differs"]
    if len(dataset) != named.sequences:
        return [f"the data has {has}, and config.json says {named.sequences}"]
    prove, counted = kind_of(model).prove, claim.counted == "contexts"
    whole = len(prove.contexts(model, dataset)) if counted else prove.whole(dataset)
    if counted and named.contexts != whole:
        has = plural(whole, "context")
        return [f"the data has {has}, the model was made from {named.contexts}"]
    claimed = model.record.verification
    if claimed is not None and not claim.covers(claimed, whole, every=False):
        verified = f"{claimed.checked} {claim.noun} {claimed.evidence}"
        return [f"certificate.json claims {verified}, the data has {whole}"]
    return []
