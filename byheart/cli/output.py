"""What a person sees: short, aligned tables; or one JSON object."""

import json as encoder
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from . import distributions
from .distributions import STYLES, Row


def console() -> Console:
    return Console(highlight=False, soft_wrap=False)


def print_json(answer: object) -> None:
    sys.stdout.write(encoder.dumps(answer, ensure_ascii=False, allow_nan=False) + "\n")


def finish(answer: dict, json: bool, view: "str | View", output: Path | None = None) -> None:
    """Print the answer of a command, for a program or for a person."""
    if json:
        print_json(answer)
        return
    screen = console()
    screen.print((VIEWS[view] if isinstance(view, str) else view)(answer))
    if output is not None:
        kept(screen, output)


def kept(screen: Console, output: Path) -> None:
    """Where the model is, and what to do with it; the line is not broken, to be copied."""
    name = shlex.quote(str(output))
    screen.print(Text(f"\nwritten to {output}\nask it: byheart recall {name}"), soft_wrap=True)


def number(value: object) -> str:
    """A count with commas, a measure with four digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "-" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) or abs(value) >= 10_000 else f"{value:.4g}"


def rows(lines: Iterable[Row]) -> Table:
    """Name, value and remark, aligned."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def _ratio(part: object, whole: object) -> str:
    if not isinstance(part, int | float) or not isinstance(whole, int | float) or not whole:
        return ""
    return f"{part / whole:.2f} x the information"


def size_rows(answer: dict) -> list[Row]:
    if stores_distributions(answer):
        return [*distributions.size_rows(answer), *distributions.fit_rows(answer)]
    data = {key: number(value) for key, value in answer["dataset"].items()}
    parameters = {key: number(value) for key, value in answer["parameters"].items()}
    bits, limit = answer["bits"], answer["bits"]["information"]
    shown = round(limit) if isinstance(limit, int | float) else None
    return [
        ("method", str(answer["method"]), str(answer["form"] or "")),
        ("sequences", data["sequences"], f"{data['contexts']} contexts"),
        ("labels", data["labels"], f"vocabulary {data['vocabulary']}, length {data['length']}"),
        ("parameters", parameters["nonzero"], f"nonzero; {parameters['dense']} with zeros"),
        ("bits", number(bits["total"]), _ratio(bits["total"], limit)),
        ("information", number(shown), "bits that the worst labelling needs"),
        ("depth", number(answer["depth"]), f"width {number(answer['width'])}"),
    ]


def stores_distributions(answer: dict) -> bool:
    return "gap" in answer


def verdict(answer: dict) -> Text:
    """One line: on what evidence the model is right."""
    if stores_distributions(answer):
        return distributions.verdict(answer)
    found = answer["verified"]
    if found["evidence"] is None and not answer["failures"]:
        return Text("format, hashes and structure hold; no label was checked: name the data file")
    word = found["evidence"] or "refuted"
    text = Text(word, style=STYLES.get(word, ""))
    text.append(
        f"  {number(found['correct'])} of {number(found['checked'])} labels right", "default"
    )
    if word == "proved":
        text.append(", each evaluated in exact arithmetic", "not bold default")
    if word == "sampled":
        text.append(
            f" of {number(answer['dataset']['sequences'])}: an audit, no proof", "not bold default"
        )
    return text


def _timed(answer: dict) -> Text:
    spent = [f"{k} {v:.1f} s" for k, v in answer["seconds"].items() if isinstance(v, float)]
    return Text(", ".join(spent), style="dim")


def compiled(answer: dict) -> Group:
    shown = [*size_rows(answer), *_settled(answer), _search(answer)]
    notes = answer["notes"] if stores_distributions(answer) else ()
    told = [Text(note, style="dim") for note in notes]
    return Group(rows(shown), *told, Text(), verdict(answer), _timed(answer))


def _settled(answer: dict) -> list[Row]:
    """What --on-conflict did to the data: the proof is about what it left."""
    words = {"relabelled": "labels changed to the majority's", "dropped": "sequences left out"}
    found = answer["conflicts"]
    return [("conflicts", number(found[key]), words[key]) for key in words if found.get(key)]


def _search(answer: dict) -> Row:
    if stores_distributions(answer):
        return "tried", number(answer["search"].get("tries")), "draws or solutions"
    fallbacks = len(answer["notes"])
    noun = "fallback" if fallbacks == 1 else "fallbacks"
    remark = f"hashes; {number(fallbacks)} {noun}, listed by --json" if fallbacks else "hashes"
    return "tried", number(answer["search"].get("tries")), remark


def verified(answer: dict) -> Group:
    checker = answer.get("checker")
    said = [Text(f"the independent checker says {checker}")] if checker else []
    failures = [Text(f"  {sentence}") for sentence in answer["failures"]]
    data, parameters = answer["dataset"], answer["parameters"]
    about: RenderableType = Text(
        f"{answer['method']}: {number(data['sequences'])} sequences, "
        f"{number(parameters['nonzero'])} nonzero parameters, depth {number(answer['depth'])}"
    )
    if stores_distributions(answer):
        about = rows(size_rows(answer))
    return Group(*said, verdict(answer), *failures, about, _timed(answer))


def generated(answer: dict) -> RenderableType:
    lines = [
        ("sequences", number(answer["sequences"]), f"{answer['kind']}, length {answer['length']}"),
        ("vocabulary", number(answer["vocabulary"]), ""),
        ("labels", number(answer["labels"]), ""),
    ]
    return rows([*lines, *_adversarial(answer.get("theorem"))])


def _adversarial(found: dict | None) -> list[Row]:
    """The decoder that cannot memorise the data."""
    if found is None:
        return []
    limit = f"Theorem 1 allows {number(found['limit'])}"
    fails = "of the decoder that cannot fit them, almost surely"
    full = f"of {number(found['length'])} tokens, each followed by every token"
    return [
        ("contexts", number(found["contexts"]), limit),
        ("interpolated", number(found["interpolated"]), full),
        ("parameters", number(found["parameters"]), fails),
    ]


def statistics(answer: dict) -> Group:
    conflicts, entropy, apart = answer["conflicts"], answer["entropy"], answer["separation"]
    lines = [
        ("sequences", number(answer["sequences"]), f"{number(answer['tokens'])} tokens"),
        ("contexts", number(answer["contexts"]), "ordered"),
        ("multisets", number(answer["multisets"]), "contexts if order does not count"),
        ("vocabulary", number(answer["vocabulary"]), ""),
        ("labels", number(answer["labels"]), ""),
        ("conflicts", number(conflicts["contexts"]), _conflicts(conflicts)),
        ("best accuracy", f"{answer['best_accuracy']:.2%}", "of one label a context"),
        ("entropy", number(entropy["total"]), f"nats; {number(entropy['per_token'])} a prediction"),
    ]
    if apart["radius"] is not None:
        lines.append(("radius", number(apart["radius"]), "largest norm of a token"))
        lines.append(("distance", number(apart["distance"]), "between the two nearest tokens"))
    if answer["skipped"]:
        lines.append(("skipped", number(answer["skipped"]), "documents under two tokens"))
    curve = "  ".join(f"{epsilon:g}: {number(count)}" for epsilon, count in answer["t_epsilon"])
    return Group(rows(lines), Text(f"T_epsilon      {curve}"))


def _conflicts(conflicts: dict) -> str:
    return f"contexts with two labels; {number(conflicts['multisets'])} if order does not count"


def methods(answer: dict) -> Group:
    parts: list[RenderableType] = []
    for row in answer["rows"]:
        name = row["method"] + (f" --form {row['form']}" if row["form"] else "")
        table = Table.grid(padding=(0, 2))
        table.add_column(style="cyan", no_wrap=True)
        table.add_column()
        table.add_row("paper", Text(f"{row['paper']}, {row['item']}"))
        for key in ("assumptions", "guarantee"):
            table.add_row(key, Text(codes(row[key])))
        parts += [Text(name, style="bold"), table, Text()]
    return Group(*parts[:-1])


def codes(text: str) -> str:
    """A line for each of A1, A2, ..., G1, ..., D1, ..."""
    return re.sub(r"\s+(?=[AGD]\d+\s)", "\n", text)


View = Callable[[dict], RenderableType]
VIEWS: dict[str, View] = {
    "compiled": compiled,
    "generated": generated,
    "methods": methods,
    "statistics": statistics,
    "verified": verified,
}

CLOSING, OPENING = set(".,;:!?)]}’”…%"), set("“‘([{’")


def gap(before: str, after: str) -> str:
    """What stands between two tokens of text, as a printer would set them."""
    if not before or after[0] in CLOSING or before[-1] in OPENING:
        return ""
    return " "


def spaced(tokens: Sequence[str]) -> str:
    """The tokens as running text.

    >>> spaced(["“", "A", "word", ",”", "she", "said", "."])
    '“A word,” she said.'
    """
    return "".join(
        gap(before, after) + after for before, after in zip(["", *tokens], tokens, strict=False)
    )
