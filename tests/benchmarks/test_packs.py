"""The rows of published methods: what the page says of them, and that they are whole."""

from collections import Counter

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from benchmarks import packs, report  # noqa: E402
from byheart.api.benchmark import kept  # noqa: E402
from byheart.api.packs.facts import KINDS  # noqa: E402

ROWS = {path.stem: kept(path) for path in packs.PLACE.glob("*.jsonl")}


def test_the_record_is_the_summary_of_the_rows():
    assert report.recorded("packs") == packs.summary(packs.PLACE)


def test_every_method_has_a_row_on_every_pack_and_exact_ones_are_the_ceiling():
    found = Counter((x.pack, x.task) for x in ROWS["gpt2"])
    wanted = {
        (pack, task): len(packs.BUILT_IN) + len(names)
        for pack in KINDS
        for task, names in packs.METHODS.items()
        if not (task == "locate" and pack.startswith("superposed"))
    }
    assert found == wanted
    for row in (x for rows in ROWS.values() for x in rows):
        assert row.problem is None and row.scores, row
        assert len(row.pack_sha256) == 64 and row.versions["torch"]
        for score in row.scores.values():
            assert score["low"] <= score["value"] <= score["high"]
            if row.method == "exact":
                assert score["value"] == pytest.approx(score["ceiling"], abs=1e-6)


def test_one_pack_has_one_hash():
    for rows in ROWS.values():
        assert len({(x.pack, x.pack_sha256) for x in rows}) == len({x.pack for x in rows})


def test_every_harder_pack_breaks_a_method():
    assert packs.missed(report.recorded("packs")) == []


def cell(pack, method, value, file="gpt2", score="overall"):
    return packs.Cell(file, pack, KINDS[pack].level, "edit", method, score, value, 0.0, 1.0)


def test_what_a_pack_breaks():
    cells = [
        cell("single", "rome:edit", 1.0), cell("layers", "rome:edit", 0.4),
        cell("single", "memit:edit", 0.4), cell("layers", "memit:edit", 0.1),
        cell("decoys", "rome:edit", 0.0, score=""), cell("copies", "rome:edit", 0.5),
        cell("single", "rome:edit", 0.3, file="llama"), cell("layers", "exact", 0.9),
    ]  # fmt: skip
    found = {x: [y.method for y in own] for x, own in packs.broken(cells).items()}
    assert found == {"single": [], "layers": ["rome:edit"], "decoys": ["rome:edit"], "copies": [],
                     "single, Llama": ["rome:edit"]}  # fmt: skip
    lines = ["\t".join(map(str, x)) for x in cells]
    assert packs.cells_of(lines) == cells
    assert packs.missed(lines) == ["copies breaks no method", "layers: exact"]


def test_the_files_of_all_methods_have_titles():
    names = [x for own in packs.METHODS.values() for x in own]
    assert list(packs.TITLES) == names
    files = {path.stem for path in (report.ROOT / "benchmarks" / "methods").glob("*.py")}
    assert {x.partition(":")[0] for x in names} == files - {
        "__init__",
        "common",
        "descent",
        "editing",
    }
