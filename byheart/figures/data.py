"""The datasets of the papers' experiments: texts from a file or Hugging Face, random ones by seed.

The source of texts is a file, a folder with the files of `FILES`, or the word "huggingface".
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import number, number_rows
from ..data.dataset import Dataset
from ..data.readers.raw import opened
from ..data.readers.text import document_rule, read_text, split
from ..errors import ByheartError

HUGGING_FACE = "huggingface"
FILES = {"tinystories": "tinystories.txt", "mnli": "mnli.tsv", "imdb": "imdb.tsv"}
TITLES = {"tinystories": "TinyStories", "mnli": "MultiNLI", "imdb": "IMDb"}
NAMES = {
    "tinystories": "roneneldan/TinyStories",
    "mnli": "nyu-mll/multi_nli",
    "imdb": "stanfordnlp/imdb",
}
STORIES = 2000  # in the authors' order; 1,000 are used, and stories under 10 words are left out
COLUMNS = {"gold_label": "label", "sentence1": "premise", "sentence2": "hypothesis"}  # MultiNLI's
RELATIONS = ("entailment", "neutral", "contradiction")  # the labels 0, 1 and 2 of Hugging Face

Source = Path | str | None


def stories(source: Source) -> list[str]:
    """TinyStories in the order in which they are used.

    From Hugging Face they come in the order of madden2024: the authors' program shuffles the whole
    training split with NumPy's seed 0, which shuffles an array of indices in the same way.
    """
    if source != HUGGING_FACE:
        with opened(located(source, "tinystories"), ".txt") as raw:
            text = read_text(raw)
        return split(text, document_rule(text))
    training = _downloaded("tinystories")
    order = np.arange(len(training))
    np.random.RandomState(0).shuffle(order)
    return list(training.select(order[:STORIES].tolist())["text"])


def pairs(source: Source) -> list[tuple[str, str, str]]:
    """MultiNLI: (label, premise, hypothesis) of the first pair with a label of each premise.

    A premise has up to three hypotheses, each with another label; cut to a few words, all three
    are the same context, and their labels contradict each other.
    """
    names = {name: name for name in RELATIONS} | dict(enumerate(RELATIONS))
    first: dict[str, tuple[str, str, str]] = {}
    for label, premise, hypothesis in _rows(source, "mnli", ("label", "premise", "hypothesis")):
        if label in names:
            first.setdefault(premise, (names[label], premise, hypothesis))
    return list(first.values())


def reviews(source: Source) -> list[tuple[str, str]]:
    return [(str(label), text) for label, text in _rows(source, "imdb", ("label", "text"))]


def located(source: Source, name: str) -> Path:
    """The file of this name: the source itself, or the one in a folder."""
    if source is None:
        raise ByheartError(
            f"training this figure needs {TITLES[name]}: pass `data=...` with its file, or "
            f"`data='{HUGGING_FACE}'` to download it."
        )
    path = Path(source)
    path = path / FILES[name] if path.is_dir() else path
    if not path.is_file():
        raise ByheartError(f"{path} is not a file; pass `data=...` with that of {TITLES[name]}.")
    return path


def _rows(source: Source, dataset: str, names: tuple[str, ...]) -> list[tuple]:
    """The named columns, of Hugging Face or of a tab-separated table with a header."""
    if source == HUGGING_FACE:
        training = _downloaded(dataset)
        return list(zip(*(training[name] for name in names), strict=True))
    path = located(source, dataset)
    with opened(path, ".tsv") as raw:
        header, *lines = (line.split("\t") for line in read_text(raw).split("\n") if line)
    columns = [COLUMNS.get(name, name) for name in header]
    missing = [name for name in names if name not in columns]
    if missing:
        lacks = ", ".join(missing)
        raise ByheartError(f"{path} has no column {lacks}; its first line must name the columns.")
    indices = [columns.index(name) for name in names]
    for row, line in enumerate(lines, 2):
        if len(line) != len(header):
            fields = f"{len(line)} fields, but the header has {len(header)}"
            raise ByheartError(f"{path}, row {row}: {fields}.")
    return [tuple(line[index] for index in indices) for line in lines]


def _downloaded(name: str) -> Any:
    """The training split, from the network or the package's own cache."""
    try:
        from datasets import load_dataset
    except ImportError:
        raise ByheartError(
            f"`data='{HUGGING_FACE}'` needs the package datasets: pip install datasets; or pass "
            f"`data=...` with the file of {TITLES[name]}."
        ) from None
    try:
        return load_dataset(NAMES[name], split="train")
    except Exception as error:  # no network, no such name, no space: many classes
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ByheartError(
            f"{NAMES[name]} could not be downloaded from Hugging Face ({reason}); pass `data=...` "
            f"with the file of {TITLES[name]}."
        ) from None


def bigrams(vocabulary: int, seed: int = 0) -> Dataset:
    """All pairs of tokens, each with one next token, drawn uniformly (dana2024, Assumption 1)."""
    pairs = np.indices((vocabulary, vocabulary)).reshape(2, -1).T
    following = np.random.default_rng(seed).integers(0, vocabulary, len(pairs))
    return _dataset("number", np.arange(vocabulary)[:, None], pairs, following)


def vectors(sequences: int, length: int, dimension: int, seed: int = 0) -> Dataset:
    """Sequences of vectors, uniform in [0, 1), each labelled -1 or +1 at random (kajitsuka2025)."""
    random = np.random.default_rng(seed)
    signs = 2 * random.integers(0, 2, sequences) - 1
    tokens, ids = number_rows(random.random((sequences * length, dimension)))
    return _dataset("vector", tokens, ids.reshape(sequences, length), signs)


def _dataset(kind: str, tokens: NDArray, rows: NDArray, labels: NDArray) -> Dataset:
    """Sequences of equal length with token ids [N, n], each seen once."""
    names, numbers = number(labels)
    return Dataset(
        kind=kind,
        tokens=tokens,
        ids=rows.ravel().astype(np.int32),
        starts=np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1],
        labels=numbers.astype(np.int32),
        label_names=tuple(names.tolist()),
        counts=np.ones(len(rows), np.int64),
    )
