"""The command line with methods that store distributions: what is shown, and what is refused."""

import json
import math
import sys
from pathlib import Path

import pytest

import byheart
from byheart.api.demo import BOOK
from byheart.api.summary import summarise
from byheart.claims.answer import Answer
from byheart.claims.claim import Distributions
from byheart.claims.verification import Fit, Verification
from byheart.cli import main, recall
from byheart.constructions import ALL
from byheart.softmax.show import facts, fit_rows
from byheart.views.model import verdict
from byheart.views.recall import likely

TEXT = "The fox kept a word.\nThe fox ran home.\nThe owl kept a secret.\nA fox is no owl.\n"
LENGTH = ("--length", "5")
OPTIONS = (*LENGTH, "--method", "one-layer")
KEYS = {
    "method", "form", "dataset", "parameters", "bits", "depth", "width", "seconds", "search",
    "verified", "conflicts", "notes", "failures", "gap", "divergence", "loss", "accuracy",
    "predictions",
}  # fmt: skip


@pytest.fixture(scope="module")
def fox(tmp_path_factory):
    """A folder with a text and a model of it."""
    home = tmp_path_factory.mktemp("decoder")
    (home / "fox.txt").write_text(TEXT)
    assert main(["compile", str(home / "fox.txt"), "-o", str(home / "m"), *OPTIONS]) == 0
    return home / "m", home / "fox.txt"


def refused(result):
    code, output, errors = result
    return (code, output, errors.count("\n")) == (2, "", 1) and errors.startswith("byheart: ")


# ---------------------------------------------------------------- compile and verify


def test_compile_shows_the_fit_beside_the_bounds(run, fox, tmp_path):
    code, output, errors = run("compile", fox[1], "-o", tmp_path / "m", *OPTIONS)
    assert (code, errors) == (0, "")
    for name in ("contexts", "parameters", "gap", "divergence", "loss", "perplexity", "accuracy"):
        assert f"\n{name} " in output
    assert "entropy bound" in output and "proved" in output
    assert "13 of 13 contexts within the gap, each by a rigorous bound" in output
    assert "labels" not in output


def test_the_keys_and_what_they_say(run, fox):
    code, output, _ = run("verify", *fox, *LENGTH, "--json")
    answer = json.loads(output)
    more = {"reading", "reading_notes", "covered", "holds", "accepted", "unchecked"}
    assert code == 0 and set(answer) == KEYS | more
    assert answer["covered"].items() >= {"predictions": 16, "of": 19}.items()
    assert answer["verified"] == {"checked": 13, "correct": 13, "evidence": "proved"}
    assert answer["dataset"]["contexts"] == 13 and answer["predictions"] == 16
    assert 0 < answer["divergence"]["mean"] <= answer["divergence"]["max"] <= answer["gap"] == 1e-9
    # The is followed by fox, fox, owl; The fox by kept and ran: nothing else is open
    entropy = -(2 * math.log(2 / 3) + math.log(1 / 3) + 2 * math.log(1 / 2))
    assert answer["loss"]["entropy"] == pytest.approx(entropy, rel=1e-12)
    above = answer["loss"]["total"] - answer["loss"]["entropy"]
    assert above == pytest.approx(16 * answer["divergence"]["mean"], rel=1e-4)
    assert answer["accuracy"] == 14 / 16


def test_without_data_there_is_no_fit(run, fox):
    answer = json.loads(run("verify", fox[0], "--json")[1])
    assert set(answer) == KEYS | {"holds", "accepted", "unchecked"} and answer["gap"] == 1e-9
    assert all(answer[key] is None for key in ("divergence", "loss", "accuracy", "predictions"))
    code, output, _ = run("verify", fox[0])
    assert code == 0 and "no distribution was checked" in output and "perplexity" not in output


def test_no_time_to_prove_is_observed(run, fox, tmp_path):
    for arguments in (
        ("verify", *fox, *LENGTH, "--accept", "observed"),
        ("compile", fox[1], "-o", tmp_path / "m", *OPTIONS),
    ):
        code, output, _ = run(*arguments, "--prove-limit", "0")
        assert code == 0 and "proved" not in output
        said = " ".join(output.split())
        assert (
            "13 of 13 contexts within the gap in a float run at two batch sizes: not a proof"
            in said
        )
    assert json.loads(run("verify", tmp_path / "m", "--json")[1])["verified"]["evidence"] is None
    assert "--length 5 --accept observed" in output.splitlines()[-1]  # of compile
    code, output, _ = run("verify", *fox, *LENGTH, "--prove-limit", "0", "--json")
    answer = json.loads(output)
    assert answer["verified"]["evidence"] == "observed" and (code, answer["holds"]) == (1, False)
    output = run("verify", *fox, *LENGTH, "--prove-limit", "0")[1]
    assert "that is no proof; --accept observed takes it for enough" in output


def test_a_sample_of_contexts_is_an_audit(run, fox):
    sample = ("--sample", "4")
    assert run("verify", *fox, *LENGTH, *sample)[0] == 1
    code, output, _ = run("verify", *fox, *LENGTH, *sample, "--accept", "sampled")
    assert code == 0 and "sampled" in output
    said = (
        "4 of 4 contexts within the gap, each by a rigorous bound; 13 in all: a sample, not a proof"
    )
    assert said in " ".join(output.split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TEXT.replace("ran home", "ran away"), "' away', which is not in the model's vocabulary"),
        (TEXT.replace("owl kept a", "owl ran a"), "hash differs"),
        (TEXT + "A fox\n", "sequences"),
        (TEXT.replace("home.\n", "home."), "the data has 12 sequences, the model was made from 16"),
        (
            TEXT.replace("The owl", "A owl"),
            "context ['The']: the divergence is at least 0.405 nats",
        ),
    ],
)
def test_other_data_is_refuted(run, fox, tmp_path, text, says):
    path = tmp_path / "other.txt"
    path.write_text(text)
    code, output, errors = run("verify", fox[0], path, "--json")
    answer = json.loads(output)
    evidence = None if "vocabulary" in says else "refuted"  # nothing can be asked
    assert (code, errors) == (1, "") and answer["verified"]["evidence"] == evidence
    assert any(says in failure for failure in answer["failures"]), answer["failures"]
    code, output, errors = run("verify", fox[0], path)
    assert (code, errors) == (1, "") and (evidence or "not checked") in output


def test_other_kinds_of_data_are_refuted(run, fox, tmp_path):
    for line, says in (
        ('{"input": [1, 2], "label": 3}', "reads string tokens"),
        ('{"input": ["A"], "label": ["fox"]}', "one for every token"),
        ('{"input": ["A", "A", "A", "A", "A"], "label": "fox"}', "at most 4 tokens"),
    ):
        (tmp_path / "d.jsonl").write_text(line)
        code, output, _ = run("verify", fox[0], tmp_path / "d.jsonl", "--json")
        assert code == 1 and says in json.loads(output)["failures"][0]


def test_the_options_reach_the_network(run, fox, tmp_path):
    options = ("--dimension", "3", "--heads", "2", "--head-dimension", "4", "--skip")
    options += ("--activation", "tanh", "--gap", "1e-6", "--seed", "2")
    code, *_ = run("compile", fox[1], "-o", tmp_path / "m", *OPTIONS, *options)
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    found = config["decoder"]
    assert code == 0 and found["dimension"] == 3 and found["heads"] == 2 and found["skip"] is True
    assert found["key_dimension"] == 4 and found["activation"] == "tanh"
    answer = json.loads(run("verify", tmp_path / "m", fox[1], "--json")[1])
    assert answer["gap"] == 1e-6 and 1e-8 < answer["divergence"]["max"] <= 1e-6


def test_the_options_reach_attention_alone(run, tmp_path):
    """A user's file with words: compiled, asked, and checked by the independent checker."""
    pairs = {"new york": "usa", "rome": "italy", "york": "uk", "new delhi": "india"}
    rows = [json.dumps({"input": k.split(), "label": v}) for k, v in pairs.items()]
    (tmp_path / "pairs.jsonl").write_text("\n".join(rows))
    options = ("--method", "attention-only", "--tight", "--dimension", "2", "--encoder", "circle")
    code, *_ = run("compile", tmp_path / "pairs.jsonl", "-o", tmp_path / "m", *options)
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert code == 0 and config["decoder"]["heads"] == 1 and config["decoder"]["neurons"] == 0
    assert config["options"]["tight"] is True and config["options"]["encoder"] == "circle"
    assert run("recall", tmp_path / "m", "new", "delhi")[1] == "india\n"
    assert run("verify", tmp_path / "m", tmp_path / "pairs.jsonl", "--checker")[0] == 0


@pytest.mark.parametrize("construction", ALL, ids=lambda c: f"{c.name}-{c.form}")
def test_help_has_the_options_of_the_method_that_is_named(run, construction):
    """All of them and no others; without a method, only those that all methods share."""
    named = run("compile", "--method", construction.name, "--help")[1]
    both = {name for c in ALL if c.name == construction.name for name in c.options()}
    panel = named.partition(f"Options of {construction.name}")[2]
    for name in {name for c in ALL for name in c.options()}:
        assert (f"--{name.replace('_', '-')} " in panel) == (name in both), name
    shared = run("compile", "--help")[1]
    assert "Options of" not in shared and "--prove-limit" in shared and "--gap" not in shared


def test_methods_lists_the_options_of_one(run):
    code, output, _ = run("methods", "limited-bits")
    assert code == 0 and output.count("--bits") == 2 and "--separation" in output
    rows = json.loads(run("methods", "one-layer", "--json")[1])["rows"]
    gap = next(option for option in rows[0]["options"] if option["name"] == "gap")
    assert gap["type"] == "float" and gap["default"] is None and gap["help"].endswith(".")
    assert run("methods", "magic")[0] == 2


def test_an_infinite_divergence_is_null():
    """JSON knows no infinity, and a table needs none."""
    fit = Fit(math.inf, math.inf, math.inf, 3.0, 0.5, 10)
    found = facts(Distributions(1e-9), Verification(1, 0, "refuted", "", (), fit))
    assert found["divergence"] == {"mean": None, "max": None}
    assert found["loss"] == {"total": None, "entropy": 3.0}
    model = byheart.compile([("a", "b"), ("b", "a")], "one-layer")
    infinite = Verification(1, 0, "refuted", "", (), fit)
    assert fit_rows(model.claim.gap, infinite) == []


def test_a_refuted_model_says_how_many_hold():
    model = byheart.compile([("a", "b"), ("b", "a")], "one-layer")
    summary = summarise(model, Verification(10, 7, "refuted", "", ("x",)), {})
    assert verdict(summary).plain == "refuted  7 of 10 contexts within the gap"


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("one\ntwo\n", (), "no document of two tokens"),
        ("", (), "is empty"),
        ("a a a\na a\n", ("--unit", "wordpunct"), "needs two different tokens"),
        (TEXT, ("--length", "1"), "length must be an integer of 2 or more"),
        (TEXT, ("--gap", "0"), "--gap must be a number from 1e-15 to 10"),
        (TEXT, ("--gap", "1e-300"), "--gap must be a number from 1e-15"),
        (TEXT, ("--gap", "nan"), "--gap must be a number from 1e-15 to 10"),
        (TEXT, ("--gap", "-1"), "--gap must be a number from 1e-15 to 10"),
        (TEXT, ("--gap", "x"), "--gap"),
        (TEXT, ("--dimension", "0"), "dimension must be an integer from 1"),
        (TEXT, ("--dimension", "1.5"), "--dimension"),
        (TEXT, ("--heads", "0"), "heads must be an integer from 1"),
        (TEXT, ("--head-dimension", "-3"), "head-dimension must be an integer from 1"),
        (
            TEXT,
            ("--method", "one-layer-smooth", "--neurons", "0"),
            "neurons must be an integer from 1",
        ),
        (TEXT, ("--activation", "relu"), "activation must be logistic"),
        (TEXT, ("--prove-limit", "nan"), "--prove-limit must be a number of seconds"),
        (TEXT, ("--prove-limit", "-1"), "--prove-limit must be a number of seconds"),
        (TEXT, ("--minimise", "bits"), "does not take --minimise"),
        (TEXT, ("--bits", "9"), "does not take --bits"),
        (TEXT, ("--reject-unknown", "9"), "does not take --reject-unknown"),
        (TEXT, ("--on-conflict", "majority"), "does not take --on-conflict"),
        (TEXT, ("--dimension", "1000000", "--heads", "1000"), "bytes of memory"),
        (TEXT, ("--epsilon", "0.1"), "does not take --epsilon"),
        (TEXT, ("--tight",), "does not take --tight; these do: attention-only"),
        (
            TEXT,
            ("--method", "attention-only", "--encoder", "square"),
            "encoder must be circle, look-up or optimal",
        ),
        (TEXT, ("--method", "attention-only", "--heads", "1"), "A3 fails: 1 heads"),
        (
            TEXT,
            ("--method", "attention-only-approximate", "--epsilon", "1"),
            "epsilon must be a number",
        ),
        (TEXT, ("--method", "attention-only-argmax"), "A1 fails"),
        (TEXT, ("--method", "token-averaging", "--heads", "2"), "does not take --heads"),
        (TEXT, ("--method", "token-averaging", "--skip"), "does not take --skip"),
        (TEXT, ("--method", "hash-fold-retrieve", "--skip"), "does not take --skip"),
        (TEXT, ("--method", "hash-fold-retrieve", "--gap", "1e-3"), "does not take --gap"),
        (TEXT, ("--method", "deep-sets", "--neurons", "9"), "does not take --neurons"),
        (TEXT, ("--method", "seq2seq", "--activation", "tanh"), "does not take --activation"),
    ],
)
@pytest.mark.parametrize("json_too", [False, True])
def test_bad_input_is_one_sentence_and_code_two(run, tmp_path, text, options, says, json_too):
    path = tmp_path / "d.txt"
    path.write_text(text)
    extra = ("--json",) * json_too
    result = run("compile", path, "-o", tmp_path / "m", "--method", "one-layer", *options, *extra)
    if json_too:
        error = json.loads(result[1])["error"]
        assert error["exit"] == 2 and result[2] == f"byheart: {error['message']}\n"
        result = (result[0], "", result[2])
    assert refused(result) and says in result[2], result
    assert [x.name for x in tmp_path.iterdir()] == ["d.txt"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([([2], 1), ([1.5], 2)], "words or integers"),
        ([([[2, 2]], 1), ([[1, 2]], 2)], "words or integers"),
        ([(["b"], ["y"]), (["a"], ["x"])], "every token has a label"),
        ([(["b"], "y"), ([], "x")], "sequence 2 is empty"),
    ],
)
def test_data_that_does_not_fit(run, tmp_path, rows, says):
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps({"input": x, "label": y}) + "\n" for x, y in rows))
    result = run("compile", path, "-o", tmp_path / "m", "--method", "one-layer")
    assert refused(result) and says in result[2], result
    assert [x.name for x in tmp_path.iterdir()] == ["d.jsonl"]


def test_a_conflict_names_the_method(run, fox, tmp_path):
    result = run("compile", fox[1], "-o", tmp_path / "m", "--length", "5")
    assert refused(result) and "--method one-layer, which stores distributions" in result[2]


def test_verify_refuses_a_limit_that_is_none(run, fox):
    assert refused(run("verify", *fox, *LENGTH, "--prove-limit", "nan"))


def test_verify_has_no_engine_to_choose(run, fox):
    result = run("verify", *fox, *LENGTH, "--engine", "exact")
    assert refused(result) and "--engine is for models that store labels" in result[2]


# ---------------------------------------------------------------- recall


def test_recall_shows_several_candidates_on_one_line(run, fox):
    assert run("recall", fox[0], "The")[:2] == (0, "fox 66.7%  owl 33.3%\n")
    assert run("recall", fox[0], "The", "owl")[:2] == (0, "kept\n")  # one, and nobody watches
    assert run("recall", fox[0], "wolf")[:2] == (0, "(unknown)\n")


def test_on_a_terminal_one_candidate_has_its_chance_too(monkeypatch):
    answer = Answer([], "kept", None, [("kept", 0.9999999)])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert likely(answer) == "kept 100.0%"
    assert likely(Answer([], "kept", None)) == "kept"


def test_many_candidates_are_cut():
    chances = [(f"w{i}", 0.05) for i in range(20)]
    shown = likely(Answer([], "w0", None, chances))
    assert shown.startswith("w0 5.0%  w1 5.0%") and shown.endswith("w7 5.0%  ...")
    rest = [("a", 0.9995), ("b", 0.0005)]
    shown = likely(Answer([], "a", None, rest))
    assert shown == "a"


def test_recall_reads_a_pipe(run, fox):
    code, output, errors = run("recall", fox[0], stdin="The\n\nThe owl\nwolf\n")
    assert (code, errors) == (0, "")
    assert output == "fox 66.7%  owl 33.3%\n\nkept\n(unknown)\n"
    answers = json.loads(run("recall", fox[0], "--json", stdin="The\nwolf\n")[1])["answers"]
    assert [len(answer["probabilities"] or ()) for answer in answers] == [2, 0]
    assert answers[0]["probabilities"][0] == [" fox", pytest.approx(2 / 3, abs=1e-6)]


def test_recall_goes_on_and_draws(run, fox):
    assert run("recall", fox[0], "The", "owl", "--steps", "3")[:2] == (0, " kept a secret\n")
    said = {run("recall", fox[0], "The", "--draw", "--seed", s)[1] for s in range(12)}
    assert said == {"fox\n", "owl\n"}
    once, again = (run("recall", fox[0], "The", "--draw", "--seed", 7, "--steps", 4) for _ in "ab")
    assert once == again and once[0] == 0
    answers = json.loads(run("recall", fox[0], "The", "--draw", "--json")[1])["answers"]
    assert answers[0]["label"] in (" fox", " owl") and len(answers[0]["probabilities"]) == 2


def test_a_pipe_draws_anew_for_every_line(run, fox):
    output = run("recall", fox[0], "--draw", stdin="The\n" * 40)[1]
    assert set(output.split()) == {"fox", "owl"}
    assert run("recall", fox[0], "--draw", stdin="The\n" * 40)[1] == output


def test_a_person_s_questions(run, fox, monkeypatch, capsys):
    """The prompt: chances, an unreadable question, the end."""
    lines = iter(["The", "The fox kept a word", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(lines, None) or _end())
    model = _opened(fox[0])
    recall.converse(model, None, False, None)
    output = capsys.readouterr().out
    assert "knows what follows 13 contexts of at most 4 tokens (words)" in output
    assert "fox 66.7%  owl 33.3%" in output and "the model reads 1 to 4 tokens" in output


def _end():
    raise EOFError


def _opened(path):
    return byheart.open(path)


def test_trace_shows_the_way(run, fox):
    code, output, _ = run("recall", fox[0], "The", "--trace")
    assert code == 0 and output.splitlines()[-1] == "fox 66.7%  owl 33.3%"
    for word in ("embed", "attend", "s = ", "are on", "logits", "distribution"):
        assert word in output
    answer = json.loads(run("recall", fox[0], "The", "--trace", "--json")[1])["answers"][0]
    assert len(answer["trace"]["stages"]) == 4 and "lines" not in answer


def test_labels_are_not_drawn(run, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"input": ["a"], "label": "x"}\n')
    assert run("compile", tmp_path / "d.jsonl", "-o", tmp_path / "m")[0] == 0
    for stdin in ("", "a\n"):
        words = () if stdin else ("a",)
        result = run("recall", tmp_path / "m", *words, "--draw", stdin=stdin)
        assert refused(result) and "--draw needs a model that stores distributions" in result[2]


def test_the_page_shows_what_is_shown(run, tmp_path):
    """docs/next-token.md: the lines of its example are the lines that compile prints."""
    page = (Path(__file__).parents[2] / "docs" / "next-token.md").read_text(encoding="utf-8")
    block = page.partition("```\nmethod ")[2].partition("```")[0]
    options = ("--unit", "wordpunct", "--documents", "whole", "--window", "2")
    options += ("--method", "one-layer")
    code, output, _ = run("compile", BOOK, "-o", tmp_path / "m", *options)
    shown = {" ".join(line.split()) for line in output.splitlines()}
    expected = [" ".join(line.split()) for line in f"method {block}".splitlines() if line.strip()]
    assert code == 0 and len(expected) > 10
    assert [line for line in expected if line not in shown] == []


# ---------------------------------------------------------------- the independent checker


def test_the_checker_agrees_and_disagrees(run, fox, tmp_path):
    code, output, errors = run("verify", *fox, *LENGTH, "--checker", "--json")
    answer = json.loads(output)
    assert (code, errors, answer["checker"]) == (0, "", "VERIFIED")
    assert answer["verified"] == {"checked": 13, "correct": 13, "evidence": "proved"}
    code, output, _ = run("verify", *fox, *LENGTH, "--checker")
    assert "the independent checker says VERIFIED" in output and "13 of 13 contexts" in output
    other = tmp_path / "other.txt"
    other.write_text(TEXT.replace("owl kept", "owl ran"))
    code, output, _ = run("verify", fox[0], other, "--checker", "--json")
    assert code == 1 and json.loads(output)["verified"]["evidence"] == "refuted"


def test_a_changed_weight_is_code_one(run, fox, tmp_path):
    for file in fox[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = bytearray((tmp_path / "weights.safetensors").read_bytes())
    weights[-2] ^= 1
    (tmp_path / "weights.safetensors").write_bytes(bytes(weights))
    for arguments in (("verify", tmp_path, fox[1]), ("recall", tmp_path, "The")):
        code, output, errors = run(*arguments)
        assert (code, output, errors.count("\n")) == (1, "", 1)
