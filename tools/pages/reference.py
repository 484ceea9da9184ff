"""The Python API: a page per group of names that `byheart/__init__.py` exports, from docstrings."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path

import byheart

from .markdown import escaped, fenced, slug, table, write

GROUPS = {  # of byheart's own docstring
    "data": (
        "Data",
        "load from_rows Dataset generate stats Statistics Workers encoder EncoderCurve",
    ),
    "models": (
        "Models",
        "compile methods Model verify Verification recall recite locate explain open export Export "
        "context_ids contextual_mapping",
    ),
    "changes": ("Changes", "edit forget Change diff Difference"),
    "sizes": ("Sizes", "size bounds Bounds compare tradeoff"),
    "theorems": ("Theorems", "check statements"),
    "checkpoints": ("Checkpoints", "audit Audit teach Taught benchmark Benchmark"),
    "training": ("Training", "measure Measurement reproduce"),
    "errors": ("Errors", "ByheartError OptionError AssumptionError DisagreementError"),
}
SECTION = re.compile(r"^(Args|Returns|Raises|Example|Examples|Attributes|Yields):\s*$")
ENTRY = re.compile(r"^(\*{0,2}[\w., ]+): (.*)$")
FIELD = re.compile(r"^([a-z_]\w*)  +(\S.*)$")


def reference(target: Path) -> list[str]:
    """Write the pages; their names. Every public name is on one of them."""
    placed = [name for _, names in GROUPS.values() for name in names.split()]
    missing = set(byheart.__all__) ^ set(placed)
    assert not missing and len(placed) == len(set(placed)), f"tools/pages/reference.py: {missing}"
    for page, (title, names) in GROUPS.items():
        parts = [
            part for name in names.split() for part in described(f"byheart.{name}", public(name))
        ]
        write(target / f"{page}.md", f"# {title}", *parts)
    rows = [
        (
            f"[{title}]({page}.md)",
            ", ".join(f"[`{name}`]({page}.md#{slug(title_of(name))})" for name in names.split()),
        )
        for page, (title, names) in GROUPS.items()
    ]
    introduction = (
        "Everything that `import byheart` offers, from its docstrings; `help(byheart.compile)` "
        "prints the same. Names with an underscore, and modules below `byheart`, may change "
        "without notice: [what is stable](../stability.md)."
    )
    write(target / "index.md", "# Python API", introduction, table(("group", "names"), rows))
    return list(GROUPS)


def public(name: str) -> object:
    return getattr(byheart, name)


def title_of(name: str) -> str:
    """`bounds` and `Bounds` have different anchors."""
    return f"class {name}" if inspect.isclass(public(name)) else name


def described(name: str, thing: object) -> Iterator[str]:
    """The heading, the signature and the docstring; of a class also its public methods."""
    short = name.removeprefix("byheart.")
    yield f"## {title_of(short)}"
    is_class = inspect.isclass(thing)
    callable_here = thing if is_class or inspect.isfunction(thing) else type(thing).__call__
    if not is_class or is_dataclass(thing):
        yield fenced(name + signature(callable_here), "python")
    yield from docstring(inspect.getdoc(thing) or "")
    if not is_class:
        return
    own = {} if not is_dataclass(thing) else {field.name for field in fields(thing)}
    for method, value in vars(thing).items():
        if method.startswith("_") or method in own:
            continue
        if isinstance(value, property | cached_property):
            doc, title = inspect.getdoc(value) or "", f"### {short}.{method}"
        elif isinstance(value, staticmethod | classmethod) or inspect.isfunction(value):
            function = getattr(thing, method)
            doc = inspect.getdoc(function) or ""
            title = f"### {short}.{method}\n\n" + fenced(
                f"{short}.{method}{signature(function)}", "python"
            )
        else:
            continue
        if doc:
            yield title
            yield from docstring(doc)


def signature(function: object) -> str:
    """The parameters without `self`; one per line if they are long."""
    found = inspect.signature(function)
    kept = [x for x in found.parameters.values() if x.name != "self"]
    back = found.empty if found.return_annotation is None else found.return_annotation
    text = str(found.replace(parameters=kept, return_annotation=back))
    text = re.sub(r"<[^<>]*>", "...", text)  # defaults that have no short name
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations in quotes
    text = re.sub(r"\b(?:[a-z_]\w*\.)+([A-Za-z_]\w*)", r"\1", text)  # names without modules
    if len(text) <= 80 or len(kept) < 2:
        return text
    head, _, back = text.rpartition(")")
    return "(\n    " + ",\n    ".join(split(head[1:])) + f",\n){back}"


def split(parameters: str) -> list[str]:
    """The parameters of a signature; a comma inside brackets or quotes separates nothing."""
    found, depth, quoted = [""], 0, False
    for sign in parameters:
        quoted ^= sign == "'"
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth and not quoted:
            found.append("")
        else:
            found[-1] += sign
    return [x.strip() for x in found]


def docstring(text: str) -> Iterator[str]:
    """A docstring in the style of Google as Markdown; aligned lists of fields become tables."""
    section, lines = "", []
    for line in [*text.splitlines(), "End:"]:
        ends = SECTION.match(line)
        if not ends and line != "End:":
            lines.append(line)
            continue
        body = inspect.cleandoc("\n".join(["", *lines])).strip("\n")
        if section in ("Args", "Raises", "Attributes"):
            yield f"**{section}**\n\n{entries(body)}"
        elif section in ("Example", "Examples"):
            yield f"**Example**\n\n{fenced(body, 'pycon')}"
        elif section:
            yield f"**{section}** {plain(body)}"
        elif body:
            yield from paragraphs(body)
        section, lines = (ends[1] if ends else ""), []


def paragraphs(body: str) -> Iterator[str]:
    """Paragraphs of text, of aligned fields, and of examples."""
    for paragraph in re.split(r"\n\s*\n", body):
        lines = paragraph.splitlines()
        if lines[0].lstrip().startswith(">>>"):
            yield fenced(inspect.cleandoc(paragraph), "pycon")
        elif all(FIELD.match(x) or x.startswith("  ") for x in lines):
            rows: list[list[str]] = []
            for line in lines:
                if found := FIELD.match(line):
                    rows.append([f"`{found[1]}`", found[2]])
                else:
                    rows[-1][1] += f" {line.strip()}"
            yield table(("field", "what it is"), [[a, plain(b)] for a, b in rows])
        else:
            yield plain(paragraph)


def entries(body: str) -> str:
    """`name: text` entries as a list."""
    found: list[list[str]] = []
    for line in body.splitlines():
        match = ENTRY.match(line)
        if match and not line.startswith(" "):
            found.append([match[1], match[2]])
        else:
            found[-1][1] += f" {line.strip()}"
    return "\n".join(f"- `{name}`: {plain(text)}" for name, text in found)


def plain(text: str) -> str:
    """A paragraph with the signs of Markdown escaped outside backquotes."""
    return escaped(" ".join(text.split()))
