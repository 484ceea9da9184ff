"""The texts of the papers' experiments: from the user's own file, or from Hugging Face.

A source is a file, a folder with the files of `FILES`, or the word "huggingface".
"""

from pathlib import Path
from typing import Any

import numpy as np

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
STORIES = 2000  # of the authors' order; 1,000 are used, and stories under 10 words are left out
COLUMNS = {"gold_label": "label", "sentence1": "premise", "sentence2": "hypothesis"}  # MultiNLI's
RELATIONS = ("entailment", "neutral", "contradiction")  # the labels 0, 1 and 2 of Hugging Face

Source = Path | str | None


def stories(source: Source) -> list[str]:
    """TinyStories in the order in which they are taken.

    From Hugging Face they come in the order of madden2024: the authors' program shuffles the whole
    training split with the seed 0 of NumPy, which draws the same numbers for an array of places.
    """
    if source != HUGGING_FACE:
        text = read_text(located(source, "tinystories"))
        return split(text, document_rule(text))
    found = _downloaded("tinystories")
    order = np.arange(len(found))
    np.random.RandomState(0).shuffle(order)
    return list(found.select(order[:STORIES].tolist())["text"])


def pairs(source: Source) -> list[tuple[str, str, str]]:
    """MultiNLI: (label, premise, hypothesis), without pairs that have no label."""
    if source != HUGGING_FACE:
        rows = _table(located(source, "mnli"), ("label", "premise", "hypothesis"))
        return [row for row in rows if row[0] in RELATIONS]
    found = _downloaded("mnli")
    columns = zip(found["label"], found["premise"], found["hypothesis"], strict=True)
    return [(RELATIONS[label], *texts) for label, *texts in columns if label >= 0]


def reviews(source: Source) -> list[tuple[str, str]]:
    """IMDb: (label, text)."""
    if source != HUGGING_FACE:
        return _table(located(source, "imdb"), ("label", "text"))
    found = _downloaded("imdb")
    return [(str(label), text) for label, text in zip(found["label"], found["text"], strict=True)]


def located(source: Source, name: str) -> Path:
    """The file of this name: the source itself, or the one in a folder."""
    if source is None:
        raise ByheartError(
            f"training this figure needs {TITLES[name]}: give --data FILE, or --data "
            f"{HUGGING_FACE} where there is a network."
        )
    path = Path(source)
    path = path / FILES[name] if path.is_dir() else path
    if not path.is_file():
        raise ByheartError(f"{path} is no file; give {TITLES[name]} as --data FILE.")
    return path


def _table(path: Path, names: tuple[str, ...]) -> list:
    """The named columns of a tab-separated table with a header."""
    header, *lines = (line.split("\t") for line in read_text(path).split("\n") if line)
    columns = [COLUMNS.get(name, name) for name in header]
    lacks = [name for name in names if name not in columns]
    if lacks:
        raise ByheartError(
            f"{path} has no column {', '.join(lacks)}; its header names the columns."
        )
    places = [columns.index(name) for name in names]
    for number, line in enumerate(lines, 2):
        if len(line) != len(header):
            raise ByheartError(
                f"{path}, row {number}: {len(line)} fields, and the header has {len(header)}."
            )
    return [tuple(line[place] for place in places) for line in lines]


def _downloaded(name: str) -> Any:
    """The training split, from the network or the package's own cache."""
    try:
        from datasets import load_dataset
    except ImportError:
        raise ByheartError(
            f"--data {HUGGING_FACE} needs the package datasets: pip install datasets; or give "
            f"{TITLES[name]} as --data FILE."
        ) from None
    try:
        return load_dataset(NAMES[name], split="train")
    except Exception as error:  # no network, no such name, no space: the package has many errors
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ByheartError(
            f"{NAMES[name]} could not be had from Hugging Face ({reason}); "
            f"give {TITLES[name]} as --data FILE."
        ) from None
