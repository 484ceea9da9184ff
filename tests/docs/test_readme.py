"""The README is short, its blocks run in an empty folder, and its numbers are measured ones."""

import tomllib
from pathlib import Path

import pytest

from benchmarks.report import recorded
from benchmarks.sizes import any_network, family
from byheart.cli.app import COMMANDS
from tools.pages import running

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLES = (ROOT / "docs" / "commands.md").read_text()


def test_every_block_runs(tmp_path):
    pytest.importorskip("transformers")
    with running.folder(tmp_path):
        left = running.run_page(README)
    assert len(left) == 1 and "make demo" in left[0]
    names = ("capitals.folder", "book.folder", "capitals.model", "gpt2.folder")
    assert all((tmp_path / name).exists() for name in names)


def test_it_is_short_and_names_what_everybody_runs():
    assert len(README.splitlines()) <= 150
    assert "make demo" in README and "make test" in README


def test_its_numbers_are_those_of_the_benchmarks():
    texts = {(row["text"], row["unit"]): row for row in recorded("texts")["rows"]}
    row = texts["tinyshakespeare.txt", "word"]
    said = " ".join(README.split())
    assert f"{row['tokens']:,} words and punctuation marks of *tiny Shakespeare*" in said
    assert f"by a network of {row['parameters']:,} parameters" in said
    others = f"PPMd ({row['ppmd']:,}), bzip2 ({row['bzip2']:,}) and xz ({row['xz']:,})"
    assert f"take {row['total']:,} bytes, between {others}" in said
    assert row["exact"] and row["recited"] and row["bzip2"] < row["total"] < row["xz"]
    largest = max(x["count"] for x in recorded("stock")["rows"] if x["evidence"] == "proved")
    assert f"The {largest:,} distinct prompts of CounterFact" in README
    home = " ".join((ROOT / "docs" / "index.md").read_text().split())
    million = recorded("sizes")["sizes"][-1]
    assert million["sequences"] == 1_000_000
    assert f"A network with {million['nonzero']:,} nonzero parameters" in home
    assert f"in {million['encoded']:.2f} bits of weights for each bit" in home


def test_what_a_million_sequences_need_is_said_alike_on_every_page():
    million = recorded("sizes")["sizes"][-1]
    contexts, nonzero, least = million["contexts"], million["nonzero"], any_network(million)
    pages = ("README.md", "docs/faq.md", "docs/bounds.md", "docs/sizes.md", "docs/index.md")
    said = {page: " ".join((ROOT / page).read_text().split()) for page in pages}
    assert f"A million of them are {contexts:,} different contexts" in said["README.md"]
    assert f"attention layer needs {least:,} nonzero parameters" in said["README.md"]
    assert f"Ours has {nonzero:,}: {nonzero / least:.1f} times as many" in said["README.md"]
    held = f"{contexts:,} contexts with two labels has {nonzero:,} nonzero parameters: "
    assert f"{held}{contexts / nonzero:.0f} bits" in said["docs/faq.md"]
    assert f"needs {million['encoded']:.2f} bits for each bit" in said["docs/faq.md"]
    assert f"{contexts:,} contexts need {least:,} nonzero parameters" in said["docs/bounds.md"]
    assert (
        f"byheart finds {nonzero:,}, which is {nonzero / least:.1f} times" in said["docs/bounds.md"]
    )
    assert f"that is {family(million):,} for I = {contexts:,}" in said["docs/sizes.md"]
    assert f"{1 / million['encoded']:.2f} bits of information for each" in said["docs/index.md"]


def test_every_command_has_an_example():
    assert [name for name in COMMANDS if f"byheart {name}" not in EXAMPLES] == []


def test_a_trained_model_is_compared_on_data_read_as_it_was():
    """`compare` reads the file as it is told: another unit has words that the model lacks."""
    blocks = [x for x in running.blocks(EXAMPLES) if x.kind == "commands"]
    lines = [x.words for block in blocks for x in running.commands(block)]
    trained = next(line for line in lines if "measure" in line)
    compared = next(line for line in lines if "--with" in line)
    for option in ("--unit", "--length"):
        assert compared[compared.index(option) + 1] == trained[trained.index(option) + 1]


def test_where_data_is_from():
    """A file that a block names ships, or a block before it writes it; TinyStories has a source."""
    assert "roneneldan/TinyStories" in (ROOT / "docs" / "data.md").read_text()
    (ROOT / "byheart/data/book.txt").stat()


def test_drawing_needs_nothing_more():
    """`make demo` installs the package alone, and pages draw pictures with it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any(x.startswith("matplotlib") for x in project["dependencies"])
    assert project["optional-dependencies"]["figures"] == []
