"""A page per family of bounds: every row of byheart/theory with its formula and two examples."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import byheart
from byheart.theory import after, related, rules_of_thumb
from byheart.theory.dana2024 import items as dana2024
from byheart.theory.item import SIGNS, Bound, Item
from byheart.theory.kajitsuka2025 import items as kajitsuka2025
from byheart.theory.madden2024 import items as madden2024
from byheart.theory.papers import cited

from ..make_errata import PAPERS, errata_of
from .markdown import escaped, slug, table, write

BOOK = {"unit": "wordpunct", "documents": "whole", "window": "auto"}
KINDS = {
    "theorem": "a number, by a theorem",
    "rate": "only how it grows; the constant is not known",
    "rule_of_thumb": "measured on trained models, no theorem",
    "open": "an open problem",
}


class Family(NamedTuple):
    """A module of byheart/theory, its page, and an architecture to show its numbers on."""

    name: str
    title: str
    about: str
    module: ModuleType
    architecture: dict
    words: str


FAMILIES = (
    Family(
        "kajitsuka2025",
        "Kajitsuka and Sato (2025)",
        "Labels: how many parameters a transformer needs to give N sequences any labels, and how "
        "many are enough. About the square root of N are both, up to logarithms.",
        kajitsuka2025,
        {"vocabulary": 1000, "length": 10, "dimension": 32, "heads": 4, "layers": 2,
         "attention": "hard", "activation": "relu", "bits": 16},
        "a transformer of two layers, dimension 32, hard attention and ReLU, 16 bits per parameter",
    ),
    Family(
        "madden2024",
        "Madden, Fox and Thrampoulidis (2024)",
        "Next-token distributions: a transformer with k parameters can give at most about k / ω "
        "contexts any distributions over ω tokens, and one layer is enough to reach that.",
        madden2024,
        {"architecture": "madden2024", "vocabulary": 1000, "length": 10, "width": 1200},
        "the model of the paper with 1,200 neurons and 1,000 tokens",
    ),
    Family(
        "dana2024",
        "Dana, Pydi and Chevaleyre (2024)",
        "Attention without neurons: how many associations one layer of heads stores, and how well "
        "any model of a given dimension can approximate distributions.",
        dana2024,
        {"architecture": "dana2024", "vocabulary": 50, "length": 3, "dimension": 10, "heads": 20,
         "head_dimension": 10},
        "the model of the paper with 20 heads of dimension 10 and 50 words",
    ),
    Family(
        "related",
        "Related work",
        "What the three papers cite: from Baum (1988) to Cabannes et al. (2024).",
        related,
        {"vocabulary": 1000, "length": 10, "dimension": 32, "heads": 4, "layers": 2,
         "attention": "hard", "activation": "relu"},
        "a transformer of two layers and dimension 32 with hard attention and ReLU",
    ),
    Family(
        "after",
        "Later work",
        "Work that is newer than the three papers, by its abstracts: rates without a number.",
        after,
        {"vocabulary": 1000, "length": 10, "dimension": 32, "heads": 4, "layers": 2},
        "a transformer of two layers and dimension 32",
    ),
    Family(
        "rules-of-thumb",
        "Rules of thumb",
        "Bits per parameter that trained models were measured to hold. They are no theorems: a "
        "compiled network holds more.",
        rules_of_thumb,
        {"architecture": "gpt2"},
        "GPT-2 with 124 million parameters",
    ),
)  # fmt: skip


def limits(target: Path, book: Path) -> list[str]:
    """Write the pages; their names. The examples are of a text and of an architecture."""
    data = byheart.load(book, **BOOK)
    for family in FAMILIES:
        write(target / f"{family.name}.md", *page(family, data))
    rows = [(f"[{x.title}]({x.name}.md)", x.about) for x in FAMILIES]
    introduction = (
        "Every theorem about sizes that byheart knows is a row: what it bounds, by which formula, "
        "and under which assumptions. `byheart bounds` fills in your own numbers "
        "([guide](../size-a-model.md), [reference](../bounds.md))."
    )
    write(target / "index.md", "# Bounds by paper", introduction, table(("paper", "about"), rows))
    return [family.name for family in FAMILIES]


def page(family: Family, data: byheart.Dataset) -> Iterator[str]:
    """Formulas, assumptions, the numbers for the book and for an architecture, and errata."""
    items = family.module.ITEMS.values()
    yield f"# Bounds: {family.title}"
    yield family.about
    notes = (inspect.getdoc(family.module) or "").partition("\n\n")[2]
    yield escaped(" ".join(notes.split()))
    yield "## What the rows say"
    yield table(
        ("statement", "about", "bounds", "formula", "kind"),
        [(of(x, family), x.about, escaped(x.quantity), formula(x), kind(x)) for x in items],
    )
    used = {x.kind for x in items}
    meant = (f"*{name.replace('_', ' ')}*: {KINDS[name]}" for name in KINDS if name in used)
    yield f"{'; '.join(meant)}."
    assumptions = dict.fromkeys((of(x, family), a.otherwise) for x in items for a in x.assumes)
    if assumptions:
        yield "## When a row does not apply"
        yield "`byheart bounds` gives the reason. These sentences can appear, with your numbers:"
        sentences: dict[str, list[str]] = {}
        for item, said in assumptions:
            sentences.setdefault(said, []).append(item)
        yield "\n".join(
            f"- {sentence(said)} ({', '.join(dict.fromkeys(who))})"
            for said, who in sentences.items()
        )
    yield "## For a text: the book of `byheart demo`"
    flags = " ".join(f"--{name} {value}" for name, value in BOOK.items())
    yield f"`byheart bounds --dataset book.txt {flags} --all`"
    yield numbers(family, byheart.bounds(data).rows)
    sizes = " ".join(f"--{n.replace('_', '-')} {v}" for n, v in family.architecture.items())
    yield f"## For an architecture: {family.words}"
    yield f"`byheart bounds {sizes} --all`"
    yield numbers(family, byheart.bounds(**family.architecture).rows)
    if family.name in PAPERS:
        yield "## Errata"
        yield "\n".join(
            f"- [{escaped(x.title)}](../errata.md#{slug(x.title)}) ({x.kind})"
            for x in errata_of(family.name)
        )


def of(row: Item | Bound, family: Family) -> str:
    """The statement; the paper is named where the page has several."""
    alone = row.paper == family.name
    return escaped(row.item if alone else f"{cited(row.paper)}, {row.item}")


def sentence(otherwise: str) -> str:
    """Why an assumption fails, with words in the place of numbers."""
    pieces = re.split(r"\{(\w+)[^}]*\}", otherwise)
    pieces[0::2] = [escaped(cited(x)) for x in pieces[0::2]]
    pieces[1::2] = [f"*({x})*" for x in pieces[1::2]]
    return "".join(pieces)


def formula(item: Item) -> str:
    return f"{SIGNS[item.direction]} {escaped(item.formula)}"


def kind(item: Item) -> str:
    return item.kind.replace("_", " ")


def numbers(family: Family, rows: tuple[Bound, ...]) -> str:
    """The rows of the family among the answers; rows that do not apply have the reason."""
    own = {(x.paper, x.item) for x in family.module.ITEMS.values()}
    found = [x for x in rows if (x.paper, x.item) in own]
    if not found:
        return "No row of this family is about this question."
    return table(
        ("statement", "bounds", "value", "why"),
        [(of(x, family), escaped(x.quantity), value(x), escaped(cited(x.reason))) for x in found],
        right=(2,),
    )


def value(row: Bound) -> str:
    if row.value is None:
        return "rate" if row.applies and row.kind == "rate" else "-"
    shown = f"{row.value:,}" if isinstance(row.value, int) else f"{row.value:,.4g}"
    return f"{SIGNS[row.direction]} {shown}"
