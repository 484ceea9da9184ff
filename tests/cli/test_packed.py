"""compile --packed and export --to packed: one file, which every command reads."""

import json
import os

import pytest

ROWS = [(["capital", "of", "france"], "paris"), (["river", "of", "italy"], "tiber")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = (json.dumps({"input": tokens, "label": label}) + "\n" for tokens, label in ROWS)
    (tmp_path / "data.jsonl").write_text("".join(lines))
    return tmp_path


def test_one_file_instead_of_a_folder(run, folder):
    code, output, _ = run("compile", "data.jsonl", "-o", "one.byheart", "--packed")
    size = (folder / "one.byheart").stat().st_size
    assert code == 0 and f"packed file            {size} bytes" in output
    assert run("recall", "one.byheart", "river", "of", "italy")[1].strip() == "tiber"
    code, output, _ = run("verify", "one.byheart", "data.jsonl", "--checker", "--json")
    assert code == 0 and json.loads(output)["verified"]["evidence"] == "proved"
    assert run("compile", "data.jsonl", "-o", "one.byheart", "--packed")[0] == 2
    assert run("compile", "data.jsonl", "-o", "one.byheart", "--packed", "--force")[0] == 0


def test_export_writes_the_same_file(run, folder):
    run("compile", "data.jsonl", "-o", "model")
    run("compile", "data.jsonl", "-o", "one", "--packed")
    code, output, _ = run("export", "model", "--to", "packed", "-o", "two", "--json")
    assert code == 0 and json.loads(output)["files"] == ["two"]
    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()
    code, _, errors = run("export", "model", "data.jsonl", "--to", "packed", "-o", "three")
    assert code == 2 and "leave the data out" in errors
    assert run("export", "model", "--to", "packed", "-o", "model", "--force")[0] == 2
    assert run("verify", "model", "data.jsonl")[0] == 0  # the folder is still there


def test_what_is_not_written(run, folder):
    code, _, errors = run("compile", "data.jsonl", "-o", "one", "--packed", "--write-data")
    assert code == 2 and "write-data" in errors
    how = ("--packed", "--method", "one-layer")
    code, _, errors = run("compile", "data.jsonl", "-o", "one", *how)
    assert code == 2 and "write a folder" in errors
    assert os.listdir(folder) == ["data.jsonl"]


def test_what_is_no_model(run, folder):
    run("compile", "data.jsonl", "-o", "one", "--packed")
    content = (folder / "one").read_bytes()
    (folder / "half").write_bytes(content[:100])
    for name, words in (("half", "damaged or cut off"), ("data.jsonl", "not a packed model")):
        for command in (("recall", name, "a"), ("verify", name)):
            code, output, errors = run(*command)
            assert code == 2 and not output and words in " ".join(errors.split())
