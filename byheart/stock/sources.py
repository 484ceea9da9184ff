"""The texts behind a dataset: the file that it would have been read from."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..data.dataset import Dataset
from ..data.edits import Items
from ..data.layout import BETWEEN
from ..data.load import load
from ..data.readers import text
from ..errors import ByheartError
from .texts import is_corpus
from .tokens import Vocabulary

AGAIN = "change the file itself and compile it again"


def ending(dataset: Dataset) -> str:
    """Of the file's name: .txt for documents, .jsonl for prompts and answers."""
    return ".txt" if is_corpus(dataset) else ".jsonl"


def source(
    dataset: Dataset, spell: Callable[[list[str]], str], split: Callable[[str], list[str]]
) -> str:
    """A file whose texts are split into the tokens of the dataset.

    It is read with the options that the dataset was read with. ByheartError if there is none: the
    dataset is only a part of its file, or its tokens do not say what stood between them.

    spell  tokens to the text that they make up
    split  a text to its tokens
    """
    if dataset.cut or len(dataset.loading.get("input") or ("",)) > 1:  # type: ignore[arg-type]
        raise ByheartError(f"the data is a part of its file, or has several columns; {AGAIN}.")
    corpus = is_corpus(dataset)
    if corpus:
        sequences = Items(dataset, positions=True, last=True).documents()
    else:
        sequences = [dataset.sequence(i) for i in range(len(dataset))]
    spelled = [spell(tokens) for tokens in sequences]
    for tokens, written in zip(sequences, spelled, strict=True):
        if split(written) != tokens:
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


def spelled_by(dataset: Dataset, vocabulary: Vocabulary) -> str:
    """The file of a dataset that this tokenizer split."""
    vocabulary.refuse_unknown(dataset.tokens, "the data")
    return source(dataset, vocabulary.text, vocabulary.split)


def _columns(dataset: Dataset) -> list[str]:
    """The names of the prompt, of the answer and, if rows are counted, of the count."""
    loading = dataset.loading
    names = [*(loading.get("input") or ("input",)), loading.get("label", "label")]  # type: ignore[misc]
    if "count" in loading or (dataset.counts != 1).any():
        names.append(loading.get("count", "count"))
    return list(map(str, names))


def trained_again(dataset: Dataset, vocabulary: Vocabulary, tokenizer: str) -> Dataset:
    """The dataset split by a tokenizer that is trained on it alone ("bpe:8000")."""
    found = _loaded(dataset, spelled_by(dataset, vocabulary), tokenizer)
    return replace(found, loading={**dataset.loading, "tokenizer": tokenizer})


def holds_text(dataset: Dataset) -> bool:
    """Whether joining the tokens of every sequence gives its text, as it was read."""
    whole = not dataset.cut and "length" not in dataset.loading
    return (
        dataset.loading.get("unit") in text.WHOLE
        and whole
        and not (is_corpus(dataset) and dataset.skipped)
    )


def split_by(dataset: Dataset, tokenizer: str, content: str | None = None) -> Dataset:
    """A dataset of words as a tokenizer splits its text.

    tokenizer  as `load` takes it
    content    of the tokenizer.json, if it is not to be trained or read
    """
    unit = str(dataset.loading["unit"])
    found = _loaded(dataset, source(dataset, "".join, text.tokenize(unit)), tokenizer, content)
    loading = {
        "tokenizer" if name == "unit" else name: tokenizer if name == "unit" else value
        for name, value in dataset.loading.items()
    }
    return replace(found, loading=loading)


def _loaded(
    dataset: Dataset, content: str, tokenizer: str, tokenizer_json: str | None = None
) -> Dataset:
    with TemporaryDirectory() as place:
        path = Path(place) / f"data{ending(dataset)}"
        path.write_text(content, encoding="utf-8", newline="")
        if tokenizer_json is not None:
            tokenizer = str(Path(place) / "tokenizer.json")
            Path(tokenizer).write_text(tokenizer_json, encoding="utf-8", newline="")
        if is_corpus(dataset):
            found = load(path, tokenizer=tokenizer, documents=str(dataset.loading["documents"]))
            return replace(found, layout=found.layout and found.layout.of(dataset.layout))
        prompt, answer, *count = _columns(dataset)
        return load(
            path, input=prompt, label=answer, count=next(iter(count), None), tokenizer=tokenizer
        )
