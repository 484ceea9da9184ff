"""encoder: the least divergence over the dimension, as a command."""

import json

import pytest

from byheart.api.encoder import encoder
from byheart.data.load import from_rows, write_jsonl

ASSOCIATIONS = [([f"k{i}", f"k{i % 3}"], f"v{i % 4}") for i in range(9)]
MIXED = [([f"k{i % 5}"], f"v{(i * i + i // 5) % 6}") for i in range(40)]
ROW = {"dimension", "divergence", "largest", "encoder", "exact", "seconds", "tried"}


def written(path, rows):
    write_jsonl(from_rows(rows), path)
    return path


@pytest.fixture
def associations(tmp_path):
    return written(tmp_path / "associations.jsonl", ASSOCIATIONS)


@pytest.fixture
def mixed(tmp_path):
    return written(tmp_path / "mixed.jsonl", MIXED)


def test_json_is_one_object(run, mixed):
    code, output, errors = run("encoder", mixed, "--dimensions", "5, 1,2", "--json")
    assert (code, errors, output.count("\n")) == (0, "", 1)
    answer = json.loads(output)
    assert [row["dimension"] for row in answer["rows"]] == [1, 2, 5]
    assert all(set(row) == ROW for row in answer["rows"])
    data = answer["dataset"]
    assert (data["name"], data["sequences"], data["contexts"]) == ("mixed.jsonl", 40, 5)
    assert (data["vocabulary"], data["length"], data["associations"]) == (11, 1, False)
    assert answer["picture"] is None and answer["gap"] == 1e-9 and answer["entropy"] > 0.6
    assert [row["exact"] for row in answer["rows"]] == [False, False, True]  # 5 distributions
    assert answer["rows"][-1]["divergence"] <= 1e-9 < answer["rows"][0]["divergence"]


def test_associations_are_exact_from_dimension_2_on():
    answer = encoder(from_rows(ASSOCIATIONS), [2, 3, 4]).json()
    assert [row["encoder"] for row in answer["rows"]] == ["circle", "sphere", "exact"]
    assert all(row["exact"] and row["largest"] <= 1e-9 for row in answer["rows"])
    assert answer["dataset"]["associations"] and answer["entropy"] == 0
    assert answer["dataset"]["distributions"] == 4 and answer["vanishing"] == 2


def test_without_dimensions_it_ends_where_nothing_is_lost():
    answer = encoder(from_rows(MIXED), gap=1e-6).json()
    assert answer["rows"][0]["dimension"] == 2 and answer["rows"][-1]["exact"]
    assert answer["rows"][-1]["largest"] <= 1e-6


def test_one_seed_one_answer():
    def values(seed):
        return [point.tried for point in encoder(from_rows(MIXED), [2], seed=seed).points]

    assert values(3) == values(3) != values(4)


def test_text_says_what_is_a_bound(run, mixed, associations):
    code, output, _ = run("encoder", mixed, "--dimensions", "1,5")
    assert code == 0 and output.count("upper bound") == 2 and "optimal" in output
    assert "5 distributions over 11 tokens" in output and "infimum is 0 from dimension 4" in output
    code, output, _ = run("encoder", associations, "--dimensions", "2")
    assert code == 0 and output.count("upper bound") == 1 and "circle" in output
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize("ending", ["svg", "png"])
@pytest.mark.parametrize("kind", ["mixed", "associations"])
@pytest.mark.parametrize("flag", ["-o", "--output", "--plot"])
def test_pictures(request, run, tmp_path, ending, kind, flag):
    pytest.importorskip("matplotlib")
    data, path = request.getfixturevalue(kind), tmp_path / f"picture.{ending}"
    given = ("encoder", data, "--dimensions", "1,2,5", flag, path)
    code, output, _ = run(*given, "--json")
    content = path.read_bytes()
    assert (code, json.loads(output)["picture"]) == (0, str(path)) and len(content) > 1000
    code, _, errors = run(*given)
    assert code == 2 and "exists; choose another name, or replace it with --force" in errors
    assert run(*given, "--force")[0] == 0
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "picture.jpg"), ".svg, .png or .pdf"),
        (("--dimensions", "0"), "whole numbers"),
        (("--dimensions", "few"), "whole numbers"),
        (("--dimensions", "999999999"), "memory"),
        (("--gap", "0"), "--gap"),
        (("--gap", "nan"), "--gap"),
        (("--gap", "inf"), "--gap"),
        (("--window", "2"), "--window"),
    ],
)
def test_refusals(run, mixed, options, said):
    code, output, errors = run("encoder", mixed, *options)
    assert (code, output, errors.count("\n")) == (2, "", 1) and said in errors


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([([[0.5, 1.0], [2.0, 3.0]], 1), ([[1.5, 1.0]], 2)], "words or integers"),
        ([(["a", "b"], ["x", "y"]), (["b"], ["y"])], "every token has a label"),
        ([(["a"], "a"), (["a", "a"], "a")], "two different tokens"),
    ],
)
def test_data_that_has_no_distributions(run, tmp_path, rows, said):
    path = written(tmp_path / "data.jsonl", rows)
    code, output, errors = run("encoder", path, "--dimensions", "2")
    assert (code, output, errors.count("\n")) == (2, "", 1) and said in errors


def test_data_without_labels(run, tmp_path):
    (tmp_path / "data.jsonl").write_text('{"input": ["a", "b"]}\n')
    code, output, errors = run("encoder", tmp_path / "data.jsonl")
    assert (code, output, errors.count("\n")) == (2, "", 1) and "label" in errors


def test_text_and_tables_are_read(run, tmp_path):
    (tmp_path / "story.txt").write_text("a b a c a b b c. a c b a\n")
    code, output, _ = run("encoder", tmp_path / "story.txt", "--window", "1", "--json")
    assert code == 0 and json.loads(output)["rows"][-1]["exact"]
    (tmp_path / "t.csv").write_text("w,y\none,a\ntwo,b\nthree,c\n")
    code, output, _ = run("encoder", tmp_path / "t.csv", "--input", "w", "--label", "y", "--json")
    assert code == 0 and json.loads(output)["dataset"]["associations"]
