"""Texts from files, from a folder, and from a stand-in for the package of Hugging Face."""

import sys
from types import ModuleType

import numpy as np
import pytest

from byheart.errors import ByheartError
from byheart.figures import data


class Split:
    """What load_dataset gives: columns by name, and some of the rows."""

    def __init__(self, **columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name):
        return self.columns[name]

    def select(self, places):
        return Split(**{name: [of[i] for i in places] for name, of in self.columns.items()})


@pytest.fixture
def hub(monkeypatch):
    """The package datasets, with splits to be had by name."""
    splits, module = {}, ModuleType("datasets")

    def load_dataset(name, split):
        assert split == "train"
        if name not in splits:
            raise ConnectionError("no\nnetwork")
        return splits[name]

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return splits


def test_stories_are_separated(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("One day\nhe ran.\n<|endoftext|>\nShe sat.\n<|endoftext|>\n")
    assert data.stories(path) == ["One day\nhe ran.", "She sat."]


def test_a_folder_has_the_files_by_name(tmp_path):
    (tmp_path / "tinystories.txt").write_text("a\n<|endoftext|>\nb\n")
    (tmp_path / "imdb.tsv").write_text("label\ttext\n1\tgood film\n0\tbad film\n")
    assert data.stories(tmp_path) == ["a", "b"]
    assert data.reviews(tmp_path) == [("1", "good film"), ("0", "bad film")]
    with pytest.raises(
        ByheartError, match="mnli.tsv is not a file; pass data=... with that of MultiNLI"
    ):
        data.pairs(tmp_path)


@pytest.mark.parametrize(
    "header", ["label\tpremise\thypothesis", "gold_label\tsentence1\tsentence2"]
)
def test_pairs_without_a_label_are_left_out(tmp_path, header):
    path = tmp_path / "pairs.tsv"
    path.write_text(f"id\t{header}\n7\tneutral\tA b.\tC.\n8\t-\tD\tE\n9\tentailment\tF\tG\n")
    assert data.pairs(path) == [("neutral", "A b.", "C."), ("entailment", "F", "G")]


def test_the_first_pair_with_a_label_of_each_premise_is_kept(tmp_path):
    path = tmp_path / "pairs.tsv"
    lines = ("-\tp\ta", "neutral\tp\tb", "entailment\tq\tb", "contradiction\tp\tc")
    path.write_text("label\tpremise\thypothesis\n" + "\n".join(lines))
    assert data.pairs(path) == [("neutral", "p", "b"), ("entailment", "q", "b")]


def test_a_table_without_the_columns(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("label\twords\n1\tx\n")
    with pytest.raises(ByheartError, match="has no column text"):
        data.reviews(path)


def test_a_row_that_is_too_short(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("label\ttext\n1\tx\n0\n")
    with pytest.raises(ByheartError, match="row 3: 1 fields, but the header has 2"):
        data.reviews(path)


def test_no_source_and_no_file():
    with pytest.raises(ByheartError, match="needs TinyStories: pass data=... with its file"):
        data.stories(None)
    with pytest.raises(
        ByheartError, match="nowhere.tsv is not a file; pass data=... with that of IMDb"
    ):
        data.reviews("nowhere.tsv")


def test_stories_of_the_hub_come_in_the_authors_order(hub):
    """Their program shuffles an array of texts; we shuffle places."""
    texts = [f"story {i} " * (i % 5) for i in range(5000)]
    hub["roneneldan/TinyStories"] = Split(text=texts)
    shuffled = np.array(texts)
    np.random.seed(0)
    np.random.shuffle(shuffled)
    assert data.stories("huggingface") == shuffled[: data.STORIES].tolist()


def test_pairs_and_reviews_of_the_hub(hub):
    hub["nyu-mll/multi_nli"] = Split(
        label=[2, -1, 0], premise=["p", "q", "r"], hypothesis=["s", "t", "u"]
    )
    hub["stanfordnlp/imdb"] = Split(label=[0, 1], text=["bad", "good"])
    assert data.pairs("huggingface") == [("contradiction", "p", "s"), ("entailment", "r", "u")]
    assert data.reviews("huggingface") == [("0", "bad"), ("1", "good")]


def test_no_network(hub):
    with pytest.raises(
        ByheartError, match=r"could not be downloaded .*\(no network\); pass data=..."
    ):
        data.reviews("huggingface")


def test_no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ByheartError, match="needs the package datasets"):
        data.stories("huggingface")
