"""Every option that a refusal names is one of that command, and leads on."""

import json
import re
import shlex

import pytest

from byheart.cli import main
from byheart.cli.app import load
from byheart.constructions import ALL

FACTS = [{"prompt": f"{name} was born in", "answer": town, "page": i}
         for i, (name, town) in enumerate((("Ada", "London"), ("Emmy", "Erlangen")))]  # fmt: skip
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def options_of(name):
    own = {flag for parameter in load(name).params for flag in parameter.opts}
    if name == "compile":  # and those of the methods, of which it takes one
        own |= {f"--{x.replace('_', '-')}" for method in ALL for x in method.options()}
    return own | {"--method"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Files that commands stumble over, and a model of one of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts.jsonl").write_text("".join(json.dumps(x) + "\n" for x in FACTS))
    twice = [{"input": ["a"], "label": x} for x in ("x", "x", "y")]
    (tmp_path / "twice.jsonl").write_text("".join(json.dumps(x) + "\n" for x in twice))
    order = [{"input": [*x, 3], "label": x[0]} for x in ([1, 2], [2, 1])]
    (tmp_path / "order.jsonl").write_text("".join(json.dumps(x) + "\n" for x in order))
    (tmp_path / "gaps.csv").write_text("q,a\nx,1\n,2\n")
    plain = "compile facts.jsonl --input prompt --label answer -o"
    assert main([*plain.split(), "taken"]) == 0
    assert main([*plain.split(), "float", "--method", "float64"]) == 0
    assert main("export float --to torch -o export".split()) == 0
    return tmp_path


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("compile facts.jsonl --input prompt --label answer -o taken", "--force"),
        ("compile facts.jsonl -o new", None),
        ("compile twice.jsonl -o new", "--on-conflict majority"),
        ("compile order.jsonl -o new", "--positions"),
        ("compile gaps.csv --input q --label a -o new", "--empty skip"),
        ("export float --to torch -o export", "--force"),
        ("export taken --to torch -o new", None),
        ("generate unlearning -o taken", None),
        ("stats facts.jsonl", None),
        ("bounds --dataset facts.jsonl", None),
    ],
)
def test_what_a_refusal_names_exists_and_leads_on(words, remedy, place, capsys):
    command, *_ = shlex.split(words)
    assert main(shlex.split(words)) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert set(OPTION.findall(said)) <= options_of(command), said
    if remedy is None:  # the columns that it names itself, if it does
        found = re.search(r"--input \S+ --label \S+", said)
        remedy = found and found[0].rstrip(",.;")
    if remedy:
        assert remedy in said
        assert main([*shlex.split(words), *shlex.split(remedy)]) == 0, capsys.readouterr().err


def test_with_json_an_error_is_an_object_on_standard_output(place, capsys):
    for words, kind in (
        ("stats nothing.jsonl --json", "ByheartError"),
        ("stats facts.jsonl --json --nonsense", "UsageError"),
        ("compile twice.jsonl -o new --json", "AssumptionError"),
    ):
        capsys.readouterr()
        assert main(words.split()) == 2
        out, err = capsys.readouterr()
        error = json.loads(out)["error"]
        assert (error["kind"], error["exit"]) == (kind, 2) and error["message"] in err
    assert main("stats nothing.jsonl".split()) == 2 and capsys.readouterr().out == ""


def test_the_hint_asks_a_real_question(place, capsys):
    assert main("compile facts.jsonl --input prompt --label answer -o asked".split()) == 0
    (hint,) = re.findall(r"try: byheart (recall .*)", capsys.readouterr().out)
    assert main(shlex.split(hint)) == 0
    assert capsys.readouterr().out.split() == ["London"]


def test_figures_are_found_beside_the_package_and_drawn_where_others_draw(place, capsys):
    assert main("reproduce dana-1a --plot picture.svg".split()) == 0
    assert (place / "picture.svg").read_text().startswith("<?xml")
    assert main("reproduce dana-1a --rows nowhere".split()) == 2
    assert "byheart's repository" in capsys.readouterr().err
