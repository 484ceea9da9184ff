"""A newcomer's own files, from the first command to the answer."""

import io
import json
import shlex
import shutil
import sys
from types import SimpleNamespace

import pytest

import byheart
from byheart.cli import main

IRIS = "length;width;species\n5.1;3.5;setosa\n4.9;3.0;setosa\n3.5;5.1;versicolor\n"
PROMPTS = [
    {"prompt": "The capital of France is", "completion": "Paris"},
    {"prompt": "The capital of Peru is", "completion": "Lima"},
]
NAMED = ("--input", "prompt", "--label", "completion")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in this process: its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        code = main([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return command


def file(name, content):
    with open(name, "w", encoding="utf-8") as written:
        written.write(content)
    return name


def test_a_numeric_table_is_not_digits(run):
    """5.1 is a number, and swapped columns are another flower."""
    path = file("iris.csv", IRIS)
    how = ("--input", "length", "--input", "width", "--label", "species")
    assert run("compile", path, "-o", "iris.folder", *how)[0] == 0
    assert run("recall", "iris.folder", "[5.10, 3.5]")[:2] == (0, "setosa\n")
    assert run("recall", "iris.folder", "[3.5, 5.1]")[:2] == (0, "versicolor\n")
    assert run("verify", "iris.folder", path, *how, "--checker")[0] == 0


def test_lines_of_prompts_compile_verify_and_answer(run):
    path = file("facts.jsonl", "\n".join(map(json.dumps, PROMPTS)))
    code, _, errors = run("compile", path, "-o", "facts.folder")
    assert code == 2 and "--input prompt --label completion" in errors
    assert run("compile", path, "-o", "facts.folder", *NAMED, "--write-data")[0] == 0
    assert run("recall", "facts.folder", "The capital of Peru is")[1] == "Lima\n"
    for data in (path, "facts.folder/data.jsonl"):
        assert run("verify", "facts.folder", data)[0] == 0
        code, output, _ = run("verify", "facts.folder", data, "--checker")
        assert code == 0 and "VERIFIED" in output


def test_text_as_input_needs_no_option(run):
    rows = [{"input": x["prompt"], "label": x["completion"]} for x in PROMPTS]
    path = file("facts.jsonl", "\n".join(map(json.dumps, rows)))
    assert run("compile", path, "-o", "facts.folder")[0] == 0
    assert run("recall", "facts.folder", "The capital of France is")[1] == "Paris\n"
    assert "VERIFIED" in run("verify", "facts.folder", path, "--checker")[1]


def test_premise_and_hypothesis_of_a_text_file_stay_apart(run):
    path = file("mnli.txt", "label\tpremise\thypothesis\n1\tx y\tz\n2\tx\ty z\n")
    how = ("--input", "premise", "--input", "hypothesis", "--label", "label", "--positions")
    assert run("compile", path, "-o", "pairs.folder", "--format", "tsv", *how)[0] == 0
    assert run("recall", "pairs.folder", "x | y z")[1] == "2\n"
    assert run("recall", "pairs.folder", "x y | z")[1] == "1\n"
    tsv = (path, *how[:6], "--format", "tsv")
    assert (
        run("verify", "pairs.folder", *tsv[:-2])[0] == 1
    )  # a text, unless the user says otherwise
    assert run("verify", "pairs.folder", *tsv)[0] == 0
    assert run("compile", path, "-o", "cut.folder", "--format", "tsv", *how, "--length", 3)[0] == 0
    code, output, _ = run("verify", "cut.folder", *tsv)
    assert code == 1 and "2 of 2 rows of the data were not read in full" in " ".join(output.split())


def test_rows_that_are_left_out_are_counted_in_the_answer(run):
    path = file("capitals.json", json.dumps({"France": "Paris", "Nauru": None, "Peru": "Lima"}))
    how = ("--input", "key", "--label", "value")
    code, output, errors = run("stats", path, *how)
    assert (code, output) == (2, "") and '("value" in row 2)' in errors and "--empty skip" in errors
    answer = json.loads(run("stats", path, *how, "--empty", "skip", "--json")[1])
    assert (answer["sequences"], answer["skipped"]) == (2, 1)
    code, output, _ = run("stats", path, *how, "--empty", "skip")
    assert "row with an empty cell" in output and "left out." in output
    code, output, _ = run("compile", path, "-o", "m", *how, "--empty", "skip", "--json")
    answer = json.loads(output)
    assert (code, answer["skipped"], answer["reading"]["empty"]) == (0, 1, "skip")
    assert "1 row has an empty cell" in answer["reading_notes"][0]
    assert "left out." in run("compile", path, "-o", "n", *how, "--empty", "skip")[1]


def test_verify_accepts_what_was_left_out_only_if_it_is_repeated(run):
    rows = [{"of": "France", "is": "Paris", "n": 1, "x": 0}, {"of": "Nauru", "is": "", "n": 2}]
    path = file("capitals.json", json.dumps({"name": "capitals", "rows": rows}))
    how = ("--records", "rows", "--input", "of", "--label", "is", "--empty", "skip")
    how += ("--count", "n")
    assert run("compile", path, "-o", "m", *how)[0] == 0
    code, output, _ = run("verify", "m", path)
    said = " ".join(output.split())
    assert code == 1 and "1 of 2 rows of the data was not read" in said and "(--empty)" in said
    assert "only what stands at 'rows' (--records)" in said and "the data has others: 'x'" in said
    assert "the model weighs rows by the column 'n' (--count)" in said
    command = said.partition("run: ")[2]
    assert set(command.split()) >= set(how)
    for apart in ((), ("--checker",)):
        answer = json.loads(run("verify", "m", path, *how, "--json", *apart)[1])
        assert answer["holds"] and answer["covered"].items() >= {"predictions": 1, "of": 2}.items()
    assert run("verify", "m", path, *how)[0] == 0


def test_standard_input(run):
    lines = "\n".join(map(json.dumps, PROMPTS)).encode()
    code, output, _ = run("stats", "-", "--format", "jsonl", *NAMED, "--json", stdin=lines)
    assert code == 0 and json.loads(output)["contexts"] == 2
    code, _, errors = run("stats", "-", *NAMED, stdin=lines)
    assert code == 2 and "standard input: --format must say what it holds" in errors
    text = b"a b c"
    assert (
        json.loads(run("stats", "-", "--format", "txt", "--json", stdin=text)[1])["contexts"] == 2
    )


PIPED = {  # a file and the options of compile, some of which verify must have again
    "book.txt": ("A fox ran.\n\nTwo cats sat.\n", ("--unit", "char"), ()),
    "lines.txt": ("A fox\nTwo cats sat.\n", ("--documents", "line", "--tokenizer", "bpe:300"), ()),
    "facts.jsonl": ("\n".join(map(json.dumps, PROMPTS)), NAMED, ()),
    "gpt2.jsonl": ("\n".join(map(json.dumps, PROMPTS)), (*NAMED, "--method", "gpt2"), ()),
    "iris.csv": (IRIS, how := ("--input", "length", "--input", "width", "--label", "species"), how),
    "iris.tsv": (IRIS.replace(";", "\t"), (*how, "--numeric", "tokens"), how),
    "tokens.jsonl": ('{"input": ["a", "b c"], "label": 1}\n', (), ()),
    "nested.json": (json.dumps({"a": {"b": PROMPTS}}), (*NAMED, "--records", "a.b"), ()),
}


@pytest.mark.parametrize("name", PIPED)
def test_standard_input_is_read_as_a_file_is(run, name):
    """With the options of the folder, as far as nothing of it is lost."""
    content, options, again = PIPED[name]
    path, form = file(name, content), name.rpartition(".")[2]
    assert run("compile", path, "-o", "m", *options)[0] == 0
    again = (*again, "--records", "a.b") if "--records" in options else again
    for given in dict.fromkeys([(), again]):
        for apart in ((), ("--checker",)):
            answers = []
            for data in ((path,), ("-", "--format", form)):
                code, output, _ = run(
                    "verify", "m", *data, *given, *apart, "--json", stdin=content.encode()
                )
                answer = json.loads(output)
                kept = ("verified", "holds", "failures", "reading_notes", "checker", "about")
                answers.append((code, {x: answer.get(x) for x in kept}, answer["reading"]))
            assert answers[1][:2] == answers[0][:2]
            assert answers[1][2] == answers[0][2] | {"format": form}
            assert given != again or code == 0
            if code:
                command = shlex.split(answer["verify"].removeprefix("byheart "))
                assert f"--format {form}" in " ".join(command[3:]) and not given
                assert run(*command, stdin=content.encode())[0] == 0


def test_tokens_that_a_folder_holds_come_through_a_pipe(run):
    """Its data.jsonl needs none of the options that made tokens of another file."""
    assert (
        run("compile", file("b.txt", "a b c"), "-o", "m", "--unit", "char", "--write-data")[0] == 0
    )
    with open("m/data.jsonl", "rb") as data:
        tokens = data.read()
    assert run("verify", "m", "-", "--format", "jsonl", stdin=tokens)[0] == 0
    code, _, errors = run("verify", "m", "-", stdin=tokens)
    assert code == 2 and "standard input: --format must say what it holds" in errors


def test_questions_and_items_come_through_a_pipe(run):
    path = file("facts.jsonl", "\n".join(map(json.dumps, PROMPTS)))
    assert run("compile", path, "-o", "m", *NAMED, "--editable")[0] == 0
    asked = b'{"input": ["The", " capital", " of", " Peru", " is"]}\n'
    assert run("recall", "m", "--file", "-", stdin=asked)[1] == "Lima\n"
    code, _, errors = run("recall", "m", "--file", "-", stdin=b"{}")
    assert (code, errors[:43]) == (2, 'byheart: standard input, line 1: no key "in')
    assert run("forget", "m", path, "--items", "-", "-o", "less", stdin=asked)[0] == 0
    edited = b'{"edit": "change", "input": "The capital of Peru is", "label": "Paris"}\n'
    assert run("edit", "m", path, "--edits", "-", "-o", "other", stdin=edited)[0] == 0
    assert run("recall", "other", "The capital of Peru is")[1] == "Paris\n"


def test_standard_input_is_read_once_for_all_who_ask(monkeypatch):
    """Whether it is text is found out by reading it, and then it is read again."""
    pairs = "\n".join(map(json.dumps, PROMPTS)).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(pairs)))
    for _ in range(2):
        assert len(byheart.load("-", format="jsonl", input="prompt", label="completion")) == 2
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(pairs)))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=100))
    for _ in range(2):  # a part of it is not all of it
        with pytest.raises(byheart.ByheartError, match="holds more than the 90 bytes"):
            byheart.load("-", format="jsonl", input="prompt", label="completion")


def test_the_first_rows_are_shown_as_they_are_understood(run):
    path = file("iris.csv", IRIS)
    how = ("--input", "length", "--input", "width", "--label", "species", "--show", 2)
    code, output, _ = run("stats", path, *how)
    assert code == 0 and '[[5.1, 3.5]]  ->  "setosa"' in output and 'delimiter ";"' in output
    shown = json.loads(run("stats", path, *how, "--json")[1])["shown"]
    assert [row["input"] for row in shown] == [[[5.1, 3.5]], [[4.9, 3.0]]]
    book = file("book.txt", "one two\n\n" + "word " * 40)
    output = " ".join(run("stats", book, "--show", 3)[1].split())
    assert '["one", " two"]' in output and "... 24 more]" in output
    evil = file("evil.csv", 'a,b\n"\x1b[2J",x\n')
    assert "\x1b" not in run("stats", evil, "--input", "a", "--label", "b", "--show", 1)[1]


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("d.csv", "a,b\n1,2\n", ("--input", "aa", "--label", "b"), 'did you mean "a"? the columns'),
        (
            "d.json",
            '{"n": 1, "rows": [{"a": "x", "b": "y"}, {"a": "z", "b": "w"}]}',
            (),
            "choose them with --records rows --input a --label b (2 contexts, 0 conflicts).",
        ),
        ("d.json", '{"n": 1, "rows": [{"input": "x", "label": 2}]}', (), "with --records rows."),
        ("d.json", '{"n": 1, "rows": [{"a": "x"}, 7]}', (), "choose them with --records rows."),
        ("d.json", '{"a": 1}\n{"a": 2}', (), "say so with --format jsonl."),
        ("d.csv", "a,b\n1,2\n", ("--delimiter", ""), "--delimiter must be characters such"),
        ("d.csv", "France,Paris\n", (), "are France, Paris (--header none if these are a row)."),
        ("d.csv", "a,b\n1,2\n", ("--empty", "drop"), "--empty must be one of refuse, skip, keep"),
        ("d.csv", "a,b\n1,2\n", ("--window", "2"), "--window is for documents"),
        ("d.xls", "x\0", (), "or --format must say what it holds."),
        ("d.py", "x = 1", ("--encoding", "base64"), "must be an encoding, such as cp1252"),
    ],
)
def test_bad_input_says_what_to_type(run, name, content, options, says):
    code, output, errors = run("stats", file(name, content), *options)
    assert (code, output) == (2, "") and says in errors and errors.count("\n") == 1


VERSE = (
    "Tiger, tiger, burning bright\n  In the forests\n\nTiger, tiger, burning low\n  In the woods\n"
)


def test_a_text_whose_paragraphs_begin_alike_compiles_at_the_second_command(run):
    """The first message holds the options of the second, and the text is recited with its lines."""
    path = file("verse.txt", VERSE)
    code, _, errors = run("compile", path, "-o", "verse.folder")
    assert code == 2 and "use --documents whole --window auto, which reads" in errors
    code, _, errors = run("compile", path, "-o", "verse.folder", "--window", "auto")
    assert code == 2 and "read a file as one text with --documents whole" in errors
    whole = ("--documents", "whole", "--window", "auto")
    assert run("compile", path, "-o", "verse.folder", *whole)[0] == 0
    code, output, _ = run("recall", "verse.folder", "Tiger", "--steps", 40)
    assert code == 0 and ("Tiger" + output).startswith(VERSE.rstrip("\n"))
    assert run("verify", "verse.folder", path)[0] == 0
    code, _, errors = run("compile", path, "-o", "cut.folder", "--length", 7)
    assert code == 2 and "--documents" not in errors  # what was asked for is not one text


def test_a_text_that_looks_like_a_table_is_noted(run):
    path = file("pairs.txt", "word\tmeaning\nHund\tdog\nKatze\tcat\n")
    code, output, _ = run("stats", path)
    assert code == 0 and "if this is a table, use --format tsv." in output
    assert "table" not in run("stats", file("prose.txt", "Yes, sir.\nNo, sir.\n"))[1]
    lines = file("list.txt", "a,b\n" * 3 + "c,d\n" * 3)
    assert "use --format csv." in run("stats", lines)[1]
