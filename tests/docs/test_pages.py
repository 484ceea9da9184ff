"""Pages that are written by a program are what the program writes now."""

import importlib.util
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from byheart.api.compile import compile
from byheart.data import generate
from tools import make_how_pictures, make_lecture_pictures
from tools.pages.assembling import CODE, LINK
from tools.pages.markdown import slug

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_page_of_methods_is_up_to_date():
    path = ROOT / "tools" / "make_methods.py"
    place = importlib.util.spec_from_file_location("make_methods", path)
    program = importlib.util.module_from_spec(place)
    place.loader.exec_module(program)
    assert program.PAGE.read_text() == program.page(), "run python tools/make_methods.py"


def test_items_of_methods_are_numbered_in_order():
    """A sentence may name an item of another section, and goes on in its line."""
    found = re.split(
        r"\*\*(Assumptions|Guarantee|Departures)\*\*", (ROOT / "docs" / "methods.md").read_text()
    )
    for name, text in zip(found[1::2], found[2::2], strict=True):
        items = re.findall(r"^- (\S+)", text.split("\n## ")[0], flags=re.M)
        assert items == [f"{name[0]}{i + 1}" for i in range(len(items))]


def test_the_lines_that_run_plain_tensors(tmp_path):
    page = (DOCS / "plain-tensors.md").read_text()
    lines = page.partition("```python\n")[2].partition("```")[0]
    names = {}
    exec(lines, names)
    for positions in (False, True):
        dataset = replace(generate.random(300, length=3, seed=5), label_names=("no", "yes"))
        model = compile(dataset, method="float64", positions=positions)
        folder = tmp_path / str(positions)
        model.save(folder)
        config, tensors = names["load"](folder)
        labels = json.loads((folder / "vocabulary.json").read_text())["labels"]
        for i in range(len(dataset)):
            vectors = np.array(dataset.sequence(i), dtype=float)
            found = labels[names["forward"](config, tensors, vectors)]
            assert found == dataset.label(i)


def test_the_table_of_folders_is_complete():
    """A folder that is added, renamed or removed must be so in CONTRIBUTING.md."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where things are")[2]
    folders = re.findall(r"^\| `([\w/]+)/` \|", table, flags=re.MULTILINE)
    packages = {path.parent.name for path in (ROOT / "byheart").glob("*/__init__.py")}
    others = {"checker", "results", "benchmarks", "examples", "tests", "docs", "tools"}
    assert sorted(folders) == sorted({f"byheart/{name}" for name in packages} | others)
    assert all((ROOT / name).is_dir() for name in others)


def test_the_home_page_lists_all_pages():
    table = (DOCS / "index.md").read_text().partition("## All pages")[2]
    pages = re.findall(r"^\| \[[^]]+\]\(([\w-]+\.md)\) \|", table, flags=re.MULTILINE)
    assert sorted(pages) == sorted(path.name for path in DOCS.glob("*.md") if path.stem != "index")


def test_the_pictures_of_how_it_works_are_drawn_again(tmp_path, capsys):
    """Not to the byte, which depends on the version of matplotlib: the same pictures."""
    make_how_pictures.main(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    page = (DOCS / "how-it-works.md").read_text()
    assert names == sorted(re.findall(r"\]\((how-\w+\.svg)\)", page))
    assert all((DOCS / name).exists() for name in names)
    columns = make_how_pictures.answers()["columns"]
    assert len(columns) == 3 and sum(columns) % 7 == 0  # twice the total, and each once


def test_the_pictures_for_a_lecture_show_the_numbers_of_the_network(tmp_path):
    """The layers evaluated from their definition give what the network's own trace says."""
    make_lecture_pictures.main(tmp_path)
    page = (DOCS / "lecture.md").read_text()
    names = [path.name for path in tmp_path.iterdir()]
    assert sorted(names) == sorted(re.findall(r"\]\((lecture-\w+\.svg)\)", page))
    own = make_how_pictures.model()
    for flow, (tokens, label) in zip(
        make_lecture_pictures.flows(), make_how_pictures.FACTS, strict=True
    ):
        trace = own.trace(tokens).json()
        assert label == own.labels[int(flow[-1][1][-1][0])]
        for stage in trace["stages"]:
            digits, power = stage["lanes"].get("0", ("0", 0))
            number = flow[stage["layers"][1]][1][-1][0]
            assert number == int(digits) * Fraction(2) ** power
        for place, words in ((0, "embed"), (3, "hash"), (4, "attend"), (10, "fold")):
            told = make_lecture_pictures.shown(flow[place][1][-1][0])
            assert told in page or words == "hash"


def test_links_between_files_of_the_repository_lead_somewhere():
    """As somebody who reads them there finds them: files exist, and headings have these anchors."""
    others = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "checker/FORMAT.md")
    broken = []
    for page in [*DOCS.glob("*.md"), *(ROOT / name for name in others)]:
        text = CODE.sub("", page.read_text())
        for _, link in LINK.findall(text):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if link.startswith(("http://", "https://")):
                continue
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page.name}: {link}")
    assert broken == []


def anchors(page):
    titles = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), flags=re.MULTILINE)
    return {slug(re.sub(r"\\(.)", r"\1", title)) for title in titles}


def test_paths_that_pages_name_exist():
    pages = [*DOCS.glob("*.md"), *(ROOT / x for x in ("README.md", "CONTRIBUTING.md"))]
    for page in (*pages, ROOT / "checker" / "FORMAT.md"):
        folders = "byheart|tools|tests|benchmarks|examples"
        named = re.findall(rf"`((?:{folders})/[\w/.-]+)`", page.read_text())
        missing = [path for path in named if not (ROOT / path).exists()]
        assert missing == [], page.name
