"""The report of an audit: one page with method, data, table, picture, what each number shows, items
and the command to repeat it; as HTML in one file, or as Markdown with its picture beside it."""

import base64
import io
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__, pictures
from ..auditing.answer import Audit, check_name
from ..errors import flags
from ..machine.files import refuse_existing, replacing
from ..machine.tables import number
from ..machine.words import brief, harmless
from .audit import draw, lines

FORMS = (".html", ".md")
ITEMS = 1000  # of the appendix
LETTERS = 400  # of a text
SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~$&])")
WORDS = tomllib.loads(Path(__file__).with_name("report.toml").read_text("utf-8"))
COLUMNS: dict[str, str] = WORDS["columns"]


class Block(NamedTuple):
    """A part of the page: a heading, a paragraph, code, a table or the picture."""

    kind: str
    text: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()


def write_report(result: Audit, path: Path, command: str, force: bool = False) -> Audit:
    """Write the report of an audit; the file appears whole or not at all."""
    check_name(path, "report", FORMS)
    from matplotlib import rc_context

    with rc_context(pictures.STYLE):
        picture = io.BytesIO()
        figure = draw(result)
        figure.savefig(picture, format="svg", metadata=pictures.DATES["svg"], facecolor="white")
    page = blocks(harmless(flags(result)), command)
    if path.suffix.lower() == ".html":
        text = html(page, picture.getvalue())
    else:
        beside = path.with_suffix(".svg")
        refuse_existing(beside, force)
        with replacing(beside) as file:
            file.write(picture.getvalue())
        text = markdown(page, beside.name)
    with replacing(path) as file:
        file.write(text.encode())
    return replace(result, report=str(path))


def blocks(result: Audit, command: str) -> list[Block]:
    """What the page says, of an answer whose words are harmless."""
    data, model, name = result.data, result.model, Path(result.model.folder).name
    added = () if model.adapter is None else model.adapter.weights
    facts = [
        ("model", f"{name}, {model.kind}, {number(model.parameters)} parameters"),
        *((f"SHA-256 of {x.file}", x.sha256) for x in model.weights),
        *((f"SHA-256 of the adapter's {x.file}", x.sha256) for x in added),
        ("data", f"{data.name}: {number(data.items)} items, {number(data.predicted)} predicted"),
        *([("SHA-256 of the data", data.sha256)] if data.sha256 else []),
        ("reference", result.reference.name),
        ("made with", f"byheart {__version__}"),
    ]
    found = [
        Block("title", f"Audit of {name} on {data.name}"),
        Block("lead", f"Observed. {result.verdict}"),
        Block("table", "", ("", ""), facts),
        Block("heading", "Method"),
        Block("text", WORDS["method"]),
    ]
    if result.asked and result.items[0].text is not None:
        found += [Block("text", "Item 1 was asked as:"), Block("code", result.asked)]
    if any(x.pattern for x in result.wordings):
        rows = [(x.name, x.pattern, x.best, x.verbatim) for x in result.wordings]
        found.append(Block("table", "", ("wording", "pattern", "best for", "recited"), rows))
    found += [
        Block("heading", "Result"),
        Block("table", "", ("", "", ""), lines(result)),
        Block("picture"),
    ]
    found += [Block("text", f"Note: {note}.") for note in result.notes]
    found += [
        Block("heading", "What each number shows"),
        Block("table", "", ("number", "shows", "does not show"), WORDS["shows"]),
        Block("heading", "To repeat it"),
        Block("code", command),
        Block("heading", "Items"),
        _items(result),
    ]
    more = len(result.items) - ITEMS
    return found + ([Block("text", f"{number(more)} more are in the table.")] if more > 0 else [])


def _items(result: Audit) -> Block:
    """The items, most memorised per token first."""
    shown = [x for x in COLUMNS if any(getattr(i, x) is not None for i in result.items)]
    if len(result.wordings) < 2:
        shown.remove("wording")
    text = any(item.text is not None for item in result.items)
    others = list(result.items[0].columns)
    head = [*(COLUMNS[x] for x in shown), *others, "text" if text else "SHA-256 of the text"]
    order = sorted(result.items, key=lambda x: -x.memorised / x.predicted)[:ITEMS]
    rows = []
    for item in order:
        last = brief(item.text, LETTERS) if text else item.sha256 and item.sha256[:16]
        cells = (getattr(item, x) for x in shown)
        flagged = (("yes" if x else "no") if isinstance(x, bool) else x for x in cells)
        rows.append([*flagged, *(brief(item.columns[x]) for x in others), last])
    return Block("table", "", head, rows)


def html(page: Sequence[Block], picture: bytes) -> str:
    """One file without scripts; whatever came from the data is escaped."""
    coded = base64.b64encode(picture).decode()
    tags = {"title": "h1", "heading": "h2", "text": "p", "code": "pre"}
    parts = []
    for block in page:
        if block.kind == "picture":
            alt = "Items by bits, totals, true against false positive rates, items by samples"
            parts.append(f'<p><img alt="{alt}" src="data:image/svg+xml;base64,{coded}"></p>')
        elif block.kind == "table":
            head = "".join(f"<th>{escape(x)}</th>" for x in block.head)
            rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in block.rows)
            above = f"<tr>{head}</tr>" if any(block.head) else ""
            parts.append(f'<div class="w"><table>{above}{rows}</table></div>')
        elif block.kind == "lead":
            parts.append(f'<p class="lead">{escape(block.text)}</p>')
        else:
            tag = tags[block.kind]
            parts.append(f"<{tag}>{escape(block.text)}</{tag}>")
    title, body = escape(page[0].text), "\n".join(parts)
    return WORDS["page"].format(title=title, style=WORDS["style"], body=body)


def _cell(value: object) -> str:
    side = ' class="n"' if isinstance(value, int | float) else ""
    return f"<td{side}>{escape(number(value))}</td>"


def markdown(page: Sequence[Block], picture: str) -> str:
    """The same page as Markdown; signs of the data that mean something there are escaped."""

    def plain(value: object) -> str:
        return SPECIAL.sub(r"\\\1", " ".join(number(value).split()))

    parts = []
    for block in page:
        if block.kind == "picture":
            parts.append(f"![Items, totals and rates](<{picture}>)")
        elif block.kind == "table":
            head = [plain(x) for x in block.head]
            listed = [head, ["---"] * len(head), *([plain(x) for x in row] for row in block.rows)]
            parts.append("\n".join(f"| {' | '.join(row)} |" for row in listed))
        elif block.kind == "code":
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.text)), default=0))
            parts.append(f"{fence}\n{block.text}\n{fence}")
        else:
            sign = {"title": "# ", "heading": "## ", "lead": "**", "text": ""}[block.kind]
            parts.append(f"{sign}{plain(block.text)}{'**' if sign == '**' else ''}")
    return "\n\n".join(parts) + "\n"


def repeated(options: Mapping[str, Any]) -> str:
    """The command with these options, to be copied."""
    words = ["byheart", "audit", str(options["model"]), str(options["data"])]
    rest = {x: y for x, y in options.items() if x not in ("model", "data", "loading", "json")}
    for name, value in {**rest, **options["loading"]}.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is not None and one is not False:
                flag = f"--{name.replace('_', '-')}"
                words += [flag] if one is True else [flag, str(one)]
    return shlex.join(words)
