"""The pages of the site in one folder: copied ones, generated ones, and the navigation."""

import os
import re
import shutil
from pathlib import Path

from . import running
from .gallery import gallery
from .limits import limits
from .markdown import fenced, write
from .reference import reference

ROOT = running.ROOT
DOCS = ROOT / "docs"
# files outside docs/ that are pages of the site
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "checker/FORMAT.md": "format.md",
}
# what a page of the site stands for, in the repository
REPLACED = {
    "README.md": "index.md",
    "byheart/__init__.py": "api/index.md",
    "byheart/theory": "limits/index.md",
    "docs/methods.md": "gallery/index.md",
}
NAVIGATION = {  # pages, with a shorter title for the side bar where their own is long
    "Begin": {
        "start": "",
        "commands": "",
        "studio": "The studio",
        "how-it-works": "How it works",
        "lecture": "",
        "details": "",
        "faq": "",
    },
    "Theorems": {
        "gallery/index": "",
        "limits/index": "",
        "statements": "Every statement",
        "check": "Check a statement",
        "theorems-madden2024": "Rank and injectivity",
        "errata": "",
    },
    "Guides": {
        "interpretability": "",
        "stock": "",
        "tools": "Tools of the field",
        "float32": "",
        "edit": "Edit and forget",
        "audit": "",
        "teach": "Teach a checkpoint",
        "size-a-model": "",
        "measure": "Measure capacity",
        "reproduce-a-figure": "",
        "verify": "",
        "next-token": "",
        "attention-only": "",
        "data": "Read your data",
        "export": "Export",
        "plain-tensors": "Plain tensors",
    },
    "Results": {
        "sizes": "How small, how fast",
        "reproduce": "Figures",
        "comparison": "Cost of each idea",
        "texts": "Whole texts",
        "statistics": "",
    },
    "Reference": {
        "bounds": "Bounds",
        "api/index": "",
        "checker": "",
        "format": "The model folder",
        "stability": "",
        "changelog": "",
        "contributing": "",
    },
}
LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\])\(([^()\s]+)\)")
CODE = re.compile(r"(^(`{3,}).*?^\2`*$|`[^`\n]*`)", flags=re.MULTILINE | re.DOTALL)


def assemble(target: Path) -> None:
    """Write all pages of the site; ValueError names links to what is not there."""
    target.mkdir(parents=True)
    pages = {f"docs/{path.name}": path.name for path in sorted(DOCS.glob("*.md"))}
    pages = {place: name for place, name in pages.items() if place not in REPLACED} | ELSEWHERE
    site = Site(target, pages | REPLACED)
    for place, name in pages.items():
        write(target / name, site.moved(place, name))
    shutil.copy(DOCS / "stock-lanes.svg", site.pictures / "stock-lanes.svg")
    children = {
        "gallery/index": gallery(target / "gallery", lambda path: f"../{site.source(path)}"),
        "limits/index": limits(target / "limits", ROOT / "byheart" / "data" / "book.txt"),
        "api/index": reference(target / "api"),
    }
    for page, names in children.items():
        with (target / f"{page}.md").open("a") as file:
            file.write("\n" + toctree("", dict.fromkeys(names, "")))
    known = {"index", *(name for names in NAVIGATION.values() for name in names)}
    others = {x[:-3]: "" for x in pages.values() if x[:-3] not in known}  # at the end of the guides
    with (target / "index.md").open("a") as file:
        for caption, names in NAVIGATION.items():
            file.write("\n" + toctree(caption, names | others if caption == "Guides" else names))
    if site.broken:
        raise ValueError("links to what is not there: " + "; ".join(site.broken))


def toctree(caption: str, names: dict[str, str]) -> str:
    """Sphinx's list of the pages below a page; it is not shown on the page itself."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else []), ":maxdepth: 1"]
    pages = [f"{title} <{name}>" if title else name for name, title in names.items()]
    return fenced("\n".join([*options, "", *pages]), "{toctree}") + "\n"


class Site:
    """Where the files of the repository are on the site."""

    def __init__(self, target: Path, pages: dict[str, str]) -> None:
        self.target, self.pages, self.broken = target, pages, []
        self.pictures = target / "pictures"
        self.pictures.mkdir()

    def moved(self, place: str, name: str) -> str:
        """The text of a page of the repository, with the links that it has on the site."""
        text = (ROOT / place).read_text()

        def link(match: re.Match) -> str:
            return f"{match[1]}({self.address(match[2], place, name)})"

        pieces = CODE.split(text)  # text, code, fence, text, code, fence, ...
        pieces[0::3] = [LINK.sub(link, piece) for piece in pieces[0::3]]
        del pieces[2::3]
        return "".join(x for x in pieces if x is not None)

    def address(self, link: str, place: str, name: str) -> str:
        """A link of the page `place` as its copy `name` has it."""
        if link.startswith(("http://", "https://", "mailto:", "#")):
            return link
        path, sign, anchor = link.partition("#")
        found = (ROOT / place).parent / path
        inside = os.path.relpath(found, ROOT)
        if inside == "docs/methods.md" and anchor:
            there, sign, anchor = f"gallery/{anchor}.md", "", ""
        elif inside in self.pages:
            there = self.pages[inside]
        elif not found.is_file():
            self.broken.append(f"{place} to {link}")
            return link
        elif found.suffix in (".svg", ".png"):
            shutil.copy(found, self.pictures / found.name)
            there = f"pictures/{found.name}"
        else:
            there = self.source(found)
        return os.path.relpath(there, Path(name).parent) + sign + anchor

    def source(self, path: Path) -> str:
        """The page that shows a file of code, with its neighbours if it is a folder's."""
        inside = path.resolve().relative_to(ROOT)
        name = f"source/{str(inside).removesuffix('/__init__.py').replace('/', '.')}.md"
        if not (self.target / name).exists():
            files = sorted(path.parent.glob("*.py")) if path.name == "__init__.py" else [path]
            language = "python" if path.suffix == ".py" else ""
            parts = [
                f"## `{x.relative_to(ROOT)}`\n\n{fenced(x.read_text(), language)}" for x in files
            ]
            front = "---\norphan: true\nnosearch: true\n---\n\n"
            write(self.target / name, f"{front}# Source of {inside}", *parts)
        return name
