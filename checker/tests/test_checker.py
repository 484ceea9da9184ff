"""The checker accepts `good/`, refuses each bad example, and never accepts a false claim."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bad_examples
import check
import good_examples

CHECKER = Path(__file__).resolve().parent.parent
EXAMPLES = CHECKER / "examples"
GOOD = sorted((EXAMPLES / "good").iterdir())
ALL_GOOD = [*bad_examples.folders("good"), *bad_examples.folders("stock/good")]
ALL_BAD = [*bad_examples.folders("bad"), *bad_examples.folders("stock/bad")]
FILES = ("config.json", "weights.safetensors", "vocabulary.json", "certificate.json")


def run(*arguments: object) -> int:
    return check.main([str(argument) for argument in arguments])


# ---------------------------------------------------------------- the two folders


@pytest.mark.parametrize("name", ALL_GOOD)
def test_good_folders_are_verified(name, capsys):
    folder = EXAMPLES / name
    assert run(folder, folder / "data.jsonl") == 0
    assert capsys.readouterr().out.startswith("VERIFIED")
    assert check.failures(folder, folder / "data.jsonl") == []
    assert run(folder) == 0
    assert capsys.readouterr().out == "STRUCTURE OK, no data checked\n"


@pytest.mark.parametrize("example", ALL_BAD, indirect=True)
def test_bad_folders_fail_with_their_own_sentence(example, capsys):
    expected = json.loads(example.with_name(f"{example.name}.json").read_text())
    assert run(example, example / "data.jsonl") == expected["exit"]
    out, err = capsys.readouterr()
    assert expected["message"] in (out if expected["exit"] == 1 else err)
    assert (out == "") == (expected["exit"] == 2) and "Traceback" not in err
    assert len(err.splitlines()) == (expected["exit"] == 2)
    if expected["exit"] == 2:
        assert run(example) == (0 if expected["data"] else 2)


def test_a_reader_that_has_seen_enough_is_no_error():
    folder = EXAMPLES / "good/words"
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, CHECKER / "check.py", folder, folder / "data.jsonl"]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE)
    os.close(writes)
    assert (done.returncode, done.stderr) == (0, b"")


ALL_UNDER_O = """
import contextlib, io, json, pathlib, sys
import check

for folder in map(pathlib.Path, sys.argv[1:]):
    wanted = 0
    beside = folder.with_name(f"{folder.name}.json")
    if beside.exists():
        wanted = json.loads(beside.read_text())["exit"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = check.main([str(folder), str(folder / "data.jsonl")])
    if code != wanted:
        sys.exit(f"{folder}: {code}, not {wanted}")
"""


def test_the_verdicts_do_not_rest_on_assertions(examples):
    """python -O leaves out every assert."""
    folders = [examples / name for name in (*ALL_GOOD, *ALL_BAD)]
    command = [sys.executable, "-O", "-c", ALL_UNDER_O, *map(str, folders)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKER)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_logits_that_the_exponential_s_error_does_not_cover_are_refused():
    for bits in (128, 256):
        with pytest.raises(check.Refusal, match="has no proved error"):
            check.exponential(bits).parts(2**42 << bits)
        check.exponential(bits).parts(-(2**30) << bits)


def test_sizes_are_refused_before_anything_is_read(copy, capsys):
    """A sparse file of 60 GB, whose header agrees with its size or does not."""
    for header in (
        b"{}",
        b'{"tensor": {"dtype": "I32", "shape": [16106127360], "data_offsets": [0, 64424509440]}}',
    ):
        folder = copy("words")
        with open(folder / "weights.safetensors", "r+b") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            file.truncate(8 + len(header) + 60 * 2**30)
        assert run(folder) == 2 and "weights.safetensors" in capsys.readouterr().err
        (folder / "weights.safetensors").unlink()
        folder.rename(folder.with_name(f"after {len(header)}"))


def content(root: Path) -> dict:
    return {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_the_good_examples_are_what_their_script_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(good_examples, "HERE", tmp_path)
    good_examples.main()
    assert content(tmp_path / "good") == content(EXAMPLES / "good") != {}


def test_the_bad_examples_differ_from_good_ones_as_their_edits_say(examples):
    table = bad_examples.read_table()
    assert len({example.folder for example in table}) == len(table) > 200
    for example in table:
        base = content(EXAMPLES / bad_examples.place("good", example.base))
        bad = content(examples / example.folder)
        changed = {str(name) for name in base | bad if base.get(name) != bad.get(name)}
        edited = {re.split("[/@ ]", edit)[0] for edit in example.edits} - {"claim"}
        assert edited and edited <= changed
        assert changed <= edited | {"config.json", "certificate.json"}


def test_the_command_writes_all_examples(tmp_path, examples):
    command = [sys.executable, "-S", EXAMPLES / "bad_examples.py", tmp_path / "all"]
    subprocess.run(command, check=True)
    assert content(tmp_path / "all") == content(examples)


@pytest.mark.parametrize(
    "edit, text",
    [
        ("d.json/a/1 = null", b'{"a": [1, null], "b": 3}'),
        ("d.json/c = [1e-3]", b'{"a": [1, 2], "b": 3, "c": [0.001]}'),
        ("d.json/a/1 + 7", b'{"a": [1, 7, 2], "b": 3}'),
        ("d.json/a/end + 7", b'{"a": [1, 2, 7], "b": 3}'),
        ("d.json/a/0 -", b'{"a": [2], "b": 3}'),
        ("d.json/b -", b'{"a": [1, 2]}'),
        ('d.json@-1: = "\\u00ff "', b'{"a": [1, 2], "b": 3\xff '),
        ('d.json@1:9 = ""', b'{ 2], "b": 3}'),
    ],
)
def test_edits(edit, text):
    files = {"d.json": b'{"a": [1, 2], "b": 3}', "certificate.json": b'{"files": {}}'}
    if "@" in edit:
        assert bad_examples.edit(files, edit)["d.json"] == text
    else:
        assert bad_examples.edit(files, edit)["d.json"] == bad_examples.encode(json.loads(text))
    assert bad_examples.edit(files, "d.json -") == {"certificate.json": b'{"files": {}}'}


# ---------------------------------------------------------------- independence


def test_the_checker_imports_only_the_standard_library():
    tree = ast.parse((CHECKER / "check.py").read_text())
    names = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_the_checker_runs_without_site_packages():
    folder = EXAMPLES / "good" / "words"
    done = subprocess.run(
        [sys.executable, "-I", "-S", CHECKER / "check.py", folder, folder / "data.jsonl", "--json"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == b""
    assert json.loads(done.stdout) == {
        "verdict": "VERIFIED",
        "checked": 5,
        "correct": 5,
        "evidence": "proved",
        "failures": [],
    }


# ---------------------------------------------------------------- the command


def test_without_data_only_the_structure_is_checked(examples, capsys):
    assert run(EXAMPLES / "good" / "words") == 0
    assert capsys.readouterr().out == "STRUCTURE OK, no data checked\n"
    assert run(EXAMPLES / "good" / "words", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "verdict": "STRUCTURE OK",
        "checked": 0,
        "correct": 0,
        "evidence": None,
        "failures": [],
    }
    assert run(examples / "bad" / "wrong-hash") == 1


@pytest.mark.parametrize("size, checked", [(2, 2), (5, 5), (99, 5)])
def test_a_sample_is_never_called_verified(size, checked, capsys):
    folder = EXAMPLES / "good" / "words"
    assert run(folder, folder / "data.jsonl", "--sample", size, "--seed", 3, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "SAMPLED" and answer["evidence"] == "sampled"
    assert answer["checked"] == answer["correct"] == checked


@pytest.mark.parametrize("name", ["words", "tags", "sampled"])
def test_the_word_verified_does_not_stand_over_a_sample(name, capsys):
    folder = EXAMPLES / "good" / name
    assert run(folder, folder / "data.jsonl", "--sample", 2) == 0
    out = capsys.readouterr().out
    assert out.startswith("SAMPLED: ") and "VERIFIED" not in out and "no proof" in out


def test_a_sampled_certificate_is_decided_by_all_the_data(examples, capsys):
    folder = EXAMPLES / "good" / "sampled"
    assert run(folder, folder / "data.jsonl") == 0
    assert capsys.readouterr().out.startswith("VERIFIED: 5 of 5 labels")
    wrong = examples / "bad" / "sampled-and-wrong"
    assert run(wrong) == 0
    assert run(wrong, wrong / "data.jsonl") == 1


def test_a_refutation_says_so_in_json(examples, capsys):
    folder = examples / "bad" / "hashes-agree-labels-wrong"
    assert run(folder, folder / "data.jsonl", "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "NOT VERIFIED" and answer["evidence"] == "refuted"
    assert (answer["checked"], answer["correct"], len(answer["failures"])) == (5, 4, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nowhere"],
        ["--sample", "2"],
        [GOOD[0], "--sample", "0"],
        [GOOD[0], "--sample", "2"],
        [GOOD[0], GOOD[0] / "config.json"],
        [GOOD[0], "nowhere.jsonl"],
        [GOOD[0], "nowhere.npz"],
        [GOOD[0] / "config.json"],
    ],
)
def test_bad_usage_is_two(arguments, capsys):
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err and "Traceback" not in err


# ---------------------------------------------------------------- hostile folders


@pytest.mark.parametrize("name", FILES)
def test_links_and_folders_in_place_of_files_are_refused(copy, name, capsys):
    folder = copy("words")
    (folder / name).rename(folder / "elsewhere")
    os.symlink(folder / "elsewhere", folder / name)
    assert run(folder) == 2 and "not a regular file" in capsys.readouterr().err
    (folder / name).unlink()
    (folder / name).mkdir()
    assert run(folder) == 2


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"\xef\xbb\xbf{}",
        b"{}" * 2,
        b"[" * 200000,
        b'{"a":' * 200000,
        b'{"version": ' + b"9" * 3000000 + b"}",
        b'{"format": "\\ud800\x9b"}',
    ],
)
def test_any_content_is_refused_in_one_sentence(copy, name, content, capsys):
    folder = copy("words")
    (folder / name).write_bytes(content)
    assert run(folder, folder / "data.jsonl") == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and err.isascii()


def test_a_value_beyond_the_limit_is_refused(tmp_path, capsys):
    """Repeated squaring by layers is impossible, repeated scaling is not: 2^(4 * 2^22)."""
    example = good_examples.words()
    example["tensors"][0] = [[2**100], [2], [0]]
    parameters = good_examples.entries(example["tensors"])
    parameters[0][4] = parameters[2][4] = 2**22
    parameters[3][4] = 2**22
    files = good_examples.seal(
        {**good_examples.build(example), "weights.safetensors": good_examples.weights(parameters)}
    )
    good_examples.write(tmp_path / "m", files)
    assert run(tmp_path / "m", tmp_path / "m" / "data.jsonl") == 2
    assert "more than 2^23 bits" in capsys.readouterr().err


# ---------------------------------------------------------------- small parts


def test_long_decimals_are_read_exactly():
    for number in (10**5000 + 7, -(3**20000), 10**4000, -5):
        digits = hex(abs(number))
        text, rest = "", abs(number)
        while rest:
            rest, low = divmod(rest, 10**1000)
            text = (f"{low:01000d}" if rest else str(low)) + text
        assert hex(abs(check.decimal("-" * (number < 0) + text))) == digits
        assert (check.decimal("-" * (number < 0) + text) < 0) == (number < 0)


def test_padding_may_be_strings_and_need_not_be_canonical():
    assert check.read_dyadic(["-6", "-2"], "") == (-3, -1) == check.read_dyadic([-6, -2], "")
    for pair in ([1], [1, 2, 3], "12", [1.0, 0], ["1_0", 0], [" 1", 0], [True, 0], [1, 2**22 + 1]):
        with pytest.raises(check.Refusal):
            check.read_dyadic(pair, "")


def test_unknown_is_no_label(tmp_path, capsys):
    """`vectors` has unknown = 3: an output of 3 says so instead of naming a label."""
    example = good_examples.vectors()
    example["tensors"][-1] = [[1]]
    good_examples.write(tmp_path / "m", good_examples.build(example))
    assert run(tmp_path / "m", tmp_path / "m" / "data.jsonl") == 1
    assert "the network answers that it is unknown" in capsys.readouterr().out


def test_a_terminal_never_sees_raw_control_characters(copy, capsys):
    folder = copy("words")
    (folder / "data.jsonl").write_text('{"input": ["\\u001b[2J\\u009b"], "label": "same"}')
    assert run(folder, folder / "data.jsonl") == 1
    out = capsys.readouterr().out
    assert out.isascii() and "\x1b" not in out
