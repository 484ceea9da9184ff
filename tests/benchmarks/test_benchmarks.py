"""Every benchmark runs with tiny sizes, and the pages show what its record says."""

import json
import re

import pytest

from benchmarks import report
from benchmarks.__main__ import TABLE, main

MARKS = re.compile(r"<!-- (\w+):begin -->")
FACTS = (("The mother tongue of Anna is", "French"), ("The capital of Peru is", "Lima"),
         ("The twin city of Cologne is", "Lille"))  # fmt: skip
STORIES = ("One day a cat sat on a mat. The cat ran.\n", "A dog sat on a log and saw the cat.\n")
SLOW = {"effort", "stock_int8", "studio"}  # a long search, four libraries, two servers
NEEDS = {"stock_int8": ("onnxruntime", "torch", "gguf", "xllamacpp"), "audit": ("transformers",),
         "gpt2": ("transformers",), "training": ("torch",)}  # fmt: skip


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rows = (json.dumps({"prompt": prompt, "answer": answer}) for prompt, answer in FACTS)
    (folder / "counterfact.jsonl").write_text("".join(f"{row}\n" for row in rows))
    (folder / "tinystories.txt").write_text("<|endoftext|>\n".join(STORIES))
    return report.Options(data=folder, tiny=True)


@pytest.mark.parametrize(
    "benchmark",
    [pytest.param(x, marks=pytest.mark.slow if x.name in SLOW else ()) for x in TABLE],
    ids=lambda benchmark: benchmark.name,
)
def test_it_runs_with_tiny_sizes(benchmark, options):
    for library in ("tokenizers", *NEEDS.get(benchmark.name, ())):
        pytest.importorskip(library)
    results = json.loads(json.dumps(benchmark.module.measure(options)))
    assert benchmark.module.markdown(results).count("\n| ") >= 1
    limits = getattr(benchmark.module, "missed", lambda results: [])(results)
    assert isinstance(limits, list)


@pytest.mark.parametrize("benchmark", TABLE, ids=lambda benchmark: benchmark.name)
def test_pages_show_what_the_record_says(benchmark):
    text = benchmark.module.markdown(report.recorded(benchmark.name))
    for page in benchmark.pages:
        shown = report.part(report.ROOT / page, benchmark.name)
        advice = f"run python -m benchmarks {benchmark.name} --render"
        assert shown in (None, text), advice


def test_every_mark_of_a_page_belongs_to_a_benchmark_of_that_page():
    pages = {(page, one.name) for one in TABLE for page in one.pages}
    for path in [report.ROOT / "README.md", *(report.ROOT / "docs").glob("*.md")]:
        for name in MARKS.findall(path.read_text()):
            assert (str(path.relative_to(report.ROOT)), name) in pages


def test_every_module_and_record_is_in_the_table():
    folder, names = report.ROOT / "benchmarks", {one.name for one in TABLE}
    shared = {"__init__", "__main__", "report", "training_cells"}
    assert {path.stem for path in folder.glob("*.py")} - shared == names
    assert {path.stem for path in folder.glob("*.json")} == names


def test_the_list_names_pages_and_minutes(capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(TABLE) + 1 and "docs/texts.md" in "".join(lines)


@pytest.mark.parametrize("arguments", [["sise"], ["sizes", "--tiny", "--write"]])
def test_bad_arguments_are_refused(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert len(capsys.readouterr().err.splitlines()[-1]) > 20


def test_a_table_aligns_numbers_to_the_right():
    text = report.table(("what", "count", "share"), [("`a`", 1000, "x 0.5"), ("`b`", 2, "-")])
    assert text.splitlines() == [
        "| what | count | share |",
        "| --- | ---: | ---: |",
        "| `a` | 1,000 | x 0.5 |",
        "| `b` | 2 | - |",
    ]


def test_only_the_part_between_the_marks_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n")
    report.write(page, "x", "new")
    report.write(page, "y", "nothing")
    assert page.read_text() == "a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb\n"
    assert report.part(page, "x") == "new" and report.part(page, "y") is None
