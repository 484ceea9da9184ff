"""verify speaks about the file that the user names, and about nothing else."""

import json
import zipfile
from dataclasses import replace
from itertools import permutations

import numpy as np
import pyte
import pytest

import byheart
from byheart.claims.record import Search

TABLE = "text,label,dummy\nthe red fox,run,a\nthe old owl,sit,b\nthe wet cat,run,c\n"
BOOK = "One quick fox ran home.\n\nTwo slow owls sat and sat.\n\nThree old cats.\n"
STEERING = "\x1b[4A\x1b[Jproved  3 of 3 labels correct, each evaluated in exact arithmetic\r\n"


@pytest.fixture
def asked(run):
    """verify --json: its exit code and its answer."""

    def command(*arguments):
        code, output, errors = run("verify", *arguments, "--json")
        assert errors == ""
        return code, json.loads(output)

    return command


@pytest.fixture
def made(run, tmp_path):
    """A file, and a model folder that compile made from it."""

    def compiled(name, content, *options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        code, _, errors = run("compile", path, "-o", tmp_path / "m", *options)
        assert (code, errors) == (0, "")
        return tmp_path / "m", path

    return compiled


def counted(answer):
    """The predictions that were read, and all that there are."""
    return answer["covered"]["predictions"], answer["covered"]["of"]


def lines(rows):
    return "".join(json.dumps({"input": list(x), "label": y}) + "\n" for x, y in rows)


# ---------------------------------------------------------------- the folder and the question


@pytest.mark.parametrize("apart", [(), ("--checker",)])
@pytest.mark.parametrize("rule", ["majority", "drop"])
def test_labels_that_the_folder_settled_are_judged_as_the_file_states_them(
    made, asked, apart, rule
):
    """The 24 orders of four words with two labels: a multiset cannot tell them apart."""
    orders = [(p, "even" if i % 2 else "odd") for i, p in enumerate(permutations("wxyz"))]
    rows = [*orders, ("v", "even")]
    folder, path = made("perm.jsonl", lines(rows), "--method", "deep-sets", "--on-conflict", rule)
    code, answer = asked(folder, path, *apart)
    assert (code, answer["holds"]) == (1, False)
    assert answer["verified"]["evidence"] in ("refuted", None)  # None: it reads shorter sequences
    expected = {"relabelled": 0, "dropped": 24}
    if rule == "majority":
        assert answer["verified"] == {"checked": 25, "correct": 13, "evidence": "refuted"}
        expected = {"relabelled": 12, "dropped": 0}
    assert answer["conflicts"] == expected
    assert answer["dataset"]["sequences"] == 25 and answer["dataset"]["labels"] == 2


def test_a_settled_model_holds_on_the_data_that_it_was_made_from(made, run):
    rows = [("ab", "x"), ("ab", "x"), ("ab", "y"), ("ba", "y")]
    options = ("--on-conflict", "majority", "--positions", "--write-data")
    folder, path = made("d.jsonl", lines(rows), *options)
    code, output, _ = run("compile", path, "-o", folder, *options, "--force")
    command = output.splitlines()[-1].removeprefix("check it: byheart ").split()
    assert command == ["verify", str(folder), str(folder / "data.jsonl")]
    assert run(*command)[0] == 0
    code, output, _ = run("verify", folder, path)
    assert code == 1 and output.startswith("refuted  3 of 4 labels correct")
    assert "after --on-conflict majority had changed 1 label " in " ".join(output.split())


def test_a_length_that_leaves_out_predictions_must_be_repeated(made, asked, run):
    folder, path = made("book.txt", BOOK, "--length", "4")
    code, answer = asked(folder, path)
    assert (code, answer["verified"]["evidence"]) == (1, None)
    assert counted(answer) == (9, 14)  # 6 + 7 + 4 tokens, 3 documents
    assert answer["reading"] == {"unit": "spaced", "documents": "blank", "length": 4}
    assert answer["failures"][0].startswith("5 of 14 predictions of the data were not read")
    code, output, _ = run("verify", folder, path)
    assert output.startswith("not settled  9 of 9 labels correct, but a part of the file was left")
    assert "proved" not in output
    command = output.splitlines()[-1].partition("byheart ")[2].split()
    assert command == ["verify", str(folder), str(path), "--length", "4"]
    assert command[3:] == (folder / "README.md").read_text().partition("DATA ")[2].split()[:2]
    code, output, _ = run(*command)
    assert code == 0 and "length 4: 9 of 14 predictions" in output
    assert asked(folder, path, "--length", "4", "--checker")[0] == 0
    assert asked(folder, path, "--checker")[0] == 1


def test_a_length_and_a_window_that_leave_out_nothing_need_not_be_repeated(made, asked):
    folder, path = made("book.txt", BOOK, "--length", "7", "--window", "3")
    code, answer = asked(folder, path)
    assert code == 0 and counted(answer) == (14, 14)
    assert answer["reading"]["window"] == 3


def test_rows_that_the_folder_cuts_are_counted(made, asked):
    options = ("--input", "text", "--label", "label")
    folder, path = made("t.csv", TABLE, *options, "--length", "2")
    code, answer = asked(folder, path, *options)
    assert code == 1 and counted(answer) == (0, 3)
    assert answer["failures"][0].startswith("3 of 3 rows of the data were not read in full")
    assert asked(folder, path, *options, "--length", "2")[0] == 0


def test_columns_that_only_the_folder_chose_are_not_accepted(made, asked):
    options = ("--input", "text", "--label", "dummy")
    folder, path = made("t.csv", TABLE, *options)
    code, answer = asked(folder, path)
    assert (code, answer["verified"]["evidence"]) == (1, None)
    assert answer["failures"][1:] == [
        "the model has the columns 'text' and 'dummy', and the data has others: 'label' "
        "(--input, --label)"
    ]
    assert asked(folder, path, *options)[0] == 0
    code, answer = asked(folder, path, "--input", "text", "--label", "label")
    assert (code, answer["verified"]["evidence"]) == (1, "refuted")


def test_columns_that_are_all_there_is_need_no_repeating(made, asked):
    rows = [line.split(",")[:2] for line in TABLE.splitlines()[1:]]
    table = "".join(json.dumps({"text": x, "answer": y}) + "\n" for x, y in rows)
    folder, path = made("t.jsonl", table, "--input", "text", "--label", "answer")
    assert asked(folder, path)[0] == 0


@pytest.mark.parametrize(("ending", "mark"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_a_row_that_the_folder_takes_for_names_must_be_accepted(made, asked, run, ending, mark):
    """The user's file has no names, and the first fact is lost."""
    table = "".join(line.rpartition(",")[0] + "\n" for line in TABLE.splitlines()[1:])
    table = table.replace(",", mark)
    named = ("--input", "the red fox", "--label", "run")
    folder, path = made(f"t.{ending}", table, *named)
    for apart in (), ("--checker",), ("--sample", "1", "--accept", "sampled"):
        code, answer = asked(folder, path, *apart)
        assert (code, answer["holds"], answer["verified"]["evidence"]) == (1, False, None)
        assert answer["failures"][0] == (
            "the first row of the data was not read: the model takes it for the names of columns "
            "(--header)"
        )
    for given in (named, ("--header", "first")):
        assert asked(folder, path, *given)[0] == 0
    assert "--input 'the red fox' --label run" in answer["verify"]
    assert not byheart.verify(folder, path).holds
    assert byheart.verify(folder, path, header="first").holds
    columns = ("--header", "none", "--input", "1", "--label", "2")
    assert asked(folder, path, *columns)[1]["verified"]["evidence"] == "refuted"
    folder, path = made(f"t.{ending}", table, *columns, "--force")
    assert asked(folder, path)[0] == 0  # nothing is left out
    folder, path = made(f"u.{ending}", f"input{mark}label\na b{mark}c\n", "--force")
    assert asked(folder, path)[0] == 0  # names in the words of every reader
    assert byheart.load(path).left_out == {}


def test_a_separator_that_hides_tokens_must_be_repeated(made, asked):
    ids = np.array([1, 2, 7, 1, 3, 7, 2, 4], "<u2").tobytes()
    folder, path = made(
        "ids.bin", ids, "--separator", "7", "--on-conflict", "drop", "--window", "1"
    )
    code, answer = asked(folder, path)
    assert code == 1
    assert answer["failures"][0].startswith("the token 7 was left out 2 times")


def test_a_separator_may_be_the_id_0(made, asked):
    ids = np.array([1, 2, 0, 3, 4, 0, 5, 6], "<u2").tobytes()
    folder, path = made("ids.bin", ids, "--separator", "0")
    assert asked(folder, path)[0] == 1 and asked(folder, path, "--separator", "0")[0] == 0


def test_a_tokenizer_that_a_folder_names_is_not_opened(made, run, tmp_path):
    folder, path = made("book.txt", BOOK)
    model = byheart.open(folder)
    loading = {"tokenizer": "/dev/zero", "documents": "blank"}
    replace(model, record=replace(model.record, loading=loading)).save(folder, force=True)
    code, output, errors = run("verify", folder, path)
    assert (code, output, errors.count("\n")) == (2, "", 1) and "--tokenizer" in errors
    assert run("verify", folder, path, "--unit", "word")[0] == 0


def test_verify_has_no_on_conflict(made, run):
    folder, path = made("d.jsonl", lines([("a", "x"), ("b", "y")]))
    code, _, errors = run("verify", folder, path, "--on-conflict", "majority")
    assert code == 2 and "on-conflict" in errors


def test_options_of_a_file_need_the_file(made, run):
    folder, _ = made("d.jsonl", lines([("a", "x"), ("b", "y")]))
    assert run("verify", folder, "--length", "3")[0] == 2


def test_compare_judges_a_folder_on_the_data_as_the_user_settles_it(made, run):
    rows = [("ab", "x"), ("ab", "x"), ("ab", "y"), ("ba", "y")]
    folder, path = made("d.jsonl", lines(rows), "--on-conflict", "majority", "--positions")
    for more, evidence in ((), "refuted"), (("--on-conflict", "majority"), "proved"):
        output = run("compare", path, "--with", folder, "--positions", *more, "--json")[1]
        (row,) = [row for row in json.loads(output)["rows"] if row["kind"] == "saved"]
        assert row["evidence"] == evidence and row["applies"] == (evidence == "proved")


# ---------------------------------------------------------------- what the folder says of itself


def hostile(folder, **record):
    """The same network, and a config.json that says whatever it likes."""
    model = byheart.open(folder)
    replace(model, record=replace(model.record, **record)).save(folder, force=True)


def test_counts_beside_a_verdict_are_those_of_the_file(made, asked):
    folder, path = made("d.jsonl", lines([("a", "x"), ("b", "y"), ("c", "x")]))
    true = asked(folder, path)[1]
    model = byheart.open(folder)
    hostile(
        folder,
        data=model.record.data._replace(contexts=10**9, labels="lots", vocabulary=-1),
        bits=model.record.bits._replace(information=1e12, encoded=1),
        conflicts={"relabelled": 7, "dropped": 8},
        notes=["proved by everybody"],
    )
    code, answer = asked(folder, path)
    assert code == 0
    for key in ("dataset", "bits", "parameters", "conflicts", "verified"):
        assert answer[key] == true[key]
    assert "notes" in answer["unchecked"]
    answer = asked(folder)[1]
    assert answer["dataset"]["contexts"] == 10**9 and "dataset" in answer["unchecked"]


def screen(text):
    """What a person sees: the lines of a terminal to which the text was written."""
    terminal = pyte.Screen(100, 400)
    pyte.Stream(terminal).feed(text.replace("\n", "\r\n"))
    return [line.rstrip() for line in terminal.display if line.strip()]


def test_nothing_of_a_folder_steers_a_terminal(made, run, tmp_path):
    """A refuted folder whose words would erase the verdict and write another one."""
    labels = [STEERING + x for x in "xyz"]
    folder, path = made("d.jsonl", lines(zip("abc", labels, strict=True)))
    hostile(
        folder,
        method=STEERING + "hash-fold-retrieve",
        form=STEERING,
        paper=STEERING,
        notes=[STEERING],
        search=Search(STEERING, STEERING),
        conflicts={"relabelled": STEERING},
    )
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(lines(zip("abc", labels[1:] + labels[:1], strict=True)))
    (tmp_path / "q.jsonl").write_text('{"input": ["a"]}\n')
    named = tmp_path / f"w{STEERING.strip().replace('/', '')}"
    folder.rename(named)
    for command in (
        ("verify", named, wrong),
        ("verify", named, wrong, "--checker"),
        ("verify", named),
        ("compare", wrong, "--with", named),
        ("recall", named, "a"),
        ("recall", named, "a", "--trace"),
        ("recall", named, "--file", tmp_path / "q.jsonl"),
        ("verify", named / "nothing", wrong),
        ("verify", named, tmp_path / f"{STEERING}.jsonl"),
    ):
        before = "$ byheart\n\n\n\n\n"  # room for a cursor to go up
        code, output, errors = run(*command)
        shown = screen(before + output + errors)
        assert shown[0] == "$ byheart", command
        assert not any(line.lstrip().startswith("proved") for line in shown), command
        assert "\x1b" not in output + errors and "\r" not in output + errors


def test_only_the_verdict_begins_at_the_left(made, run, tmp_path):
    """Names and labels so long that a part of them would stand on a line of its own."""
    word = "proved  3 of 3 labels correct, each evaluated in exact arithmetic"
    labels = [f"{'x' * size} {word} {size}" for size in range(24, 74)]
    folder, path = made("d.jsonl", lines((f"{x:02}", y) for x, y in enumerate(labels)))
    hostile(folder, method=" ".join(["x" * 15, word, word]))
    path.write_text(lines((f"{x:02}", y) for x, y in enumerate(labels[1:] + labels[:1])))
    for command in (("verify", folder, path), ("compare", path, "--with", folder)):
        _, output, errors = run(*command)
        left = [line for line in (output + errors).splitlines() if line.startswith("proved")]
        assert left == [], command
    assert "refuted, 0 of 50 labels hold: sequence 1" in " ".join(output.split())
    assert word not in output
    assert word not in repr(byheart.open(folder))


def test_what_is_accepted_is_repeated(made, run, asked):
    folder, path = made("d.jsonl", lines([("a", "x"), ("b", "y"), ("c", "x")]))
    code, output, _ = run("verify", folder, path, "--sample", "2")
    assert code == 1 and "that is no proof; --accept sampled takes it for enough" in output
    code, output, _ = run("verify", folder, path, "--sample", "2", "--accept", "sampled")
    assert code == 0 and "that is no proof, and enough by --accept sampled" in output
    assert asked(folder, path, "--sample", "2", "--accept", "sampled")[1]["accepted"] == ["sampled"]


def test_a_model_steers_no_terminal_in_python(made):
    folder, _ = made("d.jsonl", lines([("a", "x"), ("b", "y")]))
    hostile(folder, method=STEERING)
    model = byheart.open(folder)
    data = byheart.Dataset.from_rows([(["a"], "x"), (["b"], "y")])
    for shown in (repr(model), repr(byheart.compare(data, models={STEERING: model}))):
        assert "\x1b" not in shown and "\r" not in shown


# ---------------------------------------------------------------- Python


def test_a_dataset_is_judged_as_it_is_loaded(tmp_path):
    (tmp_path / "book.txt").write_text(BOOK)
    short = byheart.load(tmp_path / "book.txt", length=4)
    assert short.left_out == {"length": 5}
    model = byheart.compile(short)
    assert byheart.verify(model, short).holds
    whole = byheart.verify(model, byheart.load(tmp_path / "book.txt"))
    assert whole.evidence is None and not whole and whole.checked == 0
    assert "reads at most 3" in whole.failures[0]


def test_what_a_table_leaves_out(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    data = byheart.load(tmp_path / "t.csv", input="text", label="label", length=2)
    assert (data.left_out, data.unused) == ({"length": 3, "header": 1}, ("dummy",))


EXTRA = (
    '{"input": ["a", "b"], "label": "x", "id": 7}\n{"input": ["b"], "label": "y", "answer": "z"}\n'
)


@pytest.mark.parametrize("compiled", [EXTRA, lines([("ab", "x"), ("b", "y")])])
def test_keys_that_were_not_read_must_be_accepted(made, asked, run, tmp_path, compiled):
    folder, _ = made("d.jsonl", compiled)
    path = tmp_path / "extra.jsonl"
    path.write_text(EXTRA)
    for apart in (), ("--checker",):
        code, answer = asked(folder, path, *apart)
        assert (code, answer["holds"], answer["verified"]["evidence"]) == (1, False, None)
        assert answer["failures"][0] == (
            "the model has the columns 'input' and 'label', and the data has others: 'id', "
            "'answer' (--input, --label)"
        )
    output = run("verify", folder, path)[1]
    command = output.splitlines()[-1].partition("byheart ")[2].split()
    assert command[3:] == ["--input", "input", "--label", "label"]
    assert run(*command)[0] == 0


def test_a_count_among_keys_that_were_not_read_is_repeated(made, run):
    rows = '{"input": [1, 2], "label": 3, "count": 2, "id": 0}\n{"input": [2], "label": 1}\n'
    folder, path = made("d.jsonl", rows)
    output = run("verify", folder, path)[1]
    command = output.splitlines()[-1].partition("byheart ")[2].split()
    assert command[-2:] == ["--count", "count"]
    assert run(*command)[0] == 0


def test_a_file_of_very_many_keys_is_told_in_a_sentence(made, asked):
    row = {"input": ["a"], "label": "x", **dict.fromkeys(map(str, range(1000)), 0)}
    folder, path = made("d.jsonl", json.dumps(row) + "\n")
    code, answer = asked(folder, path)
    assert code == 1 and "and 980 more" in answer["failures"][0]


# ---------------------------------------------------------------- files that were not read


@pytest.fixture
def folder_of_texts(tmp_path):
    """A folder of two texts that are read and, on demand, of what is passed over."""

    def written(*others):
        texts = tmp_path / "texts"
        (texts / "more").mkdir(parents=True)
        (texts / "a.txt").write_text("One quick fox ran home.\n")
        (texts / "more" / "B.TXT").write_text("Two slow owls sat and sat.\n")
        for name in others:
            if name == "dangling.txt":
                (texts / name).symlink_to("nowhere.txt")
            elif name == "linked":
                (texts / name).symlink_to(texts / "more", target_is_directory=True)
            elif name == "leaving.txt":
                (texts.parent / "outside.txt").write_text("Of somebody else.\n")
                (texts / name).symlink_to(texts.parent / "outside.txt")
            elif name == "picture.png":
                (texts / name).write_bytes(b"Not\0text")
            else:
                (texts / name).parent.mkdir(exist_ok=True)
                (texts / name).write_text("Not read.\n")
        return texts

    return written


@pytest.mark.parametrize(
    "other",
    ["picture.png", "dangling.txt", "linked", "leaving.txt", "more/.hidden", ".git/config"],
)
def test_files_of_a_folder_that_were_not_read_must_be_accepted(
    folder_of_texts, run, asked, tmp_path, other
):
    texts, folder = folder_of_texts(other), tmp_path / "m"
    assert run("compile", texts, "-o", folder)[0] == 0
    code, answer = asked(folder, texts)
    assert (code, answer["verified"]["evidence"]) == (1, None)
    assert answer["failures"] == [
        f"1 file of the folder were not read: {other!r} (--include)".replace("were", "was")
    ]
    assert answer["covered"]["files"] == {"read": 2, "of": 3}
    assert answer["covered"]["bytes"]["read"] == 51 < answer["covered"]["bytes"]["of"]
    code, output, _ = run("verify", folder, texts)
    assert "2 of 3 files" in " ".join(output.split())
    words = output.splitlines()[-1].partition("byheart ")[2]
    assert words == f"verify {folder} {texts} --include '*'"
    assert f"1 file of the folder not read: {other}" in output
    assert run("verify", folder, texts, "--include", "*")[0] == 0
    assert asked(folder, texts, "--include", "*", "--checker")[0] == 0
    data = byheart.load(texts)
    assert data.unused == (other,) and data.left_out == {"files": 1} and not data.cut


def test_a_folder_of_texts_alone_needs_no_accepting(folder_of_texts, run, asked, tmp_path):
    texts = folder_of_texts()
    assert run("compile", texts, "-o", tmp_path / "m")[0] == 0
    code, answer = asked(tmp_path / "m", texts)
    whole = {"files": {"read": 2, "of": 2}, "bytes": {"read": 51, "of": 51}}
    assert code == 0 and answer["covered"] == {"predictions": 11, "of": 11, **whole}
    assert "include" not in answer["reading"]
    (texts / "late.md").write_text("x y")  # what came after the model counts as well
    assert asked(tmp_path / "m", texts)[0] == 1


def test_other_files_of_a_folder_can_be_read(folder_of_texts):
    texts = folder_of_texts("x.md", "y.MD")
    assert byheart.load(texts).unused == ()
    data = byheart.load(texts, include="*.md")
    assert data.loading["include"] == ["*.md"] and data.unused == ("a.txt", "more/B.TXT")
    assert byheart.load(texts, include="more/*.txt").unused == ("a.txt", "x.md", "y.MD")
    assert byheart.load(texts, include=["*.md", "a*"]).unused == ("more/B.TXT",)
    with pytest.raises(byheart.ByheartError, match="without \\*.rst files"):
        byheart.load(texts, include="*.rst")
    with pytest.raises(byheart.ByheartError, match="include=... does not apply here"):
        byheart.load(texts / "a.txt", include="*.txt")


def test_a_folder_of_an_earlier_version_names_files_by_one_pattern(folder_of_texts, tmp_path):
    texts = folder_of_texts("x.md")
    model = byheart.compile(byheart.load(texts, include="*.txt"))
    loading = {**model.record.loading, "files": "*.txt"}
    del loading["include"]
    model = replace(model, record=replace(model.record, loading=loading))
    assert not byheart.verify(model, texts).holds
    assert byheart.verify(model, texts, include="*.txt").holds


def test_at_most_twenty_files_are_named(folder_of_texts, run, asked, tmp_path):
    texts = folder_of_texts(*(f".{i:02}.md" for i in range(23)))
    assert run("compile", texts, "-o", tmp_path / "m")[0] == 0
    (sentence,) = asked(tmp_path / "m", texts)[1]["failures"]
    assert "'.19.md' and 3 more" in sentence and "'.20.md'" not in sentence


def test_a_file_is_counted_in_bytes(made, asked):
    folder, path = made("book.txt", BOOK)
    size = {"read": len(BOOK), "of": len(BOOK)}
    assert asked(folder, path)[1]["covered"]["bytes"] == size
    assert asked(folder, path)[1]["covered"]["files"] == {"read": 1, "of": 1}


def test_arrays_that_were_not_read_must_be_accepted(run, asked, tmp_path):
    arrays = {"inputs": np.array([[1, 2], [2, 1], [3, 3]]), "labels": np.array([0, 1, 0])}
    path, folder = tmp_path / "d.npz", tmp_path / "m"
    np.savez(path, **arrays, weights=np.ones(3), truth=np.array([1, 1, 1]))
    assert run("compile", path, "-o", folder)[0] == 0
    code, answer = asked(folder, path)
    assert (code, answer["verified"]["evidence"]) == (1, None)
    assert answer["failures"] == [
        "the model has the arrays 'inputs' and 'labels', and the data has others: 'weights', "
        "'truth' (--input, --label)"
    ]
    with zipfile.ZipFile(path) as archive:
        more = sum(archive.getinfo(f"{x}.npy").compress_size for x in ("weights", "truth"))
    size = path.stat().st_size
    assert answer["covered"]["bytes"] == {"read": size - more, "of": size}
    names = ("--input", "inputs", "--label", "labels")
    assert answer["verify"].endswith(" ".join(names))
    assert asked(folder, path, *names)[0] == 0
    assert asked(folder, path, *names, "--checker")[0] == 0
    assert asked(folder, path, "--input", "inputs", "--label", "truth")[0] == 1
    np.savez(path, **arrays)  # nothing else: as it was
    assert asked(folder, path)[0] == 0 and byheart.load(path).loading == {}
    pairs = [([1, 2], 0), ([2, 1], 1), ([3, 3], 0)]
    assert byheart.verify(folder, pairs).holds


def test_arrays_of_other_names_are_read(run, asked, tmp_path):
    path, folder = tmp_path / "d.npz", tmp_path / "m"
    np.savez(path, x=np.array([[1, 2], [2, 1]]), y=np.array([0, 1]))
    names = ("--input", "x", "--label", "y")
    assert run("compile", path, "-o", folder, "--write-data", *names)[0] == 0
    assert asked(folder, path, *names)[0] == 0
    assert asked(folder, folder / "data.jsonl")[0] == 0
    with pytest.raises(byheart.ByheartError, match="input=... and label=... say which"):
        byheart.load(path)
    with pytest.raises(byheart.ByheartError, match="several input=... do not apply to arrays"):
        byheart.load(path, input=["x", "y"], label="y")
    with pytest.raises(byheart.ByheartError, match="numeric='words' does not apply to arrays"):
        byheart.load(path, input="x", label="y", numeric="words")


# ---------------------------------------------------------------- what a text may differ in

ENDS, MARGINS = "line ends are read as \\n", "white space around documents is not read"


@pytest.mark.parametrize(
    ("change", "notes"),
    [
        (lambda text: text, []),
        (lambda text: text.rstrip("\n"), []),
        (lambda text: text.replace("\n", "\r\n"), [ENDS]),
        (lambda text: text.replace("\n", "\r"), [ENDS]),
        (lambda text: f"\n\n{text}", [MARGINS]),
        (lambda text: f"{text} \n\n", [MARGINS]),
        (lambda text: text.replace("\n\n", "\n\n\n"), []),
        (lambda text: text.replace("\n\n", "\n \n"), [MARGINS]),
        (lambda text: text.replace("\n\n", "\n\u3000\n", 1), [MARGINS]),
        (lambda text: f"  {text.replace('Two', '  Two')}".replace("\n", "\r\n"), [ENDS, MARGINS]),
    ],
)
def test_line_ends_and_outer_white_space_are_named(made, asked, run, change, notes):
    folder, path = made("book.txt", BOOK)
    path.write_bytes(change(BOOK).encode())
    code, answer = asked(folder, path)
    assert (code, answer["holds"], answer["reading_notes"]) == (0, True, notes)
    _, output, _ = run("verify", folder, path)
    assert [line for line in output.splitlines() if line.startswith("note: ")] == [
        f"note: {note}." for note in notes
    ]


def test_line_ends_in_cells_are_named(made, asked):
    """Those between rows are part of no cell."""
    table = 'input,label\n"one\ntwo",x\nthree,y\n'
    folder, path = made("table.csv", table)
    for text, notes in (
        (table, []),
        (table.replace("one\n", "one\r\n"), [ENDS]),
        (table.replace("one\n", "one\r"), [ENDS]),
    ):
        path.write_bytes(text.encode())
        code, answer = asked(folder, path)
        assert (code, answer["holds"], answer["reading_notes"]) == (0, True, notes)
    path.write_bytes(b"input,label\r\none,x\r\n")
    assert asked(folder, path)[1]["reading_notes"] == []


def test_white_space_that_is_a_token_is_no_margin(made, asked):
    folder, path = made("book.txt", "ab\n\ncd\n", "--unit", "char")
    path.write_text(" ab\n\ncd\n")
    code, answer = asked(folder, path)
    assert (code, answer["reading_notes"]) == (1, [])
    path.write_text("\nab\n\ncd\n\n")
    code, answer = asked(folder, path)
    assert (code, answer["reading_notes"]) == (0, [MARGINS])


def test_columns_that_are_not_claimed(made, run):
    """The first line says what holds, the last how to accept it; no folder accepts it by itself."""
    folder, path = made(
        "l.csv", "lemma,pos,stem\na,X,1\nb,Y,2\n", "--input", "lemma", "--label", "pos"
    )
    code, output, _ = run("verify", folder, path)
    first, *_, last = output.splitlines()
    assert code == 1
    assert first == "not settled  all 2 labels correct for lemma -> pos; stem is not claimed"
    words = last.partition("to accept that, run: byheart ")[2].split()
    code, output, _ = run(*words)
    assert code == 0 and output.startswith("proved  2 of 2 labels correct")
    path.write_text("lemma,pos,stem\na,X,1\nb,Z,2\n")
    code, output, _ = run("verify", folder, path)
    assert code == 1 and output.startswith("refuted")
