"""The documentation site: built without a warning, complete, closed, and searchable from a file."""

import json
import os
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from filelock import FileLock

import byheart
from byheart.constructions import ALL
from byheart.theory import ALL as BOUNDS
from byheart.theory.papers import cited

pytest.importorskip("sphinx")
pytest.importorskip("furo")
pytest.importorskip("tokenizers")  # the gallery compiles stock checkpoints
from tools.pages import assembling, gallery, limits, markdown, reference  # noqa: E402
from tools.pages.__main__ import build  # noqa: E402
from tools.pages.markdown import escaped  # noqa: E402
from tools.pages.mathematics import mathematics  # noqa: E402

LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
OUTSIDE = ("http:", "https:", "//")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site, built once for all workers; Sphinx would have ended with 1 after a warning."""
    home = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        home = home.parent
    with FileLock(home / "site.lock"):
        done = home / "site.json"
        if not done.exists():
            done.write_text(json.dumps(build(home / "site")))
    assert json.loads(done.read_text()) == 0, "Sphinx reports problems"
    return home / "site"


class Page(HTMLParser):
    """The anchors of a page, its links, and the files that a browser loads for it."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = {""}, [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and not {"stylesheet", "icon"} & set(given.get("rel", "").split()):
            return  # a relation to another page, which is not loaded
        if tag in LOADS and given.get(LOADS[tag]):
            self.loaded.append(given[LOADS[tag]])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_link_and_every_anchor_is_there(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = pages.get(target)
            if there is None and not target.is_file():
                broken.append(f"{path.name}: {link}")
            elif there is not None and unquote(parts.fragment) not in there.anchors:
                broken.append(f"{path.name}: {link}")
    assert len(pages) > 80 and broken == []


def test_nothing_is_loaded_from_outside(pages, site):
    """A page loads files of the site alone, and so do the style sheets."""
    for path, page in pages.items():
        for link in page.loaded:
            if link.startswith("data:"):
                continue
            assert not link.startswith(OUTSIDE), f"{path.name} loads {link}"
            assert (path.parent / unquote(urlsplit(link).path)).is_file(), f"{path.name}: {link}"
    for sheet in site.rglob("*.css"):
        loaded = re.findall(r"url\(['\"]?([^)'\"]+)|@import ['\"]([^'\"]+)", sheet.read_text())
        assert not [x for pair in loaded for x in pair if x.startswith(OUTSIDE)], sheet


@pytest.mark.parametrize("method", ALL, ids=lambda x: f"{x.name}-{x.form}")
def test_every_construction_has_a_page(method, site):
    """With its theorem, its picture, an example that was run, a size and evidence, for its form."""
    text = Text(site / "gallery" / f"{method.name}.html").text
    header = method.header
    for words in (header.summary, cited(header.statement)):
        assert "".join(words.split()).replace("`", "") in "".join(text.split())
    for title in ("Try it", "How large", "Evidence", "Errata"):
        assert title in text
    form = f" --form {method.form}" if method.form else ""
    assert f"--method {method.name}{form}" in text
    assert f"byheart.methods.{type(method).__name__}()" in text
    assert "VERIFIED" in text and "'proved'" in text
    if method.form:
        assert f"The {method.form} form" in text
    if method.claim.name != "recites":
        picture = f"{method.name}-{method.form}.svg" if method.form else f"{method.name}.svg"
        assert (site / "_images" / picture).is_file()


class Text(HTMLParser):
    """The words of a page."""

    def __init__(self, path):
        super().__init__()
        self.text, self.formula = "", False
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        if tag == "math":  # as it was typed
            self.text, self.formula = self.text + dict(attributes)["alttext"], True

    def handle_endtag(self, tag):
        self.formula &= tag != "math"

    def handle_data(self, data):
        self.text += "" if self.formula else data


def test_the_bounds_are_all_on_a_page(site):
    listed = {(x.paper, x.item) for family in limits.FAMILIES for x in family.module.ITEMS.values()}
    assert listed == {(x.paper, x.item) for x in BOUNDS}
    for family in limits.FAMILIES:
        text = Text(site / "limits" / f"{family.name}.html").text
        assert all(x.item in text for x in family.module.ITEMS.values())


def test_every_public_name_is_described(site):
    text = "".join(Text(path).text for path in (site / "api").glob("*.html"))
    for name in byheart.__all__:
        assert re.search(rf"\bbyheart\.{name}\(|class {name}\b", text), name


def test_a_folder_that_is_no_site_is_not_replaced(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert build(tmp_path) == 2 and "is not a site" in capsys.readouterr().err
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_link_to_nothing_is_refused(tmp_path, monkeypatch):
    """Before Sphinx runs: the pages are refused with the links that are broken."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n\n[one](nothing.md) [two](index.md)\n")
    (tmp_path / "docs" / "stock-lanes.svg").write_text("<svg/>")
    monkeypatch.setattr(assembling, "ROOT", tmp_path)
    monkeypatch.setattr(assembling, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(assembling, "ELSEWHERE", {})
    for name in ("gallery", "limits", "reference"):
        monkeypatch.setattr(assembling, name, lambda target, *_: index(target))
    with pytest.raises(ValueError, match="docs/index.md to nothing.md"):
        assembling.assemble(tmp_path / "site")


def index(target):
    markdown.write(target / "index.md", "# Generated")
    return []


@pytest.mark.parametrize(
    ("link", "there"),
    [
        ("errata.md#remarks", "errata.md#remarks"),
        ("methods.md", "gallery/index.md"),
        ("methods.md#deep-sets", "gallery/deep-sets.md"),
        ("../checker/FORMAT.md", "format.md"),
        ("../byheart/theory", "limits/index.md"),
        ("../examples/tracing.py", "source/examples.tracing.py.md"),
        ("../results/dana-1a/dana-1a.svg", "pictures/dana-1a.svg"),
        ("https://example.org/a", "https://example.org/a"),
        ("#here", "#here"),
    ],
)
def test_where_links_lead_on_the_site(link, there, tmp_path):
    places = {"docs/errata.md": "errata.md"} | assembling.ELSEWHERE | assembling.REPLACED
    found = assembling.Site(tmp_path, places)
    assert found.address(link, "docs/stock.md", "stock.md") == there and found.broken == []


def test_links_in_code_are_left_alone(tmp_path, monkeypatch):
    page = "[a](b.md) `[a](b.md)`\n\n```\n[a](b.md)\n```\n"
    (tmp_path / "a.md").write_text(page)
    monkeypatch.setattr(assembling, "ROOT", tmp_path)
    found = assembling.Site(tmp_path, {"b.md": "c/d.md"})
    assert found.moved("a.md", "a.md") == page.replace("[a](b.md)", "[a](c/d.md)", 1)


def test_docstrings_become_markdown():
    text = """What it returns.

    one    the first
    other  the second,
           on two lines

    Args:
        data: A path
            of a file *here*.

    Example:
        >>> 1
        1
    """
    found = list(reference.docstring(re.sub(r"^    ", "", text, flags=re.MULTILINE)))
    assert found[0] == "What it returns."
    assert "| `other` | the second, on two lines |" in found[1]
    assert found[2] == "**Args**\n\n- `data`: A path of a file \\*here\\*."
    assert found[3] == "**Example**\n\n```pycon\n>>> 1\n1\n```"


def test_an_example_that_fails_stops_the_gallery(tmp_path, monkeypatch):
    bad = gallery.EXAMPLES["labels"]._replace(rows=('{"input": [], "label": "a"}',))
    monkeypatch.setitem(gallery.EXAMPLES, "labels", bad)
    with pytest.raises(AssertionError, match="ended with 2"):
        gallery.gallery(tmp_path, str)


def test_the_home_page_opens_from_a_file_and_searches(site, chromium):
    """Nothing is asked of a network, nothing fails, and a search finds the page on forgetting."""
    context = chromium.new_context(offline=True)
    page = context.new_page()
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"file://{site}/index.html")
    assert "provably knows it by heart" in page.inner_text("article")
    assert page.evaluate("[...document.images].every(x => x.naturalWidth > 0)")
    page.fill("input[name=q]", "unlearning")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    titles = page.eval_on_selector_all("#search-results li a", "all => all.map(x => x.href)")
    assert any(x.partition("?")[0].endswith("/edit.html") for x in titles)
    page.click("#search-results li a")
    page.wait_for_selector("article h1")
    assert [x for x in asked if not x.startswith(("file:", "data:"))] == [] and wrong == []
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_telephone(site, chromium, scheme):
    """No page scrolls sideways at 360 pixels, and the dark theme is dark."""
    context = chromium.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = context.new_page()
    for name in ("index", "start", "gallery/index", "gallery/seq2seq", "limits/related", "format"):
        page.goto(f"file://{site}/{name}.html")
        root = "document.documentElement"
        assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), name
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", colour)[:3])) < 3 * 64) is (scheme == "dark")
    context.close()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "3.46 sqrt(I) of A1",
            '<math alttext="3.46 sqrt(I)"><mn>3.46</mn><msqrt><mi>I</mi></msqrt></math> of A1',
        ),
        ("E_in, a part", '<math alttext="E_in"><msub><mi>E</mi><mi>in</mi></msub></math>, a part'),
        ("m = n. A set", '<math alttext="m = n"><mi>m</mi><mo>=</mo><mi>n</mi></math>. A set'),
        ("no formula: theory/sizes.py, a - b", "no formula: theory/sizes.py, a - b"),
        ("`x_y = 1` stays", "`x_y = 1` stays"),
        ("open (x = ", "open (<math>"),
    ],
)
def test_formulas_are_set_as_mathematics(text, shown):
    found = mathematics(text)
    assert found == shown or (shown.endswith("<math>") and found == escaped(text))


def test_the_gallery_shows_pictures_and_formulas(site):
    index = (site / "gallery" / "index.html").read_text()
    assert index.count("<img") >= len({x.name for x in ALL})
    assert "<msqrt>" in (site / "gallery" / "bit-extraction.html").read_text()
