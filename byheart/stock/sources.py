"""The texts behind a dataset: the file that it would have been read from."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..data.dataset import Dataset
from ..data.edits import Items
from ..data.load import load
from ..data.readers import text
from ..errors import ByheartError
from .texts import is_corpus
from .tokens import Vocabulary

BETWEEN = {"line": "\n", "blank": "\n\n", "separator": f"\n{text.SEPARATOR}\n"}
AGAIN = "change the file itself and compile it again"


def ending(dataset: Dataset) -> str:
    """Of the file's name: .txt for documents, .jsonl for prompts and answers."""
    return ".txt" if is_corpus(dataset) else ".jsonl"


def source(dataset: Dataset, vocabulary: Vocabulary) -> str:
    """A file whose texts the tokenizer splits into the tokens of the dataset.

    It is read with the options that the dataset was read with. ByheartError if there is none: the
    dataset is only a part of its file, or its tokens do not say what stood between them.
    """
    if dataset.left_out or len(dataset.loading.get("input") or ("",)) > 1:  # type: ignore[arg-type]
        raise ByheartError(f"the data is a part of its file, or has several columns; {AGAIN}.")
    vocabulary.refuse_unknown(dataset.tokens, "the data")
    corpus = is_corpus(dataset)
    if corpus:
        sequences = Items(dataset, positions=True, last=True).documents()
    else:
        sequences = [dataset.sequence(i) for i in range(len(dataset))]
    spelled = [vocabulary.text(tokens) for tokens in sequences]
    for tokens, written in zip(sequences, spelled, strict=True):
        if vocabulary.split(written) != tokens:
            raise ByheartError(f"the tokens of the data do not spell its text; {AGAIN}.")
    if corpus:
        rule = str(dataset.loading["documents"])
        content = BETWEEN.get(rule, "").join(spelled)
        content += BETWEEN[rule] if rule == "separator" else ""  # so that one document has a mark
        if text.split(content, rule) != spelled:
            raise ByheartError(f"these documents do not go into one file; {AGAIN}.")
        return content
    names = _columns(dataset)
    lines = []
    for i, prompt in enumerate(spelled):
        row = dict(zip(names, (prompt, dataset.label(i), int(dataset.counts[i])), strict=False))
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def _columns(dataset: Dataset) -> list[str]:
    """The names of the prompt, of the answer and, if rows are counted, of the count."""
    loading = dataset.loading
    names = [*(loading.get("input") or ("input",)), loading.get("label", "label")]  # type: ignore[misc]
    if "count" in loading or (dataset.counts != 1).any():
        names.append(loading.get("count", "count"))
    return list(map(str, names))


def trained_again(dataset: Dataset, vocabulary: Vocabulary, tokenizer: str) -> Dataset:
    """The dataset split by a tokenizer that is trained on it alone ("bpe:8000")."""
    with TemporaryDirectory() as place:
        path = Path(place) / f"data{ending(dataset)}"
        path.write_text(source(dataset, vocabulary), encoding="utf-8", newline="")
        if is_corpus(dataset):
            found = load(path, tokenizer=tokenizer, documents=str(dataset.loading["documents"]))
        else:
            prompt, answer, *count = _columns(dataset)
            found = load(
                path, input=prompt, label=answer, count=next(iter(count), None), tokenizer=tokenizer
            )
    return replace(found, loading={**dataset.loading, "tokenizer": tokenizer})
