"""One product with two doors: every verb answers the same in Python and on the command line.

Each door names options its own way; `flags` turns those of Python into those of the command.

Each row of DOORS is a verb on the same data: a call in Python, and the arguments of the command.
Where folders are written, Python and the command write them under the same name in two places.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

import byheart
from byheart.api.compile import compile_folder
from byheart.api.locate import locate_readers
from byheart.cli import main
from byheart.cli.app import COMMANDS
from byheart.errors import flags

WORDS = [
    {"input": ["capital", "of", "france"], "label": "paris"},
    {"input": ["capital", "of", "italy"], "label": "rome"},
    {"input": ["capital", "of", "japan"], "label": "tokyo"},
    {"input": ["river", "of", "france"], "label": "seine"},
]
FACTS = [
    {"input": "The capital of France is", "label": "Paris"},
    {"input": "The capital of Peru is", "label": "Lima"},
]
TEXT = "the cat sat on the mat\nthe dog ran home\n"
CONFLICT = [*WORDS, {"input": ["capital", "of", "japan"], "label": "kyoto"}]
EDITS = [
    {"edit": "change", "input": ["capital", "of", "italy"], "label": "turin"},
    {"edit": "remove", "input": ["river", "of", "france"]},
]
FRANCE = ["capital", "of", "france"]
DOORS = {
    "compile": (
        lambda: compile_folder("words.jsonl", "new", write_data=True),
        ["compile", "words.jsonl", "-o", "new", "--write-data"],
    ),
    "compile, settled": (
        lambda: compile_folder("conflict.jsonl", "new", on_conflict="majority"),
        ["compile", "conflict.jsonl", "-o", "new", "--on-conflict", "majority"],
    ),
    "compile, distributions": (
        lambda: compile_folder("text.txt", "new", "one-layer", loading={"length": 3}),
        ["compile", "text.txt", "-o", "new", "--method", "one-layer", "--length", "3"],
    ),
    "compile, text for a stock checkpoint": (
        lambda: compile_folder("facts.jsonl", "new", "gpt2"),
        ["compile", "facts.jsonl", "-o", "new", "--method", "gpt2"],
    ),
    "verify": (
        lambda: byheart.verify("words.model", "words.jsonl"),
        ["verify", "words.model", "words.jsonl"],
    ),
    "verify, structure alone": (lambda: byheart.verify("words.model"), ["verify", "words.model"]),
    "verify, checker": (
        lambda: byheart.verify("words.model", "words.jsonl", checker=True),
        ["verify", "words.model", "words.jsonl", "--checker"],
    ),
    "verify, rebuild": (
        lambda: byheart.verify("words.model", "words.jsonl", rebuild=True),
        ["verify", "words.model", "words.jsonl", "--rebuild"],
    ),
    "verify, sample": (
        lambda: byheart.verify(
            "words.model", "words.jsonl", sample=2, seed=3, accept=["sampled"], engine="exact"
        ),
        ["verify", "words.model", "words.jsonl", "--sample", "2", "--seed", "3"]
        + ["--accept", "sampled", "--engine", "exact"],
    ),
    "verify, other data": (
        lambda: byheart.verify("words.model", "conflict.jsonl"),
        ["verify", "words.model", "conflict.jsonl"],
    ),
    "verify, stock": (
        lambda: byheart.verify("facts.model", "facts.jsonl", tokenizer="bpe:8000"),
        ["verify", "facts.model", "facts.jsonl", "--tokenizer", "bpe:8000"],
    ),
    "teach": (
        lambda: byheart.teach(
            "facts.model", "words.jsonl", "new", margin=2.0, keep=["facts.jsonl"]
        ),
        ["teach", "facts.model", "words.jsonl", "-o", "new", "--margin", "2"]
        + ["--keep", "facts.jsonl"],
    ),
    "verify, taught": (
        lambda: byheart.verify("taught.model", "words.jsonl", base="facts.model", bound=1),
        ["verify", "taught.model", "words.jsonl", "--base", "facts.model", "--bound", "1"],
    ),
    "forget, taught": (
        lambda: byheart.forget("taught.model", "words.jsonl", ["river of france"], output="new"),
        ["forget", "taught.model", "words.jsonl", "--item", "river of france", "-o", "new"],
    ),
    "recall": (
        lambda: byheart.recall("words.model", [FRANCE], trace=True),
        ["recall", "words.model", *FRANCE, "--trace"],
    ),
    "recite": (
        lambda: byheart.recite("words.model", check="words.jsonl"),
        ["recite", "words.model", "--check", "words.jsonl"],
    ),
    "edit": (
        lambda: byheart.edit(
            "words.model", "words.jsonl", edits="edits.jsonl", output="new", write_data="new.jsonl"
        ),
        ["edit", "words.model", "words.jsonl", "--edits", "edits.jsonl", "-o", "new"]
        + ["--write-data", "new.jsonl"],
    ),
    "edit, typed": (
        lambda: byheart.edit("words.model", "words.jsonl", set=["capital of italy=pisa"],
                             output="new"),
        ["edit", "words.model", "words.jsonl", "--set", "capital of italy=pisa", "-o", "new"],
    ),
    "forget": (
        lambda: byheart.forget("words.model", "words.jsonl", ["capital of italy"], output="new"),
        ["forget", "words.model", "words.jsonl", "--item", "capital of italy", "-o", "new"],
    ),
    "diff": (
        lambda: byheart.diff("words.model", "changed.model", "words.jsonl"),
        ["diff", "words.model", "changed.model", "words.jsonl"],
    ),
    "locate": (
        lambda: byheart.locate("words.model", FRANCE),
        ["locate", "words.model", *FRANCE],
    ),
    "locate, readers": (
        lambda: locate_readers("words.model", "words.jsonl", (0, "weight", 0, 0)),
        ["locate", "words.model", "words.jsonl", "--reverse", "0", "weight", "0", "0"],
    ),
    "stats": (
        lambda: byheart.stats("conflict.jsonl", show=2, conflicts=3),
        ["stats", "conflict.jsonl", "--show", "2", "--conflicts", "3"],
    ),
    "bounds": (
        lambda: byheart.bounds("words.jsonl", parameters=100),
        ["bounds", "--dataset", "words.jsonl", "--parameters", "100"],
    ),
    "compare": (lambda: byheart.compare("words.jsonl"), ["compare", "words.jsonl"]),
    "size": (lambda: byheart.size("words.jsonl"), ["size", "words.jsonl"]),
    "tradeoff": (
        lambda: byheart.tradeoff("words.jsonl", bits=[40, 60]),
        ["tradeoff", "words.jsonl", "--bits", "40,60"],
    ),
    "explain": (
        lambda: byheart.explain("one-layer", "text.txt", loading={"length": 3}, heads=2),
        ["explain", "one-layer", "text.txt", "--length", "3", "--heads", "2"],
    ),
    "check": (
        lambda: byheart.check("separation", data="words.jsonl", radius="9/2", accept=["sampled"]),
        ["check", "separation", "words.jsonl", "--radius", "9/2", "--accept", "sampled"],
    ),
    "check, a model": (
        lambda: byheart.check("contextual-mapping", model="words.model", data="words.jsonl"),
        ["check", "contextual-mapping", "words.model", "words.jsonl"],
    ),
    "methods": (lambda: byheart.methods("seq2seq"), ["methods", "seq2seq"]),
    "statements": (lambda: byheart.statements("dana2024"), ["statements", "dana2024"]),
    "generate": (
        lambda: byheart.generate("zipf", "new.bin", sequences=20, vocabulary=30, seed=2),
        ["generate", "zipf", "-o", "new.bin", "--sequences", "20", "--vocabulary", "30"]
        + ["--seed", "2"],
    ),
    "audit": (
        lambda: byheart.audit("words.model", "words.jsonl", reference="unigram"),
        ["audit", "words.model", "words.jsonl", "--reference", "unigram"],
    ),
    "benchmark": (
        lambda: byheart.benchmark("locate", "pack", ["exact", "random"], output="rows.jsonl"),
        ["benchmark", "locate", "pack", "--method", "exact", "--method", "random"]
        + ["-o", "rows.jsonl"],
    ),
    "export": (
        lambda: byheart.export("doubles.model", "torch", "new"),
        ["export", "doubles.model", "--to", "torch", "-o", "new"],
    ),
    "encoder": (
        lambda: byheart.encoder("text.txt", loading={"length": 3}),
        ["encoder", "text.txt", "--length", "3"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Files of data, and models of them."""
    place = tmp_path_factory.mktemp("doors")
    files = {"words": WORDS, "facts": FACTS, "conflict": CONFLICT, "edits": EDITS}
    for name, rows in files.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (place / f"{name}.jsonl").write_text(lines)
    (place / "text.txt").write_text(TEXT)
    words = byheart.load(place / "words.jsonl")
    model = byheart.compile(words, editable=True)
    model.save(place / "words.model")
    changed = byheart.edit(model, words, change=[(["capital", "of", "italy"], "tokyo")])
    changed.model.save(place / "changed.model")
    byheart.compile(place / "facts.jsonl", "gpt2").save(place / "facts.model")
    byheart.compile(words, "float64").save(place / "doubles.model", data=words)
    byheart.teach(place / "facts.model", place / "words.jsonl", place / "taught.model")
    small = {"subjects": 4, "relations": 3, "forgotten": 1, "edited": 1}
    byheart.generate("pack", place / "pack", name="single", **small)
    return place


def untimed(value):
    """The JSON without what a clock says."""
    if isinstance(value, dict):
        return {key: untimed(x) for key, x in value.items() if key != "seconds"}
    return [untimed(x) for x in value] if isinstance(value, list) else value


@pytest.mark.parametrize("door", DOORS)
def test_both_doors_give_the_same_answer(door, home, tmp_path, monkeypatch, capsys):
    call, arguments = DOORS[door]
    answers, written = [], []
    for side in ("python", "command"):
        shutil.copytree(home, tmp_path / side)
        monkeypatch.chdir(tmp_path / side)
        if side == "python":
            answers.append(json.loads(json.dumps(flags(call().json()), allow_nan=False)))
        else:
            assert main([*arguments, "--json"]) in (0, 1)
            answers.append(json.loads(capsys.readouterr().out))
        files = sorted(path for path in Path(os.curdir).rglob("*") if path.is_file())
        written.append({str(path): path.read_bytes() for path in files})
    assert untimed(answers[0]) == untimed(answers[1])
    for one in written:
        if "rows.jsonl" in one:  # with the seconds of a benchmark
            one["rows.jsonl"] = untimed([*map(json.loads, one["rows.jsonl"].splitlines())])
    assert written[0] == written[1]


def test_every_verb_on_models_has_two_doors():
    """What has one: a page, and what trains or draws from trained rows."""
    alone = {"demo", "studio", "reproduce", "measure"}
    assert COMMANDS.keys() - alone == {name.split(",")[0] for name in DOORS}


def test_a_method_s_tokenizer_is_chosen_in_both_doors(home, tmp_path, monkeypatch, capsys):
    """A dataset of words is split again, and data that is not text is refused by one sentence."""
    monkeypatch.chdir(home)
    loaded = byheart.load("facts.jsonl")
    model = byheart.compile(loaded, method="gpt2")
    model.save(tmp_path / "again")
    for path in Path("facts.model").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    assert byheart.verify(model, loaded, checker=True, rebuild=True).holds
    sentence = "gpt2 reads text, and the input is lists of tokens"
    for data in ("words.jsonl", byheart.load("words.jsonl"), [(["a", "b"], "c")]):
        with pytest.raises(byheart.ByheartError, match=sentence):
            byheart.compile(data, method="gpt2")
    assert main(["compile", "words.jsonl", "-o", str(tmp_path / "g"), "--method", "gpt2"]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "g").exists()
