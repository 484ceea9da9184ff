"""bounds as a command: three questions, tables, a picture, and what is refused."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.api.compile import compile
from byheart.cli import main
from byheart.data.documents import Documents
from byheart.data.generate import random, save
from byheart.data.load import from_rows, load, write_jsonl
from byheart.data.statistics import count
from byheart.theory.facts import data_facts, distinct_tokens, longest_context
from byheart.theory.kajitsuka2025.sign_patterns import uniform_attention
from byheart.theory.papers import cited

ROOT = Path(__file__).parents[2]
LABELS = [([f"k{i}", f"k{i % 7}"], f"v{i % 4}") for i in range(60)]
PAIRS = [(f"k{i}", f"k{i + 1}") for i in range(20)]
ORDERED = [(x, y) for a, b in PAIRS for x, y in (([a, b, "z"], "u"), ([b, a, "z"], "v"))]
MIXED = [([f"k{i % 5}"], f"v{(i * i + i // 5) % 6}") for i in range(40)]
ROW = {"paper", "item", "kind", "direction", "quantity", "value", "applies", "reason"}
KEYS = {"dataset", "architecture", "rows", "verdict", "definitions", "tables", "picture"}


def written(path, rows):
    write_jsonl(from_rows(rows), path)
    return path


@pytest.fixture
def labels(tmp_path):
    return written(tmp_path / "labels.jsonl", LABELS)


@pytest.fixture
def mixed(tmp_path):
    return written(tmp_path / "mixed.jsonl", MIXED)


def run(capsys, *arguments):
    code = main([str(x) for x in arguments])
    return code, *capsys.readouterr()


def bounds(*arguments, **options):
    """The answer in Python: that of the command, except for the picture."""
    return byheart.bounds(*arguments, **options).json()


def answered(capsys, *arguments):
    return json.loads(run(capsys, "bounds", *arguments, "--json")[1])


def value(answer, paper, item, quantity):
    found = [
        row["value"]
        for row in answer["rows"]
        if (row["paper"], row["item"], row["quantity"]) == (paper, item, quantity)
    ]
    assert len(found) == 1
    return found[0]


# --- the three questions


def test_how_small_can_it_be(capsys, labels):
    code, output, errors = run(capsys, "bounds", "--dataset", labels, "--json")
    assert (code, errors, output.count("\n")) == (0, "", 1)
    answer = json.loads(output)
    assert set(answer) >= KEYS and all(set(row) == ROW for row in answer["rows"])
    data = answer["dataset"]
    assert (data["name"], data["contexts"], data["labels"]) == ("labels.jsonl", 60, 4)
    assert (data["length"], data["vocabulary"], data["union"]) == (2, 60, 64)
    assert value(answer, "madden2024", "Lemma 1", "parameters (distributions)") == 60 * 3
    assert value(answer, "madden2024", "Theorem 5", "parameters (distributions)") == 60 * 66 + 70
    assert value(answer, "dana2024", "Corollary 1", "parameters (labels)") == 724
    assert value(answer, "kajitsuka2025", "Remarks 4.4 and 4.6", "bits") == 120
    assert answer["architecture"] is answer["verdict"] is answer["picture"] is None
    assert {row["kind"] for row in answer["rows"]} == {"theorem", "rate", "rule_of_thumb", "open"}


def test_how_much_can_it_hold(capsys):
    code, output, errors = run(capsys, "bounds", "--architecture", "gpt2", "--json")
    answer = json.loads(output)
    assert (code, errors) == (0, "") and answer["architecture"]["parameters"] == 124_439_808
    assert value(answer, "madden2024", "Lemma 1", "contexts") == 124_439_808 // 50_256
    assert value(answer, "allenzhu2024", "2 bits per parameter", "bits") == 2 * 124_439_808
    assert (
        answer["dataset"] is None and "any n distinct" in answer["definitions"]["memory capacity"]
    )


def test_sizes_make_a_decoder(capsys):
    arguments = "--vocabulary 50 --length 2 --dimension 10 --heads 99 --width 0 --bits 8".split()
    code, output, _ = run(capsys, "bounds", *arguments, "--head-dimension", "10", "--json")
    answer = json.loads(output)
    assert code == 0 and answer["architecture"]["family"] == "dana2024"
    assert answer["architecture"]["parameters"] == 40_620
    assert value(answer, "dana2024", "Theorem 1", "contexts") == 1000
    assert value(answer, "kajitsuka2025", "Remarks 4.4 and 4.6", "bits") == 8 * 40_620


def test_parameters_that_were_counted():
    answer = bounds(parameters=10_000, vocabulary=11)
    assert value(answer, "madden2024", "Lemma 1", "contexts") == 1000
    assert value(answer, "madden2024", "Theorem 5", "contexts") is None


def test_bits_without_an_architecture(labels):
    """120 bits in parameters of 50; and Theorem F.1 knows what it may use."""
    answer = bounds(labels, bits=50)
    assert answer["verdict"] is None and answer["architecture"] is None
    limited = "kajitsuka2025", "parameters of limited bits (labels)"

    def chosen(rows):
        return [x for x in rows if (x["paper"], x["quantity"]) == limited]

    found = chosen(answer["rows"])
    assert [row["value"] for row in found][1] == 3 and "take 5" in found[0]["reason"]
    assert [x["applies"] for x in chosen(bounds(labels, bits=99)["rows"])] == [True, True]


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({"architecture": "madden2024", "width": 60}, "yes"),
        ({"architecture": "dana2024", "dimension": 2, "heads": 29, "head_dimension": 2}, "likely"),
        ({"architecture": "gpt2"}, "likely"),
        ({"parameters": 60}, "likely"),
        ({"parameters": 59}, "between"),
        ({"parameters": 31}, "unlikely"),
        ({"parameters": 3}, "not_guaranteed"),
        ({"parameters": 1000, "vocabulary": 10}, "no"),
        ({"parameters": 1000, "length": 1}, "no"),
    ],
)
def test_does_it_fit(labels, given, fits):
    """120 bits are needed: 60 parameters of 2 bits, 32 of 3.83, 4 of 32."""
    found = bounds(labels, **given)["verdict"]
    assert found["fits"] == fits, found
    assert found["needed"] == found["code"] == 120 and found["reason"].endswith(".")
    assert found["ratio"]["theorem"] == 120 / found["held"]["theorem"]
    assert found["held"]["morris2025"] == pytest.approx(1.915 * found["held"]["allenzhu2024"])


def test_distributions_take_more_than_labels(mixed):
    """5 contexts with several of 6 labels: 25 parameters by Lemma 1."""
    fits = [bounds(mixed, parameters=k)["verdict"] for k in (24, 25)]
    assert fits[0]["fits"] == "not_guaranteed" and "take 25" in fits[0]["reason"]
    assert fits[1]["fits"] == "between" and 50 < fits[1]["code"] < 90
    wide = {"dimension": 2, "heads": 20, "head_dimension": 2}
    assert bounds(mixed, "dana2024", **wide)["verdict"]["fits"] == "likely"
    assert bounds(mixed, "madden2024", width=5)["verdict"]["fits"] == "yes"


# --- "does not fit" is said of data for which it is proved, and of no other


def test_labels_that_are_nearly_all_the_same():
    """2,500 pairs, one of them with another label: the network has fewer bits than labellings."""
    rows = [([f"a{i // 50}", f"b{i % 50}"], "yes" if i == 1234 else "no") for i in range(2500)]
    data = from_rows(rows)
    model = compile(data, minimise="bits")
    assert model.verification.evidence == "proved" and model.bits.total < 2500
    found = bounds(data, parameters=-(-model.bits.total // 8), bits=8)["verdict"]
    assert found["needed"] == 2500 > found["held"]["theorem"] >= model.bits.total
    assert found["fits"] == "not_guaranteed" and "13 bits by the frequencies" in found["reason"]
    p = np.array([1, 2499]) / 2500
    assert found["code"] == pytest.approx(-2500 * (p * np.log2(p)).sum())


def test_the_compiled_size_stands_beside_the_code_length(capsys, tmp_path):
    """Where the worst labels do not fit, a network for these labels shows that they may."""
    path = tmp_path / "pairs.jsonl"
    pairs = [{"input": [i // 20, i % 20], "label": int(i == 123)} for i in range(400)]
    path.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    folder, other = tmp_path / "pairs.model", tmp_path / "other.model"
    byheart.compile(byheart.load(path)).save(folder)
    byheart.compile(byheart.Dataset.from_rows([([x["label"]], 1) for x in pairs])).save(other)
    asked = ["bounds", "--dataset", str(path), "--parameters", "40", "--bits", "8"]
    capsys.readouterr()
    assert main([*asked, "--with", str(folder), "--with", str(other), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"]["fits"] == "not_guaranteed"
    ours, wrong = answer["models"]
    assert ours["evidence"] == "proved" and ours["bits"] == byheart.open(folder).bits.encoded
    assert not wrong["applies"]
    assert main([*asked, "--with", str(folder), "--with", str(other)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"compiled {ours['bits']:,} pairs.model: hash-fold-retrieve, code word, proved" in shown
    assert "compiled - other.model" in shown
    assert main(["bounds", "--parameters", "40", "--with", str(folder)]) == 2
    assert "--with needs --dataset" in capsys.readouterr().err


def test_contexts_that_have_the_same_distribution():
    """Weights of zero give all of them; by Lemma 1 all distributions take five times as many."""
    tokens = "abcde"
    rows = [([x, y], z) for x in tokens for y in tokens for z in tokens]
    sizes = {"dimension": 1, "width": 1}
    answer = bounds(from_rows(rows), "madden2024", **sizes)
    assert answer["architecture"]["parameters"] == 21 and answer["architecture"]["vocabulary"] == 5
    assert answer["dataset"]["entropy"] == pytest.approx(len(rows) * np.log(5))  # loss of zeros
    found = answer["verdict"]
    assert found["fits"] == "not_guaranteed" and "take 100 parameters" in found["reason"]
    assert found["code"] == pytest.approx(0, abs=1e-9)


STORIES = [folder / "shared" / "data" / "tinystories.txt" for folder in ROOT.parents]


@pytest.mark.skipif(not any(path.exists() for path in STORIES), reason="no TinyStories here")
def test_a_hundred_stories_and_eight_neurons(capsys, tmp_path):
    """Trainings in results/madden-1 reach the entropy of such data with six neurons."""
    text = next(path for path in STORIES if path.exists()).read_text()
    file = tmp_path / "stories.txt"
    file.write_text("<|endoftext|>".join(text.split("<|endoftext|>")[:100]))
    model = ("--architecture", "madden2024", "--width", 8, "--dimension", 16)
    code, output, _ = run(capsys, "bounds", "--dataset", file, "--length", 10, *model)
    assert code == 0 and "not guaranteed: some data of this shape" in output
    assert "does not fit; by Lemma 1" in " ".join(output.split())
    answer = answered(capsys, "--dataset", file, "--length", 10, *model)
    assert answer["verdict"]["fits"] == "not_guaranteed"
    assert 0 < answer["verdict"]["code"] < answer["verdict"]["held"]["theorem"]
    rows = (ROOT / "results" / "madden-1" / "fast" / "rows.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, rows) if row["trial"]["data"]["sequences"] == 900]
    assert any(row["reached"] and row["trial"]["sizes"]["neurons"] == 6 for row in rows)


@pytest.mark.parametrize(
    ("rows", "given", "said"),
    [
        (LABELS, {"architecture": "dana2024", "dimension": 1, "heads": 99, "head_dimension": 1},
         "at most two labels are ever the likeliest, not 4."),
        ([(x, y) for x, y in LABELS if y != "v0"], {"dimension": 1, "layers": 9}, "not 3."),
        (ORDERED, {"architecture": "kajitsuka2025", "layers": 9, "dimension": 99},
         "reads no positions, and multisets with two labels: 20."),
        (LABELS, {"parameters": 10**6, "length": 1}, "the length of the data is 2"),
    ],
)  # fmt: skip
def test_what_is_proved_not_to_fit(rows, given, said):
    found = bounds(from_rows(rows), **given)["verdict"]
    assert found["fits"] == "no" and said in found["reason"]


@pytest.mark.parametrize(
    ("rows", "given"),
    [
        (LABELS, {"architecture": "dana2024", "dimension": 2, "heads": 99, "head_dimension": 1}),
        ([(x, y) for x, y in LABELS if y in ("v0", "v1")], {"dimension": 1, "layers": 9}),
        (MIXED, {"dimension": 1, "layers": 9}),
        (MIXED, {"architecture": "kajitsuka2025", "layers": 9, "dimension": 9}),
        (LABELS, {"architecture": "kajitsuka2025", "layers": 9, "dimension": 9}),
        (ORDERED, {"dimension": 9, "attention": "uniform"}),
        (LABELS, {"architecture": "madden2024", "dimension": 1, "width": 3}),
        (LABELS, {"architecture": "kajitsuka2025", "dimension": 1}),
        (LABELS, {"parameters": 10**6, "dimension": 1}),
    ],
)
def test_what_is_not_proved_not_to_fit(rows, given):
    """Two dimensions, two labels, distributions, an order that does not matter, positions.

    In one dimension: logits with a bias, a number instead of logits, and a model of which no more
    is known.
    """
    assert bounds(from_rows(rows), **given)["verdict"]["fits"] != "no"


@pytest.mark.parametrize("draw", range(30))
def test_one_dimension_has_two_likeliest_labels(draw):
    """The proof behind the first of these: logits are a number times a column."""
    random = np.random.default_rng(draw)
    logits = np.outer(random.normal(size=200), random.normal(size=7))
    assert len(set(logits.argmax(axis=1))) <= 2


def test_repeated_rows_do_not_lengthen_the_code():
    """Contexts are told apart once: a list of labels is a code of contexts x log2(labels) bits."""
    rows = [([f"k{i % 3}"], f"v{i % 3}") for i in range(300)]
    found = bounds(from_rows(rows), parameters=10)
    assert found["verdict"]["code"] == pytest.approx(3 * np.log2(3)) == found["verdict"]["needed"]
    assert found["dataset"]["code_length"] == found["verdict"]["code"]


def test_documents_and_rows_have_one_code_length(tmp_path):
    text = tmp_path / "x.txt"
    text.write_text("a b c a b b a c c a b\n\nb c a a\n")
    loading = {"documents": "blank"}
    rows = byheart.load(text, **loading)
    known = [bounds(text, loading=loading), bounds(rows)]
    first, second = (answer["dataset"]["code_length"] for answer in known)
    assert first == second > 0


# --- what a person sees


def test_text(capsys, labels):
    code, output, _ = run(capsys, "bounds", "--dataset", labels, "--architecture", "gpt2")
    assert code == 0 and max(map(len, output.splitlines())) <= 80
    lines = output.splitlines()
    assert lines[0].startswith("likely to fit: ") and lines[1].startswith("bits needed")
    assert lines[2].startswith("of this data") and [x[:4] for x in lines[3:6]] == ["held"] * 3
    assert output.index("Theorems (the tightest of each quantity)") < output.index("--all")
    assert "Rates" not in output and "Does not apply" not in output
    assert "Madden et al. (2024), Lemma 1" in output and "madden2024" not in output
    assert all(line == line.rstrip() for line in lines)
    code, whole, _ = run(capsys, "bounds", "--dataset", labels, "--architecture", "gpt2", "--all")
    assert code == 0 and whole.startswith("\n".join(lines[:6])) and "--all" not in whole
    assert whole.index("Rules of thumb") < whole.index("Rates") < whole.index("Does not apply")


@pytest.mark.parametrize("architecture", [None, "gpt2", "llama-3.1-8b"])
def test_the_answer_fits_a_screen_with_the_tightest_rows(capsys, tmp_path, architecture):
    data = written(tmp_path / "capitals.jsonl", [([f"k{i}"], f"v{i}") for i in range(50)])
    given = ["--dataset", data] + ([] if architecture is None else ["--architecture", architecture])
    brief, answer = run(capsys, "bounds", *given)[1], answered(capsys, *given)
    assert brief.count("\n") <= 30
    ours = [row for row in answer["rows"] if row["applies"] and row["kind"] == "theorem"]
    sized = [row for row in ours if row["quantity"] == "parameters (distributions)"]
    needed = max(row["value"] for row in sized if row["direction"] == "at_least")
    enough = min(row["value"] for row in sized if row["direction"] == "at_most")
    lines = [line.split() for line in brief.splitlines() if "parameters (distributions):" in line]
    told = [["≥", f"{needed:,}"], ["≤", f"{enough:,}"]]
    assert [line[:2] for line in lines] == (told if architecture else [])
    # every row is shown, or counted by kind
    shown = sum(line.lstrip()[:1] in ("≥", "≤") for line in brief.splitlines())
    names = ["more row", "that apply", "that do not", "without a number"]
    names += [] if architecture else ["about distributions"]  # each context has one label
    counts = dict.fromkeys(names, 0)
    for name in counts:
        counts[name] = int(re.search(rf"(\d+) {name}", brief)[1])
    more = counts.pop("more row")
    assert shown + more == len(answer["rows"]) and sum(counts.values()) == more
    assert counts["that do not"] == sum(not row["applies"] for row in answer["rows"])


def test_the_worst_labels_are_not_rounded_below_those_of_the_data(capsys, tmp_path):
    data = written(tmp_path / "capitals.jsonl", [([f"k{i}"], f"v{i}") for i in range(50)])
    lines = run(capsys, "bounds", "--dataset", data, "--architecture", "gpt2")[1].splitlines()
    assert lines[1].split()[2] == lines[2].split()[3] == "283"  # 50 log2(50) = 282.19...


def test_one_of_everything(capsys, tmp_path):
    """One context is no contexts."""
    data = written(tmp_path / "one.jsonl", [(["a"], "x")])
    output = run(capsys, "bounds", "--dataset", data, "--parameters", 1, "--bits", 1)[1]
    assert "1 context of up to 1 token out of 1, 1 label\n" in output
    assert "1 parameter of 1 bit each" in output


def test_tables(capsys, labels):
    code, output, _ = run(capsys, "bounds", "--tables")
    assert code == 0 and "kajitsuka2025, Table 1" in output and "madden2024, Table 1" in output
    assert "k / (ω - 1)" in output and "=" not in output.partition("madden2024, Table 1")[0]
    code, output, _ = run(capsys, "bounds", "--tables", "--dataset", labels, "--json")
    tables = json.loads(output)["tables"]
    assert [len(table["rows"]) for table in tables] == [6, 2]
    assert tables[0]["rows"][3][-1] == {"item": "Lemma 1", "formula": "n (ω - 1)", "value": 180}


def test_a_picture(capsys, labels, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "size.svg"
    arguments = ("bounds", "--dataset", labels, "--architecture", "pythia-70m", "--plot", picture)
    code, output, _ = run(capsys, *arguments)
    assert code == 0 and "drawn in" in output
    drawn = picture.read_text()
    assert "the data: 60 contexts" in drawn and "70,426,624 parameters" in drawn
    assert "hash-fold-retrieve, our own network: " in drawn
    assert "Kajitsuka &amp; Sato (2025), Theorem 4.1 (labels)" in drawn
    assert "Allen-Zhu &amp; Li (2024), 2 bits per parameter, rule of thumb" in drawn
    assert run(capsys, *arguments)[0] == 2  # it is there
    first = picture.read_bytes()
    assert run(capsys, *arguments, "--force")[0] == 0 and picture.read_bytes() == first


# --- facts of files


def test_facts_of_a_dataset(labels):
    facts, counted = data_facts(load(labels)), count(from_rows(LABELS)).json()
    for name in ("sequences", "contexts", "multisets", "labels", "vocabulary"):
        assert getattr(facts, name) == counted[name]
    assert facts.distance == 1 and facts.dimension == 1 and facts.every is False


SUMS = [([a, b, c], (a + b) % 2) for a in range(4) for b in range(4) for c in range(2)]
WORDS = [([f"w{x}" for x in row], f"l{label}") for row, label in SUMS]
VECTORS = [([[x, 1] for x in row], label) for row, label in SUMS]
EACH = [(row, [sum(row), math.prod(row), 1]) for row, _ in SUMS]
DEFAULTS = {"numbers": False, "vectors": False, "words": True, "text": True, "each": False}


def counted_data(kind, path):
    if kind == "text":
        path.with_suffix(".txt").write_text("so to be or not to be\nso be to or that is it\n")
        return path.with_suffix(".txt")
    rows = {"numbers": SUMS, "vectors": VECTORS, "words": WORDS, "each": EACH}[kind]
    return written(path, rows)


@pytest.mark.parametrize("positions", (None, True, False))
@pytest.mark.parametrize("kind", DEFAULTS)
def test_contexts_are_those_that_compile_counts(capsys, tmp_path, kind, positions):
    """And lower bounds are about them, in Python and in the terminal."""
    path = counted_data(kind, tmp_path / "data.jsonl")
    decided = {} if positions is None else {"positions": positions}
    model = compile(path, on_conflict="majority", **decided)
    answer = bounds(path, **decided)
    facts, contexts = answer["dataset"], model.record.data.contexts
    assert facts["contexts"] == contexts
    assert facts["positions"] is (DEFAULTS[kind] if positions is None else positions)
    assert (contexts < facts["ordered"]) is not facts["positions"], "the data has other orders"
    flag = {None: [], True: ["--positions"], False: ["--no-positions"]}[positions]
    told = answered(capsys, "--dataset", path, *flag)
    assert told["dataset"] == facts | {"name": path.name} and told["rows"] == answer["rows"]
    needed = math.log2(facts["labels"]) * contexts
    assert value(answer, "kajitsuka2025", "Remarks 4.4 and 4.6", "bits") == pytest.approx(needed)
    assert byheart.compare(path, **decided).dataset.contexts == contexts


def test_upper_bounds_are_about_every_order():
    """A neuron for each context is enough for a model that reads order: it sees all orders."""
    ordered, multisets = (bounds(from_rows(SUMS), positions=x) for x in (True, False))
    assert ordered["dataset"]["contexts"] == 32 > multisets["dataset"]["contexts"]
    for paper, item in (("huang1998", "as cited by madden2024"), ("madden2024", "Theorem 5")):
        rows = [
            next(x["value"] for x in answer["rows"] if (x["paper"], x["item"]) == (paper, item))
            for answer in (ordered, multisets)
        ]
        assert rows[0] == rows[1] and rows[0]


def test_a_label_that_is_a_token_counts_once():
    rows = [(["a", "b"], "c"), (["b", "c"], "a"), (["c", "a"], "d")]
    assert data_facts(from_rows(rows)).union == 4
    numbers = [([1, 2], 3), ([2, 3], 1), ([3, 1], 9)]
    assert data_facts(from_rows(numbers)).union == 4


def test_contexts_of_different_lengths_take_one_more_token(tmp_path):
    """Corollary 1 with d = 2: its embedding and its unembedding, 4 parameters."""
    same = [(["a", "b"], "x"), (["b", "a"], "y"), (["c", "a"], "y")]
    sizes = []
    for i, rows in enumerate((same, [*same[:2], (["c"], "y")])):
        answer = bounds(written(tmp_path / f"{i}.jsonl", rows))
        assert answer["dataset"]["padded"] is bool(i)
        sizes.append(value(answer, "dana2024", "Corollary 1", "parameters (labels)"))
    assert sizes == [2 * (2 + 2 * 5 + 8), 2 * (2 + 2 * 6 + 8)]


def test_text_and_length(capsys, tmp_path):
    """A length cuts documents, and is the longest context of a model that has none of its own."""
    text = tmp_path / "x.txt"
    text.write_text("a b c d e f\n\na c b\n\nb\n".replace("\\\n", "\n"))
    answer = answered(capsys, "--dataset", text, "--dimension", 4, "--length", 4)
    assert answer["dataset"]["length"] == 3 and answer["architecture"]["length"] == 4
    assert bounds(text)["dataset"]["length"] == 5
    window = bounds(text, loading={"window": 2})
    # a to f, and b without a space before it, at the beginning of a document
    assert window["dataset"]["length"] == 2 and window["dataset"]["union"] == 7


def test_documents():
    ids = np.array([5, 1, 2, 0, 7, 7, 7, 7, 0, 0, 3], np.uint16)

    def documents(**options):
        return Documents("x", ids, **{"separator": 0, **options})

    assert distinct_tokens(documents()) == 5 and distinct_tokens(documents(separator=None)) == 6
    assert longest_context(documents()) == 3 and longest_context(documents(length=3)) == 2
    assert longest_context(documents(window=1)) == 1
    assert longest_context(documents(separator=None)) == 10


# --- what is refused


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give a dataset"),
        (("--architecture", "gpt9"), "no architecture 'gpt9'"),
        (("--architecture", "gpt2-xl", "--dimension", "4"), "gpt2-xl takes no --dimension"),
        (("--dimension", "4"), "decoder needs --vocabulary, --length"),
        (
            ("--dimension", "0", "--vocabulary", "5", "--length", "2"),
            "dimension must be an integer of 1",
        ),
        (("--heads", "-1"), "heads must be an integer of 0 or more"),
        (("--attention", "sharp"), "attention must be one of softmax, hard, uniform"),
        (("--activation", "cube"), "activation must be one of"),
        (("--bits", "0", "--architecture", "gpt2"), "bits must be an integer of 1 or more"),
        (("--architecture", "gpt2", "--plot", "x.svg"), "--plot needs --dataset"),
        (("--architecture", "gpt2", "--plot", "x.gif"), "must end in .svg, .png or .pdf"),
        (("--dataset", "nowhere.jsonl"), "does not exist"),
    ],
)
def test_refusals(capsys, monkeypatch, tmp_path, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, output, errors = run(capsys, "bounds", *arguments)
    assert (code, output, errors.count("\n")) == (2, "", 1) and said in errors
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("sizes", "item", "said"),
    [
        ({"vocabulary": 1}, "Lemma 1", "A1 fails: the vocabulary must be at least 2"),
        ({"head_dimension": 99, "width": 0}, "Theorem 1", "A2 fails: heads have dimension 99"),
    ],
)
def test_an_impossible_architecture_is_told_why(sizes, item, said):
    answer = bounds(**{"vocabulary": 9, "length": 3, "dimension": 8, "heads": 2, **sizes})
    assert any(said in row["reason"] and row["item"] == item for row in answer["rows"])


def test_nothing_heavy_is_imported():
    heavy = ("numba", "scipy", "matplotlib", "flint", "torch")
    code = (
        "import sys; from byheart.cli import main; main(['bounds', '--architecture', 'gpt2']);"
        f"sys.exit(' '.join(m for m in {heavy} if m in sys.modules) or 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


# --- rows beside networks


@pytest.mark.parametrize(("positions", "contexts"), [(None, 863), (False, 863), (True, 896)])
def test_the_bound_around_uniform_attention_is_about_numbers_too(positions, contexts):
    """Where order does not count a network has no positions, and the bound applies as well."""
    answer = bounds(random(1000), positions=positions)
    row = next(x for x in answer["rows"] if x["item"] == "after Theorem 4.2: uniform attention")
    found = answer["dataset"]
    assert row["applies"] and found["contexts"] == contexts
    tokens = found["vocabulary"] * (4 if positions else 1)
    assert row["value"] == uniform_attention(contexts, tokens)


def test_a_bound_without_attention_hides_no_bound_of_transformers(tmp_path, capsys):
    """The tightest is shown of networks with attention, and of those without."""
    save(random(1000), tmp_path / "x.npz")
    _, output, _ = run(capsys, "bounds", "--dataset", tmp_path / "x.npz")
    said = " ".join(output.split())
    assert (
        "without attention, by Lemma B.4" in said and "after Theorem 4.2: uniform attention" in said
    )


@pytest.mark.parametrize(
    ("method", "form", "item"),
    [
        ("bit-extraction", None, "Theorem 4.1"),
        ("embedding", "faithful", "Theorem E.1"),
        ("limited-bits", "faithful", "Theorem F.1"),
    ],
)
@pytest.mark.parametrize("rows", [LABELS, ORDERED], ids=["multisets", "ordered"])
def test_what_is_built_is_not_larger(tmp_path, method, form, item, rows):
    """Counted parameters, without E_in, E_out and embedding; and not below what is needed."""
    ordered = rows is ORDERED
    answer = bounds(written(tmp_path / "x.jsonl", rows), bits=120)
    found = {row["item"]: row["value"] for row in answer["rows"] if row["value"] is not None}
    if ordered and method == "embedding":
        assert item not in found  # it knows no positions
        return
    options = {} if method == "embedding" else {"positions": ordered}
    options |= {"bits": 120} if method == "limited-bits" else {}
    model = compile(from_rows(rows), method=method, form=form, **options)
    counted = model.network.counts()[0]["counted"]
    assert found["after Theorem 4.2: uniform attention"] <= counted <= found[item]


# --- the page


def test_the_numbers_of_the_page():
    """docs/bounds.md says what the commands say now."""
    page = (ROOT / "docs" / "bounds.md").read_text()
    book = ROOT / "byheart" / "data" / "book.txt"
    loading = {"unit": "wordpunct", "documents": "whole", "window": "auto"}
    alone = bounds(book, loading=loading, bits=128)
    sizes = {"vocabulary": 1000, "dimension": 32, "heads": 4, "layers": 2}
    sizes |= {"attention": "hard", "activation": "relu", "length": 10}
    decoder = bounds(**sizes, bits=16)
    both = bounds(book, "madden2024", loading=loading, width=1200)
    for answer, paper, item, quantity in (
        (alone, "madden2024", "Lemma 1", "parameters (distributions)"),
        (alone, "madden2024", "Theorem 5", "parameters (distributions)"),
        (alone, "kajitsuka2025", "after Theorem 4.2: uniform attention", "parameters (labels)"),
        (alone, "dana2024", "Corollary 1", "parameters (labels)"),
        (alone, "kajitsuka2025", "Theorem 4.1", "parameters (labels)"),
        (alone, "kajitsuka2025", "Theorem F.1", "parameters of limited bits (labels)"),
        (alone, "kajitsuka2025", "Remarks 4.4 and 4.6", "parameters of limited bits (labels)"),
        (alone, "allenzhu2024", "2 bits per parameter", "parameters (labels)"),
        (decoder, "madden2024", "Lemma 1", "contexts"),
        (decoder, "kajitsuka2025", "Theorem 4.3", "labelled tokens"),
    ):
        assert f"{value(answer, paper, item, quantity):,}" in page, item
    assert f"{decoder['architecture']['parameters']:,}" in page
    for number in (both["verdict"]["needed"], *both["verdict"]["held"].values()):
        assert f"{round(number):,}" in page
    assert f"{math.ceil(both['verdict']['code']):,}" in page
    assert cited(both["verdict"]["reason"]) in page
