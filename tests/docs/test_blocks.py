"""The code blocks of every page of docs/ run, and print what the page shows."""

import re
import shutil
from pathlib import Path

import pytest

from tools.pages import running

ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}
OWN = {  # pages whose blocks a file of their own runs
    "data": "test_data.py",
    "stock": "test_stock.py",
    "theorems-madden2024": "test_madden2024.py",
}
WHOLE = {  # pages that are left alone
    "audit": "audits checkpoints that it does not make; the audit of commands.md runs",
    "reproduce": "draws from and trains for results/; reproduce-a-figure runs one of them",
    "statistics": "counts five million documents",
}
RUN = sorted(x for x in set(PAGES) - set(OWN) - set(WHOLE) if running.blocks(PAGES[x]))
# blocks that the pages mark as not run: a new one is noticed here
LEFT = {
    "attention-only": 2,
    "benchmark": 2,
    "checker": 1,
    "commands": 2,
    "interpretability": 2,
    "measure": 5,
    "reproduce-a-figure": 3,
    "start": 1,
    "teach": 1,
    "texts": 2,
    "verify": 1,
}
FIELD = {"tools": 11}  # blocks that `make field` runs, where the tools are installed


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What pages take for granted: the files of the README and of stock.md, a model, the book."""
    home = tmp_path_factory.mktemp("files")
    with running.folder(home):
        blocks = running.blocks((ROOT / "README.md").read_text() + PAGES["stock"])
        written = [x for x in blocks if x.text.startswith("cat > ")]
        lines = "byheart compile capitals.jsonl -o capitals.folder\ncp byheart/data/book.txt .\n"
        for block in (*written, running.Block("commands", lines)):
            for command in running.commands(block):
                assert running.run(command)[0] == 0
    return home


@pytest.mark.parametrize("name", RUN)
def test_the_blocks_of_a_page_run(name, files, tmp_path):
    """In a folder of their own, without the model where the page compiles it."""
    page = PAGES[name]
    for library in ("torch", "transformers"):
        if re.search(rf"^(import|from) {library}\b", page, flags=re.MULTILINE):
            pytest.importorskip(library)
    home = tmp_path / "page"
    shutil.copytree(files, home)
    if "-o capitals.folder" in page:
        shutil.rmtree(home / "capitals.folder")
    (home / "results").symlink_to(ROOT / "results")
    with running.folder(home):
        left = running.run_page(page)
    assert len(left) == (LEFT | FIELD).get(name, 0), left


def test_what_is_not_run_is_counted():
    """Marked blocks of all pages, and the blocks of pages that are left alone."""
    marked = sum(LEFT.values())
    alone = sum(len(running.blocks(PAGES[name])) for name in WHOLE)
    every = sum(len(running.blocks(page)) for page in PAGES.values())
    print(f"{every} blocks in docs/; not run: {marked} marked, {alone} of {', '.join(WHOLE)}")
    assert set(LEFT) <= set(RUN) and marked == 22 and 3 * (marked + alone) < every


@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        ("```\nbyheart check madden-theorem-6 --vocabulary 4 --length 3  # refuted\n```", "ended"),
        ("```\n$ byheart --version\nbyheart 9.9.9\n```", "9.9.9"),
        ("```python\n1 + 1  # 3\n```", "is 2, not 3"),
        ("```python\n2 / 3  # 0.66\n```", "not 0.66"),
        ("```\nbyheart --version\n```\n\n```\nnothing of the kind\n```", "nothing of the kind"),
        ("```\nlines of nobody\n```", "no command prints this"),
        ("```\n$ byheart verify missing capitals.jsonl\n```", "ended with 2"),
    ],
)
def test_what_a_page_says_wrongly_is_noticed(page, wrong, tmp_path):
    with running.folder(tmp_path), pytest.raises(AssertionError, match=wrong):
        running.run_page(page)


def test_blocks_that_are_marked_are_not_run(tmp_path):
    page = (
        "<!-- not run: it would fail -->\n```\nbyheart no-such-command\n```\n\n```\ncp DIR OUT\n```"
    )
    with running.folder(tmp_path):
        left = running.run_page(page)
    assert left == ["it would fail: byheart no-such-command"]


@pytest.mark.parametrize("language", ["sh", "json"])
def test_a_language_that_nothing_runs_is_refused(language):
    with pytest.raises(ValueError, match=language):
        running.blocks(f"```{language}\nx\n```")


@pytest.mark.parametrize(
    ("value", "said", "holds"),
    [(1.03e-06, 1e-06, True), (0.6667, 0.667, True), (0.6667, 0.66, False), ("a", "a", True)],
)
def test_a_float_is_compared_in_the_digits_that_are_shown(value, said, holds):
    assert running.same(value, said) is holds
