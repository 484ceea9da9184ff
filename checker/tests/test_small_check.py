"""The small checker reads FORMAT.md on its own and comes to the same verdicts as the examples."""

import ast
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

import bad_examples
import small_check

CHECKER = Path(__file__).resolve().parent.parent
EXAMPLES = CHECKER / "examples"
SOURCE = CHECKER / "small_check.py"
GOOD = sorted((EXAMPLES / "good").iterdir())
BAD = bad_examples.folders("bad")
QUICK_GOOD = [EXAMPLES / "good" / name for name in ("words", "floats", "tags", "sets", "vectors")]
QUICK_BAD = [
    f"bad/{name}"
    for name in ("changed-weight", "hashes-agree-labels-wrong", "float64-span", "hole", "not-utf8")
]


def run(folder: Path, data: Path) -> int:
    return small_check.main([str(folder), str(data), "--json"])


def is_decoder(folder: Path) -> bool:
    try:
        return "decoder" in json.loads((folder / "config.json").read_bytes())
    except ValueError:
        return False


def agrees(folder: Path, expected: int, capsys) -> None:
    """Decoders are none of its business; everything else has the expected exit code."""
    code, answer = run(folder, folder / "data.jsonl"), json.loads(capsys.readouterr().out)
    if is_decoder(folder):
        assert code == 2
        assert expected == 2 or "not decoders" in answer["reason"]
    else:
        assert code == expected, answer
    words = {0: "VERIFIED", 1: "NOT VERIFIED", 2: "NOT READABLE"}
    assert answer["verdict"] == words[code]


@pytest.mark.parametrize("folder", QUICK_GOOD, ids=lambda folder: folder.name)
def test_some_good_folders_are_verified(folder, capsys):
    agrees(folder, 0, capsys)


@pytest.mark.parametrize("example", QUICK_BAD, indirect=True)
def test_some_bad_folders_are_not(example, capsys):
    agrees(
        example, json.loads(example.with_name(f"{example.name}.json").read_text())["exit"], capsys
    )


@pytest.mark.slow
@pytest.mark.parametrize("folder", GOOD, ids=lambda folder: folder.name)
def test_good_folders_are_verified(folder, capsys):
    agrees(folder, 0, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("example", BAD, indirect=True)
def test_bad_folders_have_the_exit_code_of_the_first_checker(example, capsys):
    agrees(
        example, json.loads(example.with_name(f"{example.name}.json").read_text())["exit"], capsys
    )


def test_it_is_small_and_shares_no_code():
    text = SOURCE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).split(".")[0])
    assert imported <= sys.stdlib_module_names


def test_no_assertion_bears_load():
    """`python -O` removes assertions: a verdict must not depend on one."""
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(SOURCE.read_text())))


def test_decoders_are_left_to_the_other_checker(capsys):
    assert run(EXAMPLES / "good" / "next-word", EXAMPLES / "good" / "next-word" / "data.jsonl") == 2
    assert "not decoders" in json.loads(capsys.readouterr().out)["reason"]


def with_value(value: bytes):
    """A function that adds an unknown key with this value to a JSON object."""
    return lambda raw: b'{"ignored": ' + value + b", " + raw.lstrip()[1:]


HOSTILE = {
    "byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "in a list": lambda raw: b"[" + raw + b"]",
    "text after it": lambda raw: raw + b"{}",
    "not UTF-8": with_value(b'"\xff"'),
    "deep": with_value(b"[" * 100_000 + b"]" * 100_000),
    "not a number": with_value(b"NaN"),
    "repeated key": with_value(b'{"a": 1, "a": 1}'),
    "two million digits": with_value(b"1" + b"0" * 2_000_000),
}


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "certificate.json"])
@pytest.mark.parametrize("spoil", HOSTILE.values(), ids=HOSTILE)
def test_hostile_json_is_not_readable(copy, name, spoil, capsys):
    folder = copy("words")
    (folder / name).write_bytes(spoil((folder / name).read_bytes()))
    assert run(folder, folder / "data.jsonl") == 2


def test_an_unknown_key_is_ignored(copy, capsys):
    """The counterpart of the test above: the hash fails where the file is one of the three."""
    folder = copy("words")
    for name, code in (("certificate.json", 0), ("config.json", 1), ("vocabulary.json", 1)):
        (folder / name).write_bytes(
            with_value(b'[1e400, {"a": null}]')((folder / name).read_bytes())
        )
        assert run(folder, folder / "data.jsonl") == code


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"input": ["yes"], "label": "differ", "label": "same"}', 2),
        (b'{"input": ["yes"], "label": true}', 2),
        (b'{"input": ["yes"], "label": "differ", "count": 0}', 2),
        (b'{"input": ["yes"], "label": "differ", "count": 9223372036854775807}', 2),
        (b'{"input": ["yes", 1], "label": "differ"}', 2),
        (b'{"input": ["\\ud800"], "label": "differ"}', 2),
        (b'{"input": ["yes"], "label": ["differ"]}', 2),
        (b'{"input": [1e400], "label": "differ"}', 2),
        (b'{"input": ["maybe"], "label": "differ"}', 1),
        (b'{"input": ["yes"], "label": "unheard"}', 1),
        (b'{"input": [], "label": "same"}', 1),
        (b'{"input": ["yes", "yes", "yes"], "label": "same"}', 1),
        (b'{"input": ["yes"], "label": "differ"}\r\n\r\n', 1),
    ],
)
def test_one_more_line_of_data(copy, line, code, capsys):
    """What is no data is refused; what is data, but not the data of the claim, fails."""
    folder = copy("words")
    with (folder / "data.jsonl").open("ab") as file:
        file.write(line + b"\n")
    assert run(folder, folder / "data.jsonl") == code


def test_carriage_returns_and_blank_lines_change_nothing(copy, capsys):
    folder = copy("words")
    lines = (folder / "data.jsonl").read_bytes().splitlines()
    (folder / "data.jsonl").write_bytes(b"\r\n\r\n \t".join([*lines, b""]))
    assert run(folder, folder / "data.jsonl") == 0


def test_links_in_place_of_files_are_refused(copy, tmp_path, capsys):
    folder = copy("words")
    shutil.move(folder / "vocabulary.json", tmp_path / "elsewhere.json")
    os.symlink(tmp_path / "elsewhere.json", folder / "vocabulary.json")
    assert run(folder, folder / "data.jsonl") == 2


@pytest.mark.parametrize("arguments", [[], ["one"], ["a", "b", "c"], ["a", "b"]])
def test_bad_usage_is_two(arguments, capsys):
    assert small_check.main(arguments) == 2
    assert "NOT READABLE" in capsys.readouterr().out


def test_the_limit_of_digits_is_left_as_it_was(capsys):
    before = sys.get_int_max_str_digits()
    run(EXAMPLES / "good" / "words", EXAMPLES / "good" / "words" / "data.jsonl")
    assert sys.get_int_max_str_digits() == before


def test_the_name_of_the_data_may_be_in_capitals(copy, capsys):
    folder = copy("words")
    (folder / "data.jsonl").rename(folder / "DATA.JSONL")
    assert run(folder, folder / "DATA.JSONL") == 0
    (folder / "DATA.JSONL").rename(folder / "data.txt")
    assert run(folder, folder / "data.txt") == 2
