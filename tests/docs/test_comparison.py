"""docs/comparison.md is what the benchmark wrote, and its smallest networks are built again."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "benchmarks" / "comparison.py"


@pytest.fixture(scope="module")
def benchmark():
    specification = importlib.util.spec_from_file_location("comparison_benchmark", PLACE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(benchmark):
    results = json.loads((ROOT / "benchmarks" / "comparison.json").read_text())
    found = (ROOT / "docs" / "comparison.md").read_text()
    assert found == benchmark.page(results), "run python benchmarks/comparison.py --write"


def test_sizes_are_still_those_of_the_page(benchmark):
    """What is predicted exactly, at N = 100."""
    results = json.loads((ROOT / "benchmarks" / "comparison.json").read_text())
    for step in (x for x in results if x["count"] == 100):
        dataset = benchmark.data(step["kind"], 100, step["labels"])
        for row in step["rows"]:
            if row["method"] in ("hash-fold-retrieve", "embedding", "attention-neurons"):
                continue  # a search finds their sizes
            now = benchmark.measure(row["method"], row["form"], dataset, build=False)
            assert now["nonzero"] == row["nonzero"], row
