"""tradeoff: parameters against bits per parameter."""

import json
from dataclasses import dataclass, replace

import pytest

from byheart.api.tradeoff import Tradeoff, steps, tradeoff
from byheart.cli.options import whole_numbers
from byheart.constructions import ALL, named
from byheart.constructions.base import option
from byheart.constructions.hash_fold_retrieve import HashFoldRetrieve
from byheart.data.load import from_rows, write_jsonl
from byheart.errors import AssumptionError, ByheartError

ROWS = [([i % 5, i % 7, i], i % 3) for i in range(30)]


@dataclass(frozen=True)
class Small(HashFoldRetrieve):
    """Stands in for limited-bits: it keeps to no limit, but refuses one below `least`."""

    name = "limited-bits"
    form = "small"
    least = 20
    bits: int | None = option(None, "Stands in.")

    @property
    def header(self):
        return HashFoldRetrieve().header

    def build(self, dataset, contexts, watch):
        if self.bits < self.least:
            raise AssumptionError(f"A3 fails: use `bits={self.least}`.", smallest=self.least)
        return super().build(dataset, contexts, watch)


class Faithful(Small):
    form = "faithful"
    least = 40


@pytest.fixture
def stand_ins(monkeypatch):
    forms = {"limited-bits": [Small(), Faithful()]}
    monkeypatch.setattr("byheart.constructions.named", lambda x: forms.get(x) or named(x))


@pytest.fixture
def data(tmp_path):
    write_jsonl(from_rows(ROWS), tmp_path / "data.jsonl")
    return tmp_path / "data.jsonl"


def test_steps_go_from_the_smallest_to_64():
    assert steps(16)[0] == 16 and steps(16)[-1] == 64 and len(steps(16)) == 8
    assert steps(1)[0] == 1 and steps(1)[-1] == 64
    assert steps(100)[0] == 100 and steps(100)[-1] == 200


def test_lists_of_numbers_are_read():
    assert whole_numbers("32, 16,24,32", "--bits", "16,24") == [16, 24, 32]
    assert whole_numbers(None, "--bits", "16,24") is None
    for wrong in ("", "16,,24", "0", "-3", "1.5", "x", "9" * 40, "2;5"):
        with pytest.raises(ByheartError, match="--bits is a list of positive whole numbers"):
            whole_numbers(wrong, "--bits", "16,24")


def test_one_row_per_form_and_limit(stand_ins):
    answer = tradeoff(from_rows(ROWS), [16, 32, 64], "both").json()
    rows = {(row["form"], row["bits"]): row for row in answer["rows"]}
    assert list(rows) == [(form, b) for form in ("small", "faithful") for b in (16, 32, 64)]
    assert answer["smallest"] == {"small": 20, "faithful": 40}
    for form, bits in (("small", 16), ("faithful", 16), ("faithful", 32)):
        row = rows[form, bits]
        assert "A3 fails" in row["reason"] and row["nonzero"] is None and row["evidence"] is None
    for form, bits in (("small", 32), ("faithful", 64)):
        assert rows[form, bits]["nonzero"] == answer["plain"]["nonzero"] > 0
        assert rows[form, bits]["reason"] is None and rows[form, bits]["evidence"] == "proved"
    assert answer["plain"]["method"] == "hash-fold-retrieve"


def test_without_limits_it_begins_at_the_smallest(stand_ins):
    found = tradeoff(from_rows(ROWS))
    assert [row.bits for row in found.rows] == steps(20)
    assert all(row.reason is None for row in found.rows)


def test_a_result_is_shown_in_a_terminal_and_in_a_notebook(stand_ins):
    found = tradeoff(from_rows(ROWS), [16, 32])
    assert isinstance(found, Tradeoff) and len(repr(found).splitlines()) == 5
    assert "no limit" in repr(found) and "A3 fails" in repr(found)
    shown = replace(found, rows=(replace(found.rows[0], reason="<b>"),))._repr_html_()
    assert shown.startswith("<table>") and "&lt;b&gt;" in shown and "<b>" not in shown


def test_a_refusal_without_a_smallest_limit_is_raised(stand_ins, monkeypatch):
    def build(*_):
        raise AssumptionError("A3 fails: the least is 20.")

    monkeypatch.setattr(Small, "build", build)
    with pytest.raises(AssumptionError, match="the least is 20"):
        tradeoff(from_rows(ROWS))


def test_a_form_that_does_not_exist():
    with pytest.raises(ByheartError, match="form must be one of small, faithful, both"):
        tradeoff(from_rows(ROWS), form="large")


def test_other_refusals_are_not_rows(stand_ins):
    with pytest.raises(AssumptionError, match="A1"):
        tradeoff(from_rows([(["a"], 1), (["a"], 2)]))


@pytest.mark.parametrize("construction", [c for c in ALL if c.name == "limited-bits"])
def test_limits_are_kept(construction):
    """The real construction: no parameter is longer than its limit, fewer bits are refused."""
    answer = tradeoff(from_rows(ROWS), [2, 40, 64], construction.form).json()
    refused, *built = answer["rows"]
    least = answer["smallest"][construction.form]
    assert least > 2 and str(least) in refused["reason"]
    for row in built:
        assert row["evidence"] == "proved" and row["largest"] <= row["bits"]


# --- the command


def test_json_is_one_object(stand_ins, run, data):
    code, output, errors = run("tradeoff", data, "--bits", "16,32", "--json")
    assert (code, errors, output.count("\n")) == (0, "", 1)
    answer = json.loads(output)
    assert [row["bits"] for row in answer["rows"]] == [16, 32]
    assert answer["dataset"]["name"] == "data.jsonl" and answer["picture"] is None


def test_text_has_one_row_per_limit(stand_ins, run, data):
    code, output, _ = run("tradeoff", data, "--bits", "16,32", "--form", "both")
    assert code == 0 and "no limit" in output and "faithful" in output
    assert "these labels need " in output and "by their frequencies" in output
    assert "…" not in output and "any code" not in output  # a rule takes less
    assert "A3 fails: use --bits 20." in " ".join(output.split())  # not bits=20


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
@pytest.mark.parametrize("bits", ["16,32,64", "1,2"])  # also if nothing could be built
def test_pictures(stand_ins, run, data, tmp_path, ending, bits):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"picture.{ending}"
    given = ("tradeoff", data, "--bits", bits, "--form", "both", "-o", path)
    code, output, _ = run(*given, "--json")
    content = path.read_bytes()
    assert (code, json.loads(output)["picture"]) == (0, str(path)) and len(content) > 1000
    assert run(*given)[0] == 2
    assert run(*given, "--force")[0] == 0
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "picture.jpg"), ".svg, .png or .pdf"),
        (("--bits", "many"), "whole numbers"),
        (("--form", "other"), "form must be one of"),
    ],
)
def test_refusals(stand_ins, run, data, options, said):
    code, output, errors = run("tradeoff", data, *options)
    assert (code, output, errors.count("\n")) == (2, "", 1) and said in errors
