"""The verbs as functions: what they answer, and what they refuse without writing anything."""

import json
import math
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import byheart
from byheart.api.compile import compile_folder
from byheart.api.generate import generate
from byheart.api.recall import ask as ask_model
from byheart.api.recall import recall
from byheart.api.stats import stats
from byheart.api.verify import verify
from byheart.cli import main
from byheart.errors import AssumptionError, ByheartError, DisagreementError
from byheart.models import checker
from byheart.models.questions import from_file, from_line, from_words
from byheart.models.source import stored
from byheart.theory.kajitsuka2025.sizes import bit_extraction_parameters

ROOT = Path(__file__).resolve().parents[2]
CAPITALS = [
    (["capital", "of", "france"], "paris"),
    (["capital", "of", "italy"], "rome"),
    (["capital", "of", "japan"], "tokyo"),
    (["river", "of", "france"], "seine"),
    (["river", "of", "new york"], "hudson"),
]
KEYS = {
    "method", "form", "dataset", "parameters", "bits", "depth", "width", "seconds", "search",
    "verified", "conflicts", "notes", "failures",
}  # fmt: skip


def compiled(*arguments, **options):
    return compile_folder(*arguments, **options).json()


def verified(*arguments, **options):
    return verify(*arguments, **options).json()


def ask(model, questions, **options):
    return ask_model(model, questions, **options).json()["answers"]


def recalled(folder, words, steps=None, file=None):
    model = byheart.open(folder)
    questions = [from_words(model, words)] if file is None else file
    return recall(model, questions, steps=steps).json()["answers"]


def write(path, rows) -> Path:
    lines = [json.dumps({"input": tokens, "label": label}) for tokens, label in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="module")
def capitals(home):
    """A model of words with labels that are no tokens."""
    path = write(home / "capitals.jsonl", CAPITALS)
    answer = compiled(path, home / "capitals.model", write_data=True)
    return home / "capitals.model", path, answer


@pytest.fixture(scope="module")
def story(home):
    """A model of text with a window."""
    path = home / "story.txt"
    path.write_text("The fox kept a word. The word was small, and the fox kept it by heart\n")
    compiled(path, home / "story.model", loading={"window": "auto"})
    return home / "story.model", path


@pytest.fixture(scope="module")
def counting(home):
    """A model of numbers whose labels are numbers."""
    path = write(home / "counting.jsonl", [([n], n + 1) for n in range(-3, 4)])
    compiled(path, home / "counting.model")
    return home / "counting.model", path


@pytest.fixture(scope="module")
def points(home):
    """A model of vectors, made by generate."""
    path = home / "points.npz"
    generate("random", path, sequences=30, seed=1)
    compiled(path, home / "points.model")
    return home / "points.model", path


# ---------------------------------------------------------------- compile


def test_compile_answers_with_the_agreed_keys(capitals):
    answer = capitals[2]
    assert set(answer) == KEYS | {
        "editable",
        "verify",
        "reading",
        "reading_notes",
        "skipped",
        "disk",
    }
    assert (answer["reading"], answer["reading_notes"], answer["skipped"]) == ({}, [], 0)
    assert answer["dataset"] == {
        "sequences": 5, "contexts": 5, "labels": 5, "length": 3, "vocabulary": 7,
    }  # fmt: skip
    assert set(answer["parameters"]) == {"nonzero", "dense", "counted", "outside"}
    assert set(answer["bits"]) == {"total", "fixed", "encoded", "largest", "entropy", "information"}
    assert set(answer["seconds"]) == {"load", "build", "verify"}
    assert set(answer["search"]) == {"seed", "tries"}
    assert answer["verified"] == {"checked": 5, "correct": 5, "evidence": "proved"}
    json.dumps(answer, allow_nan=False)


def test_compile_refuses_an_existing_folder_before_it_reads_the_data(capitals, home):
    with pytest.raises(ByheartError, match="exists"):
        compiled(home / "not there.jsonl", capitals[0])


def test_force_replaces_a_model_and_nothing_else(capitals, home):
    target = home / "forced.model"
    compiled(capitals[1], target)
    compiled(capitals[1], target, force=True, seed=3)
    assert byheart.open(target).record.search.seed == 3
    (home / "letters").mkdir()
    (home / "letters" / "letter.txt").write_text("dear fox")
    with pytest.raises(ByheartError, match="holds no byheart model"):
        compiled(capitals[1], home / "letters", force=True)
    assert (home / "letters" / "letter.txt").read_text() == "dear fox"


@pytest.mark.parametrize(
    "options, match",
    [
        ({"method": "magic"}, "no method"),
        ({"form": "magic"}, "one form"),
        ({"method": "embedding", "form": "magic"}, "not 'magic'"),
        ({"method": "deep-sets", "positions": True}, "not take positions=..."),
        ({"method": "seq2seq"}, "a sequence has one label"),
        ({"attention": "magic"}, "attention"),
        ({"sample": 0}, "sample"),
        ({"minimise": "time"}, "minimise"),
        ({"reject_unknown": 99}, "reject_unknown must be"),
        ({"on_conflict": "guess"}, "on_conflict"),
        ({"loading": {"window": 3}}, "is for documents"),
    ],
)
def test_compile_refuses_bad_options_and_writes_nothing(capitals, tmp_path, options, match):
    with pytest.raises(ByheartError, match=match):
        compiled(capitals[1], tmp_path / "m", **options)
    assert list(tmp_path.iterdir()) == []


def test_label_lists_and_empty_sequences(tmp_path):
    """compile counts labels, verify and recall agree, majority settles conflicts of tokens."""
    tags = [(["a", "b"], ["x", "y"]), (["b", "a"], ["y", "z"]), (["b", "a"], ["y", "z"])]
    path = write(tmp_path / "tags.jsonl", tags)
    with pytest.raises(AssumptionError, match="A1 fails.*token 'a'.*positions=True"):
        compiled(path, tmp_path / "m", positions=False)
    with pytest.raises(AssumptionError, match="cannot leave out single tokens"):
        compiled(path, tmp_path / "m", on_conflict="drop", positions=False)
    how = {"on_conflict": "majority", "write_data": True, "positions": False}
    answer = compiled(path, tmp_path / "m", **how)
    assert answer["verified"] == {"checked": 6, "correct": 6, "evidence": "proved"}
    assert (answer["method"], answer["dataset"]["contexts"]) == ("seq2seq", 2)
    for file, evidence in ((path, "refuted"), (tmp_path / "m" / "data.jsonl", "proved")):
        for apart in (False, True):
            found = verified(tmp_path / "m", file, checker=apart)
            assert found["verified"]["evidence"] == evidence
    assert recalled(tmp_path / "m", ["a", "b"])[0]["label"] == ["z", "y"]
    sets = write(tmp_path / "sets.jsonl", [([], 1), (["a"], 2), (["a", "b"], 1), (["b", "a"], 2)])
    with pytest.raises(AssumptionError, match="use method='deep-sets'"):
        compiled(sets, tmp_path / "s")
    options = {"method": "deep-sets", "on_conflict": "drop", "write_data": True}
    answer = compiled(sets, tmp_path / "s", **options)
    assert (answer["method"], answer["verified"]["checked"]) == ("deep-sets", 2)
    assert verified(tmp_path / "s", tmp_path / "s" / "data.jsonl")["holds"]
    (tmp_path / "q.jsonl").write_text('{"input": []}\n{"input": ["a"]}\n')
    found = recalled(tmp_path / "s", [], file=tmp_path / "q.jsonl")
    assert [a["label"] for a in found] == [1, 2]


def test_compile_names_a_folder_that_is_missing(capitals, tmp_path):
    with pytest.raises(ByheartError, match="not a directory"):
        compiled(capitals[1], tmp_path / "no" / "m")


def test_conflicts_are_refused_or_settled_and_verify_says_so(tmp_path):
    rows = [(["a", "b"], "x"), (["a", "b"], "x"), (["a", "b"], "y"), (["b", "a"], "z")]
    path = write(tmp_path / "d.jsonl", rows)
    with pytest.raises(AssumptionError, match="A1"):
        compiled(path, tmp_path / "m")
    for rule, sequences in (("majority", 4), ("drop", 1)):
        target = tmp_path / rule
        compiled(path, target, on_conflict=rule, positions=True, write_data=True)
        for apart in (False, True):
            found = verified(target, target / "data.jsonl", checker=apart)
            expected = {"checked": sequences, "correct": sequences, "evidence": "proved"}
            assert found["verified"] == expected
            found = verified(target, path, checker=apart)  # x, x, y and z, as the file states it
            correct, settled = {"majority": (3, 1), "drop": (1, 3)}[rule]
            assert found["verified"] == {"checked": 4, "correct": correct, "evidence": "refuted"}
            assert sum(found["conflicts"].values()) == settled


# ---------------------------------------------------------------- verify


def test_verify_without_data_checks_no_label(capitals):
    answer = verified(capitals[0])
    assert set(answer) == KEYS | {"holds", "accepted", "unchecked"} and answer["holds"]
    assert {"dataset", "conflicts", "method"} <= set(answer["unchecked"])
    assert answer["verified"] == {"checked": 0, "correct": 0, "evidence": None}
    assert answer["failures"] == []


@pytest.mark.parametrize("engine", ["auto", "exact"])
def test_verify_proves(capitals, engine):
    answer = verified(capitals[0], capitals[1], engine=engine)
    assert answer["verified"] == {"checked": 5, "correct": 5, "evidence": "proved"}


def test_verify_loads_text_with_the_options_of_the_model(story):
    for apart in (False, True):
        assert verified(*story, checker=apart)["verified"]["evidence"] == "proved"


def test_a_sample_is_no_proof(points):
    for apart in (False, True):
        answer = verified(*points, sample=7, checker=apart)
        assert answer["verified"] == {"checked": 7, "correct": 7, "evidence": "sampled"}


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [*rows[:4], (rows[4][0], "thames")],  # another label
        lambda rows: rows[:4],  # a missing item
        lambda rows: [*rows, (["river", "of", "japan"], "shinano")],  # an unknown label
        lambda rows: rows[::-1],  # the same items in another order
        lambda rows: [([1, 2], "paris")],  # other tokens
        lambda rows: [(["a"] * 9, "paris")],  # longer than the network reads
        lambda rows: [*rows, (rows[0][0], "rome")],  # a conflict
    ],
)
def test_other_data_does_not_hold(capitals, tmp_path, change, apart):
    """It is refuted; or not checked, where the network cannot even be asked about it."""
    path = write(tmp_path / "other.jsonl", change(CAPITALS))
    answer = verified(capitals[0], path, checker=apart)
    evaluated = answer["verified"]["checked"] > 0
    assert answer["verified"]["evidence"] == ("refuted" if evaluated else None)
    assert answer["failures"] and not answer["holds"]


@pytest.mark.parametrize(
    "options, match",
    [({"engine": "magic"}, "engine"), ({"sample": 0}, "sample"), ({"sample": 3}, "needs the data")],
)
def test_verify_refuses_bad_options(capitals, options, match):
    with pytest.raises(ByheartError, match=match):
        verified(capitals[0], None if "needs" in match else capitals[1], **options)


def test_a_changed_folder_disagrees(capitals, tmp_path):
    for file in capitals[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    words = (tmp_path / "vocabulary.json").read_text()
    (tmp_path / "vocabulary.json").write_text(words.replace("paris", "milan"))
    with pytest.raises(DisagreementError):
        verified(tmp_path)


def test_the_checker_refuses_what_it_cannot_read(capitals, tmp_path):
    (tmp_path / "bad.jsonl").write_text("{")
    with pytest.raises(ByheartError, match="not valid JSON"):
        verified(capitals[0], tmp_path / "bad.jsonl", checker=True)


def test_stored_options_are_not_trusted(story):
    """They are notes: what no option can be is left out, whatever else it is."""
    model = byheart.open(story[0])
    before, (answer,) = stored(model), ask(model, [["The"]])
    strange = {"tokenizer": 3, "dtype": ["uint16"], "separator": True, "x": 1}
    loading = {**model.record.loading, **strange}
    model = replace(model, record=replace(model.record, loading=loading))
    assert stored(model) == before and ask(model, [["The"]]) == [answer]


@pytest.mark.slow
def test_a_wheel_holds_the_book_and_the_checker(tmp_path):
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", tmp_path, ROOT]
    )
    assert built.returncode == 0
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    for name in ("byheart/data/book.txt", "byheart_checker/check.py", "byheart/cli/app.py"):
        assert name in names


def test_the_checker_is_found():
    assert checker.script().name == "check.py"


# ---------------------------------------------------------------- recall


def test_recall_answers(capitals):
    answers = recalled(capitals[0], ["capital", "of", "italy"])
    assert answers == [
        {
            "input": ["capital", "of", "italy"],
            "label": "rome",
            "known": None,
            "probabilities": None,
            "note": None,
        }
    ]


def test_a_word_outside_the_vocabulary_is_not_known(capitals):
    (answer,) = recalled(capitals[0], ["capital", "of", "mars"])
    assert (answer["label"], answer["known"]) == (None, False)


def test_arguments_are_split_unless_they_are_tokens(capitals):
    model = byheart.open(capitals[0])
    assert from_words(model, ["capital of", "italy"]) == ["capital", "of", "italy"]
    assert from_words(model, ["river", "of", "new york"]) == ["river", "of", "new york"]
    assert from_line(model, '["river", "of", "new york"]') == ["river", "of", "new york"]
    assert ask(model, [["river", "of", "new york"]])[0]["label"] == "hudson"


def test_text_is_cut_as_the_data_was(story):
    model = byheart.open(story[0])
    assert from_line(model, "small, and the") == ["small", ",", " and", " the"]
    assert ask(model, [from_line(model, "word was small, and the")])[0]["label"] == " fox"


def test_steps_recite_until_nothing_follows(story):
    answers = recalled(story[0], ["The"], 100)
    said = "".join(["The", *(answer["label"] for answer in answers)])
    assert said == "The fox kept a word. The word was small, and the fox kept it by heart"
    assert len(recalled(story[0], ["The"], 4)) == 4


def test_steps_of_numbers(counting):
    model = byheart.open(counting[0])
    assert [a["label"] for a in ask(model, [[-2]], steps=4)] == [-1]  # two tokens are too long
    assert ask(model, [from_words(model, ["-2"])])[0]["label"] == -1


def test_vectors_are_lists(points):
    model = byheart.open(points[0])
    expected = [[1, 2], [3, 4]]
    assert from_line(model, "[1, 2] [3, 4]") == expected
    assert from_line(model, "[[1, 2], [3, 4]]") == expected
    assert from_words(model, ["[1,2]", "[3,4]"]) == expected
    assert from_line(model, "[1, 2]") == [[1, 2]]


def test_numbers_apart_are_the_coordinates_of_vectors(points):
    """As the columns of a table stand there."""
    model = byheart.open(points[0])
    assert from_words(model, ["1", "2.5"]) == [[1, 2.5]]
    assert from_line(model, "1, 2, 3, 4") == [[1, 2], [3, 4]]
    with pytest.raises(ByheartError, match="lists of numbers"):
        from_words(model, ["1", "2", "3"])


def test_the_checker_gets_a_file_whose_extension_is_in_capitals(capitals, tmp_path):
    loud = tmp_path / "CAPITALS.JSONL"
    loud.write_bytes(capitals[1].read_bytes())
    answer = verified(capitals[0], loud, checker=True)
    assert answer["holds"] and not answer["copied"]


@pytest.mark.parametrize(
    "line, match",
    [
        ('{"input": ["a"], "input": ["b"]}', "'input' stands twice"),
        ('\ufeff{"input": ["a"]}', "a byte order mark"),
        ('{"input": [NaN]}', "reads strings, not NaN"),
    ],
)
def test_questions_are_read_as_strictly_as_data(capitals, tmp_path, line, match):
    (tmp_path / "q.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ByheartError, match=f"line 1: .*{match}"):
        from_file(byheart.open(capitals[0]), tmp_path / "q.jsonl")


def test_a_file_of_questions(capitals, tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text('{"input": ["capital", "of", "japan"]}\n\n["river", "of", "france"]\n')
    answers = recalled(capitals[0], [], file=file)
    assert [answer["label"] for answer in answers] == ["tokyo", "seine"]


@pytest.mark.parametrize(
    "text, match",
    [
        ("{", "line 1: not JSON"),
        ('["a"]\n{"inputs": []}', 'line 2: no key "input"'),
        ('{"input": "a"}', "a list of tokens"),
        ('{"input": [1]}', "reads strings"),
        ("\udcff", "UTF-8"),
    ],
)
def test_bad_questions_are_refused(capitals, tmp_path, text, match):
    file = tmp_path / "questions.jsonl"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ByheartError, match=match):
        from_file(byheart.open(capitals[0]), file)


@pytest.mark.parametrize(
    "question, options, match",
    [
        (["capital", "of", "france", "of"], {}, "1 to 3 tokens"),
        (["capital"], {"steps": 0}, "steps"),
        ([], {"file": Path("nowhere.jsonl")}, "cannot be read"),
    ],
)
def test_recall_refuses(capitals, question, options, match):
    with pytest.raises(ByheartError, match=match):
        recalled(capitals[0], question, options.get("steps"), options.get("file"))


@pytest.mark.parametrize("words", [["x"], ["nan"], ["inf"], ["9" * 30], ["[true]"], ["1", "2"]])
def test_what_is_no_number_is_refused(counting, words):
    model = byheart.open(counting[0])
    with pytest.raises(ByheartError):
        ask(model, [from_words(model, words)])


def test_steps_need_labels_that_are_tokens(points):
    model = byheart.open(points[0])
    with pytest.raises(ByheartError, match="labels are tokens"):
        ask(model, [[[1, 2]]], steps=2)


# ---------------------------------------------------------------- data, methods, bounds


def test_generate_and_stats(tmp_path):
    path = tmp_path / "d.jsonl"
    answer = generate("random", path, sequences=50, labels=3, skew="zipf")
    assert (answer.sequences, answer.options["skew"]) == (50, "zipf")
    found = stats(path).json()
    assert found["sequences"] == 50 and found["conflicts"]["multisets"] == 0
    with pytest.raises(ByheartError, match="exists"):
        generate("random", path)
    assert generate("random", path, sequences=9, force=True).sequences == 9


@pytest.mark.parametrize(
    "kind, name, options",
    [
        ("magic", "d.jsonl", {}),
        ("random", "d.doc", {}),
        ("random", "d.jsonl", {"sequences": 0}),
        ("random", "d.jsonl", {"sequences": 5, "skew": "odd"}),
        ("random", "no/d.jsonl", {"sequences": 5}),
    ],
)
def test_generate_refuses_and_writes_nothing(tmp_path, kind, name, options):
    with pytest.raises(ByheartError):
        generate(kind, tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_methods_have_a_row_each():
    rows = byheart.methods().json()["rows"]
    assert "hash-fold-retrieve" in [row["method"] for row in rows]
    for row in rows:
        assert set(row) == {"method", "form", "paper", "item", "assumptions", "guarantee"}


@pytest.mark.parametrize(
    "sequences, nonzero",
    [
        (10**2, 7_760),
        (10**3, 26_396),
        (10**4, 92_504),
        (10**5, 311_174),
        (10**6, 1_048_811),
    ],
)
def test_the_paper_s_construction_has_the_measured_size(sequences, nonzero):
    radius = 2 * math.sqrt(2 * sequences)
    assert bit_extraction_parameters(sequences, 4, 2, 2, radius) == nonzero


def test_the_paper_s_construction_at_larger_sizes():
    for sequences, nonzero in ((10**7, 3.513e6), (10**9, 38.85e6)):
        found = bit_extraction_parameters(sequences, 4, 2, 2, 2 * math.sqrt(2 * sequences))
        assert found == pytest.approx(nonzero, rel=1e-3)


def test_compile_says_what_became_of_conflicts(tmp_path):
    rows = [(["a"], 1), (["a"], 1), (["a"], 2), (["b"], 2), (["c"], 1)]
    path = write(tmp_path / "d.jsonl", rows)
    majority = compiled(path, tmp_path / "m", on_conflict="majority")
    assert majority["conflicts"] == {"relabelled": 1, "dropped": 0}
    assert verified(tmp_path / "m", path)["conflicts"] == {"relabelled": 1, "dropped": 0}
    dropped = compiled(path, tmp_path / "n", on_conflict="drop")
    assert dropped["conflicts"] == {"relabelled": 0, "dropped": 3}
    whole = compiled(write(tmp_path / "e.jsonl", rows[3:]), tmp_path / "o")
    assert whole["conflicts"] == {"relabelled": 0, "dropped": 0}


GOOD = sorted((ROOT / "checker/examples/good").iterdir())


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_folders_with_only_what_the_format_asks_for_are_shown(path, capsys):
    """Their config.json has no counts of the data: the table leaves them open."""
    assert main(["verify", str(path), str(path / "data.jsonl")]) == 0
    assert capsys.readouterr().out.startswith("proved  ")
