"""Every numbered statement of the papers is in the table, and every command of it runs."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest

from byheart.api.checks import CHECKS
from byheart.cli import main
from byheart.cli.app import load
from byheart.constructions import ALL as METHODS
from byheart.figures import FIGURES
from byheart.theory import ALL as BOUNDS
from byheart.theory.statements import PAPERS, STATEMENTS

ROOT = Path(__file__).parents[2]
# what the papers number, read off their texts: kind, and the numbers that it has
NUMBERED = {
    "madden2024": {
        "Definition": "1", "Lemma": "1 2", "Theorem": "1 2 3 4 5 6 7", "Table": "1", "Figure": "1",
    },
    "dana2024": {
        "Assumption": "1 2", "Definition": "1 2", "Proposition": "1 2 3", "Theorem": "1 2 3",
        "Corollary": "1 2", "Lemma": "1 2 3 4", "Remarks": "1", "Figure": "1 2 3 4",
    },
    "kajitsuka2025": {
        "Assumption": "4.1 A.1", "Definition": "4.1 A.1 A.2 B.1",
        "Theorem": "4.1 4.2 4.3 B.1 B.2 B.3 D.1 E.1 F.1", "Corollary": "4.1",
        "Lemma": "B.1 B.2 B.3 B.4 C.1 C.2 F.1 G.1 G.2 G.3 G.4 G.5 G.6",
        "Remark": "3.1 4.1 4.2 4.3 4.4 4.5 4.6", "Table": "1", "Figure": "1 2 3",
    },
}  # fmt: skip
WORDS = ["the", "a", "one", "no"]
COMMANDS = sorted({statement.command for statement in STATEMENTS})
SLOW = [command for command in COMMANDS if command.startswith("reproduce")]  # draw from results/


def ids(command):
    return command[:60]


@pytest.fixture(scope="module")
def program():
    path = ROOT / "tools" / "make_statements.py"
    place = importlib.util.spec_from_file_location("make_statements", path)
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    home = tmp_path_factory.mktemp("statements")
    rows = [
        f'{{"input": ["{a}", "{b}"], "label": "{WORDS[(i + j) % 2]}"}}'
        for i, a in enumerate(WORDS)
        for j, b in enumerate(WORDS[: i + 1])
    ]
    (home / "data.jsonl").write_text("\n".join(rows))
    tokens = ['{"input": ["a", "b"], "label": ["x", "y"]}', '{"input": ["b", "b"], "label": "yy"}']
    (home / "tokens.jsonl").write_text("\n".join(tokens).replace('"yy"', '["y", "y"]'))
    made = ["compile", str(home / "data.jsonl"), "-o", str(home / "model")]
    assert main([*made, "--method", "bit-extraction"]) == 0
    return {"DATA": home / "data.jsonl", "TOKENS": home / "tokens.jsonl", "DIR": home / "model"}


def test_the_table_has_every_numbered_statement_once():
    assert set(PAPERS) == set(NUMBERED)
    for paper, kinds in NUMBERED.items():
        items = [x.item for x in STATEMENTS if x.paper == paper]
        assert len(set(items)) == len(items)
        wanted = {
            f"{kind} {number}" for kind, numbers in kinds.items() for number in numbers.split()
        }
        assert wanted <= set(items), wanted - set(items)
        form = rf"({'|'.join(kinds)}) [A-H]?\.?\d+(\.\d+)?"  # nothing that the paper does not have
        assert {item for item in items if re.fullmatch(form, item)} == wanted


def test_every_name_in_the_table_exists():
    methods, figures = {x.name for x in METHODS}, {x.name for x in FIGURES}
    rows = {(x.paper, x.item) for x in BOUNDS}
    for x in STATEMENTS:
        assert (
            set(x.methods) <= methods and set(x.figures) <= figures and set(x.checks) <= {*CHECKS}
        )
        for bound in x.bounds:
            assert (x.paper, bound) in rows or bound in {item for _, item in rows}, (x.item, bound)
        assert x.says.endswith(".") and "|" not in f"{x.says}{x.command}"


def test_everything_that_belongs_to_a_paper_is_in_the_table():
    """Every bound, check and figure of the papers; every method of theirs but those beyond them."""
    listed = {
        kind: {(x.paper, name) for x in STATEMENTS for name in getattr(x, kind)}
        for kind in ("bounds", "checks", "figures", "methods")
    }
    assert {(x.paper, x.item) for x in BOUNDS if x.paper in PAPERS} <= listed["bounds"]
    assert {(x.paper, x.name) for x in CHECKS.values()} == listed["checks"]
    theirs = {x.name for x in FIGURES if re.search(r", (Figure \d\w?|section [\w.]+)$", x.paper)}
    assert theirs == {name for _, name in listed["figures"]} and len(theirs) >= 11
    beyond = {x.name for x in METHODS if x.header.item.startswith("beyond")}
    own = {x.name for x in METHODS if x.header.paper in PAPERS}
    assert {name for _, name in listed["methods"]} == own - beyond


@pytest.mark.parametrize("command", COMMANDS, ids=ids)
def test_every_command_is_a_command_line(command):
    name, *arguments = shlex.split(command)
    found = load(name, arguments)
    found.make_context(name, arguments)  # parses, and does not run


@pytest.mark.parametrize("command", [x for x in COMMANDS if x not in SLOW], ids=ids)
def test_every_fast_command_runs(command, places, tmp_path, capsys):
    words = shlex.split(command)
    names = {key: str(path) for key, path in places.items()}
    filled = [names.get(word, word.replace("NEW", str(tmp_path / "new"))) for word in words]
    code = main(filled)
    output, errors = capsys.readouterr()
    refutes = ("check dana-assumption-2", "check dana-lemma-4")
    assert output and errors == "", errors
    assert code == (1 if command.startswith(refutes) else 0), output


@pytest.mark.parametrize("paper", [None, *PAPERS])
def test_the_command_prints_the_table(paper, capsys):
    assert main(["statements", *([paper] if paper else [])]) == 0
    output = capsys.readouterr().out
    assert all((x.item in output) for x in STATEMENTS if paper in (None, x.paper))


def test_a_paper_that_is_not_there(capsys):
    assert main(["statements", "magic2020"]) == 2
    assert "there is no paper 'magic2020'" in capsys.readouterr().err


def test_bounds_that_a_command_shows_apply_there(places, capsys):
    """To the data or architecture of the command: a row that does not apply shows nothing."""
    named = [x for x in STATEMENTS if x.bounds and x.command.startswith("bounds")]
    assert named
    rows = {}
    for x in named:
        if x.command not in rows:
            words = [str(places.get(word, word)) for word in shlex.split(x.command)]
            assert main([*words, "--json"]) == 0
            found = json.loads(capsys.readouterr().out)["rows"]
            rows[x.command] = {row["item"] for row in found if row["applies"]}
        assert set(x.bounds) & rows[x.command], x.item


def test_the_page_is_up_to_date(program):
    assert program.PAGE.read_text() == program.page(), "run python tools/make_statements.py"


def test_the_page_names_every_erratum(program):
    page = program.page()
    for paper in PAPERS:
        section = page.partition(f"## {PAPERS[paper]}")[2].partition("\n## ")[0]
        items = {x.item for x in STATEMENTS if x.paper == paper}
        titles = program.errata(paper)
        assert titles
        for title in titles:
            about = program.named(title) & items
            if not about:
                assert re.sub(r"([\\*_<])", r"\\\1", title) in section
            for item in about:
                row = next(x for x in section.splitlines() if x.startswith(f"| {item} |"))
                assert "erratum" in row


@pytest.mark.parametrize(
    ("title", "items"),
    [
        ("Theorem 2 for b of both signs", {"Theorem 2"}),
        ("The reduction of Theorems 5 and 7 to d = 1", {"Theorem 5", "Theorem 7"}),
        ("Eq. (79), (84) and (89): Lemma B.4", {"eq. (79)", "eq. (84)", "eq. (89)", "Lemma B.4"}),
        ("Appendix B: d = 2", set()),
    ],
)
def test_what_a_title_names(program, title, items):
    assert program.named(title) == items
