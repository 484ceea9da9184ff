"""The theorem gallery: a page per method, from the header of its file and from running it."""

import importlib.util
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import byheart
from byheart import pictures
from byheart.constructions import ALL
from byheart.constructions.base import Construction
from byheart.stock.show import within
from byheart.theory.papers import cited
from byheart.theory.statements import STATEMENTS
from byheart.views.network import draw

from ..make_errata import PAPERS as READ
from ..make_errata import Erratum
from ..make_errata import errata_of as errata
from ..make_statements import named
from . import running
from .markdown import escaped, fenced, listed, slug, table, write
from .mathematics import mathematics

ROOT = running.ROOT
BENCHMARKS = ROOT / "benchmarks"
INTRODUCTION = """# Theorem gallery

A theorem that says "a network of this size can memorise this data" is usually proved by writing
down the network. Each page here is one such network, built: what the theorem says, what it assumes,
what byheart guarantees, where we depart from the paper, a picture of the network, and a few lines
that run. Every example was run, and every network proved, when this site was made.

The same on one page is printed by `byheart methods`; `byheart compare DATA` shows which of them
apply to your data and how large they are there."""
STORES = {
    "labels": "One label per context",
    "distributions": "A distribution of the next token per context",
    "recites": "The next token, in a stock checkpoint",
}
TOLD = {
    "labels": "These networks have exact weights and answer each context with its label. "
    "`hash-fold-retrieve` is the default; `seq2seq` is it for data with a label for every token.",
    "distributions": "One-layer decoders over the real numbers. Where a context is followed by "
    "several tokens, they store how often each follows ([more](../next-token.md)).",
    "recites": "Ordinary GPT-2 and Llama checkpoints that other tools load as they are "
    "([more](../stock.md)).",
}
SETTINGS = {  # of benchmarks/family.py: the methods that "ours" and "paper" are there
    "one label per sequence": ("hash-fold-retrieve", "bit-extraction"),
    "one label per token": ("seq2seq", "seq2seq"),
    "sparse attention": ("sparse-attention", None),
    "multisets": ("deep-sets", "deep-sets"),
    "ids": ("embedding", "embedding"),
    "64 bits per parameter": ("limited-bits", "limited-bits"),
    "float64": ("float64", None),
}


class Example(NamedTuple):
    """A small file, how it is read, and a question with its answer."""

    name: str
    rows: tuple[str, ...]
    question: list[str] | str
    answer: object
    loading: dict[str, str] = {}

    @property
    def flags(self) -> str:
        return "".join(f" --{name} {value}" for name, value in self.loading.items())


EXAMPLES = {
    "labels": Example(
        "capitals.jsonl",
        (
            '{"input": ["capital", "of", "france"], "label": "paris"}',
            '{"input": ["capital", "of", "italy"], "label": "rome"}',
            '{"input": ["river", "of", "italy"], "label": "tiber"}',
        ),
        ["capital", "of", "france"],
        "paris",
    ),
    "every": Example(
        "tags.jsonl",
        (
            '{"input": ["time", "flies"], "label": ["noun", "verb"]}',
            '{"input": ["fruit", "flies"], "label": ["noun", "noun"]}',
        ),
        ["time", "flies"],
        ["noun", "verb"],
    ),
    "distributions": Example(
        "sky.jsonl",
        (
            '{"input": ["the", "sky", "is"], "label": "blue", "count": 3}',
            '{"input": ["the", "sky", "is"], "label": "grey"}',
            '{"input": ["the", "sea", "is"], "label": "blue"}',
        ),
        ["the", "sky", "is"],
        "blue",
    ),
    "recites": Example(
        "facts.jsonl",
        (
            '{"prompt": "The capital of France is", "answer": "Paris"}',
            '{"prompt": "The capital of Italy is", "answer": "Rome"}',
            '{"prompt": "The river that flows through Rome is the", "answer": "Tiber"}',
        ),
        "The capital of France is",
        "Paris",
        {"input": "prompt", "label": "answer", "tokenizer": "bpe:8000"},
    ),
}


def gallery(target: Path, source_page: Callable[[Path], str]) -> list[str]:
    """Write the gallery; the names of its pages, in their order.

    source_page  the page that shows a file of the repository, seen from the gallery
    """
    methods: dict[str, list[Construction]] = {}
    for construction in ALL:
        methods.setdefault(construction.name, []).append(construction)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, running.folder(Path(place)):
        for name, forms in methods.items():
            write(target / f"{name}.md", *page(forms, target, source_page))
    sections = []
    columns = ("network", "method", "after", "what it builds")
    for stores, title in STORES.items():
        rows = []
        for name, (form, *_) in methods.items():
            if form.claim.name == stores:
                paper = "ours" if form.header.paper == "none" else cited(form.header.paper)
                told = f"[{name}]({name}.md)", paper, escaped(form.header.summary)
                rows.append((thumbnail(name, form), *told))
        sections += [f"## {title}", TOLD[stores], table(columns, rows)]
    write(target / "index.md", INTRODUCTION, *sections)
    return list(methods)


def page(
    forms: list[Construction], target: Path, source_page: Callable[[Path], str]
) -> Iterator[str]:
    """The parts of the page of one method, whose forms have a section each where they differ."""
    first = forms[0]
    header = first.header
    yield f"# {first.name}"
    yield f"*{escaped(header.summary)}*"
    paper = "" if header.paper == "none" else cited(f"{header.paper}, ")
    sources = dict.fromkeys(Path(sys.modules[type(x).__module__].__file__ or "") for x in forms)
    files = (f"[`{x.relative_to(ROOT)}`]({source_page(x)})" for x in sources)
    yield f"**From**: {escaped(paper + header.item)}  \n**Source**: {', '.join(files)}"
    yield f"## The theorem\n\n{mathematics(cited(header.statement))}"
    yield f"**It assumes**\n\n{listed(cited(header.assumptions), mathematics)}"
    yield f"**byheart guarantees**\n\n{listed(cited(header.guarantee), mathematics)}"
    example = EXAMPLES[kind_of_example(first)]
    yield "## Try it"
    file = f"cat > {example.name} <<'END'\n" + "\n".join(example.rows) + "\nEND"
    yield f"A small file, `{example.name}`:\n\n{fenced(file)}"
    run_command(file)
    sizes, verdicts = [], []
    sparse = first.claim.name != "recites" and not first.name.startswith("attention-only")
    for form in forms:
        if form.form:
            words = {"small": "ours", "faithful": "the paper's"}
            yield f"### The {form.form} form ({words[form.form]})"
        session, verdict = commands(form, example)
        yield session
        code, model = python(form, example)
        yield f"The same in Python:\n\n{code}"
        yield picture(form, model, example, target)
        verdicts.append(verdict)
        assert model.verification.evidence == "proved", (form.name, model.verification)
        assert model.recall(example.question) == example.answer, form.name
        row = (example.name, form.form or "", number(model.verification.checked))
        counted = model.parameters.nonzero if sparse else model.parameters.dense
        sizes.append((*row, number(counted), model.verification.evidence))
    measured = [row for form in forms for row in measured_sizes(form)]
    counts = "nonzero parameters" if sparse else "parameters"
    columns = ("data", "form", "contexts", counts, "evidence")
    rows = sizes + measured
    if not any(row[1] for row in rows):
        columns, rows = columns[:1] + columns[2:], [row[:1] + row[2:] for row in rows]
    yield "## How large"
    yield table(columns, rows, right=(len(columns) - 3, len(columns) - 2))
    yield larger(first)
    yield f"## Evidence\n\n{proof(first)}"
    yield fenced("\n".join(verdicts))
    title = "Departures from the paper" if paper else "What to know before using it"
    yield f"## {title}\n\n{listed(cited(header.departures), mathematics)}"
    yield from errata_of(first)


def kind_of_example(form: Construction) -> str:
    """attention-only-argmax is a decoder that takes one label per context alone."""
    if form.name == "attention-only-argmax":
        return "labels"
    return "every" if form.every else form.claim.name


def run_command(line: str) -> str:
    """What a command prints; AssertionError if it fails."""
    (command,) = running.commands(running.Block("commands", line + "\n"))
    code, printed = running.run(command)
    assert code == 0, f"{line} ended with {code}: {printed}"
    return printed


def commands(form: Construction, example: Example) -> tuple[str, str]:
    """A session of compile and recall, and the verdict of the independent checker."""
    chosen = f" --method {form.name}" + (f" --form {form.form}" if form.form else "")
    name = f"{form.name}-{form.form}.folder" if form.form else f"{form.name}.folder"
    asked = example.question
    question = f'"{asked}"' if isinstance(asked, str) else " ".join(asked)
    compiled = f"byheart compile {example.name} -o {name}{chosen}{example.flags}"
    data = example.name
    if example.loading:  # the checker reads the canonical form alone
        compiled, data = f"{compiled} --write-data", f"{name}/data.jsonl"
    lines = [f"$ {compiled}", *shown(run_command(compiled))]
    recall = f"byheart recall {name} {question}"
    lines += [f"$ {recall}", run_command(recall).rstrip()]
    check = f"python checker/check.py {name} {data}"
    code, printed = checked(name, data)
    assert code == 0, f"{check} ended with {code}: {printed}"
    return fenced("\n".join(lines)), f"$ {check}\n{printed.rstrip()}"


def shown(printed: str) -> list[str]:
    """What compile says, without times and advice."""
    lines = [x.rstrip() for x in printed.rstrip().splitlines()]
    return [
        x for x in lines if x and not x.startswith(("load ", "written to", "try:", "check it:"))
    ]


@cache
def checker():
    """The independent checker, loaded from its one file."""
    place = ROOT / "checker" / "check.py"
    specification = importlib.util.spec_from_file_location("gallery_checker", place)
    module = importlib.util.module_from_spec(specification)
    sys.modules["gallery_checker"] = module  # its dataclasses look for it there
    sys.path.append(str(place.parent))  # check.py loads its part for stock checkpoints
    specification.loader.exec_module(module)
    return module


def checked(folder: str, data: str) -> tuple[int, str]:
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = checker().main([folder, data])
    return code, printed.getvalue()


def python(form: Construction, example: Example) -> tuple[str, byheart.Model]:
    """The example in Python with the values that it gives, and its model."""
    loading = "".join(f', {name}="{value}"' for name, value in example.loading.items())
    names: dict = {}
    lines = [
        "import byheart",
        "",
        f'data = byheart.load("{example.name}"{loading})',
        f"model = byheart.compile(data, byheart.methods.{type(form).__name__}())",
        "byheart.verify(model, data).evidence",
        f"model.recall({json.dumps(example.question)})",
        "model.parameters.nonzero, model.bits.total",
    ]
    if form.claim.name == "recites":
        lines[-1] = "model.parameters.nonzero"
    for place, line in enumerate(lines):
        if place < 4:
            exec(line, names)
        else:
            lines[place] = f"{line}  # {eval(line, names)!r}"
    return fenced("\n".join(lines), "python"), names["model"]


def picture(form: Construction, model: byheart.Model, example: Example, target: Path) -> str:
    """The network of the example, drawn as `byheart explain` does."""
    if form.claim.name == "recites":
        return "![The stream of one prompt, lane by lane](../pictures/stock-lanes.svg)"
    file = f"{form.name}-{form.form}.svg" if form.form else f"{form.name}.svg"
    network = replace(byheart.explain(model), name=example.name)
    pictures.write(draw, network, target / file)
    flag = f" --form {form.form}" if form.form else ""
    words = f"byheart explain {form.name} {example.name}{flag} --plot network.svg"
    return f"![The network, stage by stage]({file})\n\nDrawn by `{words}`."


def thumbnail(name: str, form: Construction) -> str:
    """The picture of the page of a method, small, which leads there."""
    file = f"{name}-{form.form}.svg" if form.form else f"{name}.svg"
    if form.claim.name == "recites":
        file = "../pictures/stock-lanes.svg"
    return f"[![{name}]({file}){{width=140px}}]({name}.md)"


def number(value: int) -> str:
    return f"{value:,}"


def measured_sizes(form: Construction) -> Iterator[tuple[str, str, str, str, str]]:
    """Rows of the committed benchmarks: data, form, contexts, parameters, evidence."""
    shown_form = form.form or ""
    for row in rows_of("family"):
        ours, theirs = SETTINGS[row["setting"]]
        key = "paper" if form.form == "faithful" or form.name == theirs != ours else "ours"
        if form.name == (theirs if key == "paper" else ours) and row.get(key):
            size = row[key]
            sizes = number(size["contexts"]), number(size["nonzero"]), size["evidence"]
            yield f"{row['setting']}, {number(row['sequences'])} sequences", shown_form, *sizes
    for step in rows_of("comparison"):
        for row in step["rows"]:
            found = (row["method"], row["form"]) == (form.name, form.form) and "nonzero" in row
            if found and step["labels"] == 2 and not already(form):
                evidence = row.get("evidence") or "predicted"
                sizes = number(step["count"]), number(row["nonzero"]), evidence
                yield f"{step['kind']}, two labels", shown_form, *sizes
    for row in rows_of("distributions"):
        if row["method"] == form.name and row["options"] in ({}, {"activation": "logistic"}):
            sizes = number(row["n"]), number(row["nonzero"]), row["evidence"]
            yield f"distributions over {number(row['omega'])} tokens", shown_form, *sizes
    for row in rows_of("attention_only") if form.name == "attention-only" else ():
        sizes = number(row["contexts"]), number(row["parameters"]), row["evidence"]
        yield f"{number(row['vocabulary'])} words, dimension {row['dimension']}", "", *sizes
    for row in rows_of("stock"):
        if row["method"] == form.name and not row["options"]:
            sizes = number(row["predictions"]), number(row["parameters"]), row["evidence"]
            yield f"{number(row['count'])} {row['data']}", shown_form, *sizes


@cache
def rows_of(benchmark: str) -> list[dict]:
    found = json.loads((BENCHMARKS / f"{benchmark}.json").read_text())
    return found if isinstance(found, list) else found["rows"]


def already(form: Construction) -> bool:
    """Whether the table of the family has the method."""
    return any(form.name in names for names in SETTINGS.values())


def larger(form: Construction) -> str:
    """Where the numbers are from."""
    if form.claim.name == "recites":
        return "Measured by `python -m benchmarks stock`; more in [Stock checkpoints](../stock.md)."
    if form.claim.name == "distributions":
        return "The first row is the example above; others are measured by `benchmarks/`."
    pages = "[The paper's sizes beside ours](../sizes.md)" if already(form) else ""
    other = "[What does each idea of the field cost?](../comparison.md)"
    told = f"The first rows are the example above; the others are of {pages or other}."
    return f"{told} *Predicted* sizes are closed forms, which are exact."


def proof(form: Construction) -> str:
    """On what grounds models of the method are called proved."""
    if form.claim.name == "recites":
        return (
            f"Every prompt is *proved* within {within('float32')}, by bounds of its rounding "
            "errors. The independent checker repeats it:"
        )
    if form.claim.name == "distributions":
        return (
            "The divergence of every context from its distribution is enclosed by rigorous bounds: "
            "*proved* within the gap. The independent checker encloses it again, by its own code:"
        )
    limit = (
        f" Beyond {form.provable:,} contexts `compile` verifies a sample, and says *sampled*; "
        "`byheart verify` proves all of them."
        if form.provable
        else ""
    )
    return (
        f"Every context is evaluated in exact integer arithmetic: *proved*.{limit} The independent "
        "checker, which shares no code with byheart, repeats it:"
    )


def errata_of(form: Construction) -> Iterator[str]:
    """The errata of the statements that the method carries out."""
    header = form.header
    yield "## Errata"
    found: list[Erratum] = []
    if header.paper in READ:
        items = {x.item for x in STATEMENTS if form.name in x.methods and x.paper == header.paper}
        items |= named(header.item)
        found = [x for x in errata(header.paper) if named(x.title) & items]
    if not found:
        yield "We know of none for the statements that this method carries out."
        return
    entries = (f"- [{escaped(x.title)}](../errata.md#{slug(x.title)}) ({x.kind})" for x in found)
    yield "\n".join(entries)
