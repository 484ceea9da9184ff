"""Every benchmark runs with tiny sizes, and the pages show what its record says."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import report
from benchmarks.__main__ import TABLE, Benchmark, main, run

MARKS = re.compile(r"<!-- (\w+):begin -->")
FACTS = (("The mother tongue of Anna is", "French"), ("The capital of Peru is", "Lima"),
         ("The twin city of Cologne is", "Lille"))  # fmt: skip
STORIES = ("One day a cat sat on a mat. The cat ran.\n", "A dog sat on a log and saw the cat.\n")
DATA = Path(__file__).parents[3] / "shared" / "data"  # with a trained model
SLOW = {
    "effort",
    "stock_int8",
    "float_storage",
    "packs",
    "studio",
    "teach",
}  # a search, libraries, servers, trainings
LIBRARIES = ("onnxruntime", "torch", "gguf", "xllamacpp")
NEEDS = {"stock_int8": LIBRARIES, "float_model": LIBRARIES,
         "float_storage": (*LIBRARIES, "transformers"), "audit": ("transformers",),
         "gpt2": ("transformers",), "training": ("torch",), "packs": ("transformers",),
         "vnnlib": ("onnx", "onnxruntime")}  # fmt: skip


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
    if benchmark.name == "teach":
        if not (DATA / "stories260K").is_dir():
            pytest.skip("needs shared/data/stories260K")
        options = replace(options, data=DATA)
    for library in ("tokenizers", *NEEDS.get(benchmark.name, ())):
        pytest.importorskip(library)
    results = json.loads(json.dumps(benchmark.module.measure(options)))
    assert benchmark.module.markdown(results).count("\n| ") >= 1
    limits = getattr(benchmark.module, "missed", lambda results: [])(results)
    assert isinstance(limits, list)


@pytest.mark.parametrize("benchmark", TABLE, ids=lambda benchmark: benchmark.name)
def test_pages_show_what_the_record_says(benchmark):
    results = report.recorded(benchmark.name)
    for page in benchmark.pages:
        text = benchmark.shown(results, page)
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
    shared = {"__init__", "__main__", "report", "training_cells", "float_llama", "stored_sums"}
    assert {path.stem for path in folder.glob("*.py")} - shared == names
    assert {path.stem for path in folder.glob("*.json")} - {report.MEASURED.stem} == names
    assert json.loads(report.MEASURED.read_text()).keys() <= names


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


def test_what_is_written_says_with_which_commit(tmp_path, monkeypatch, capsys):
    """Record, table and commit are written together, and --render repeats them."""
    (tmp_path / "benchmarks").mkdir()
    page = tmp_path / "page.md"
    page.write_text("<!-- one:begin -->\nold\n<!-- one:end -->\n")
    monkeypatch.setattr(report, "ROOT", tmp_path)
    monkeypatch.setattr(report, "MEASURED", tmp_path / "benchmarks" / "measured.json")
    monkeypatch.setattr(report, "_commit", lambda: "1a2b3c4 of 2026-01-02")
    module = SimpleNamespace(
        measure=lambda options: {"n": 3},
        markdown=lambda results: f"n is {results['n']}",
        missed=lambda results: ["too few"],
    )
    monkeypatch.setattr(Benchmark, "module", module)
    one = Benchmark("one", ("page.md",), 1, "a number")
    assert run(one, report.Options(), write=False, render=False) == ["too few"]
    assert report.part(page, "one") == "old" and capsys.readouterr().out == "n is 3\n"
    run(one, report.Options(), write=True, render=False)
    assert report.part(page, "one") == "n is 3\n\nMeasured with commit 1a2b3c4 of 2026-01-02."
    report.write(page, "one", "changed by hand")
    run(one, report.Options(), write=False, render=True)
    assert report.part(page, "one").endswith("1a2b3c4 of 2026-01-02.")


@pytest.mark.skipif(not (report.ROOT / ".git").exists(), reason="this is no checkout")
def test_a_commit_is_named_with_its_date():
    assert re.fullmatch(r"[0-9a-f]{7,} of \d{4}-\d\d-\d\d(, changed)?", report._commit())


def test_seconds_of_compile_can_be_those_of_the_processor():
    started = time.process_time()
    with report.cpu_seconds():
        assert time.perf_counter() - started < 1 and time.perf_counter is time.process_time
    assert time.perf_counter is not time.process_time
