"""The command line: exit codes, one sentence on standard error, one JSON object, light imports."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from byheart.api.demo import BOOK
from byheart.cli import main
from byheart.constructions import ALL
from byheart.machine.tables import number
from byheart.views.demo import Page
from byheart.views.terminal import typeset

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "numba", "scipy", "torch", "matplotlib")
LONGER = "She carried each word home in her mouth, very gently, as one carries an"
LINES = ['{"input": ["a", "b"], "label": "x"}', '{"input": ["b", "a"], "label": "y"}']


def process(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "byheart", *map(str, arguments)],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, encoding="utf-8", **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    home = tmp_path_factory.mktemp("cli")
    (home / "data.jsonl").write_text("\n".join(LINES))
    assert main(["compile", str(home / "data.jsonl"), "-o", str(home / "m"), "--positions"]) == 0
    return home / "m", home / "data.jsonl"


def refused(result, code=2):
    """Whether a command ended with this code and one sentence; standard output has nothing or, with
    --json, the same sentence in an object."""
    found, output, errors = result
    same = not output or json.loads(output)["error"]["message"] in errors
    return same and (found, errors.count("\n")) == (code, 1) and errors.startswith("byheart: ")


# ---------------------------------------------------------------- what every command keeps


def test_help_is_light():
    code = (
        "import sys; from byheart.cli import main; main(['--help']);"
        f"assert not [m for m in {HEAVY} if m in sys.modules];"
        "main(['compile', '--help']);"
        "files = {m for m in sys.modules if m.startswith('byheart.cli.')};"
        "assert {m.split('.')[-1] for m in files} & set(sys.modules['byheart.cli.app'].COMMANDS) "
        "== {'compile'}, files;"
        f"sys.exit(' '.join(m for m in {HEAVY[1:]} if m in sys.modules) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "recall" in done.stdout


def test_methods_version_and_the_statistics_of_a_small_text_do_not_import_numba():
    book = str(ROOT / "byheart" / "data" / "book.txt")
    code = (
        "import sys; from byheart.cli import main; main(['methods']); main(['--version']);"
        f"main(['stats', {book!r}]);"
        "sys.exit(' '.join(m for m in ('numba', 'scipy', 'torch') if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("methods",),
        ("stats", "DATA"),
        ("verify", "MODEL"),
        ("verify", "MODEL", "DATA"),
        ("verify", "MODEL", "DATA", "--checker"),
        ("recall", "MODEL", "a", "b"),
        ("generate", "random", "--sequences", "5", "-o", "NEW.jsonl"),
        ("compile", "DATA", "--positions", "-o", "NEW"),
    ],
)
def test_json_is_one_object_and_nothing_else(run, model, tmp_path, arguments):
    names = {"MODEL": str(model[0]), "DATA": str(model[1]), "NEW": str(tmp_path / "new")}
    filled = [names.get(a, a.replace("NEW", names["NEW"])) for a in arguments]
    code, output, errors = run(*filled, "--json")
    assert (code, errors) == (0, "")
    assert output.count("\n") == 1 and isinstance(json.loads(output), dict)


@pytest.mark.parametrize(
    "arguments",
    [
        ("magic",),
        ("compile",),
        ("compile", "DATA"),
        ("compile", "nowhere.jsonl", "-o", "new"),
        ("compile", "DATA", "-o", "new", "--seed", "x"),
        ("compile", "DATA", "-o", "new", "--magic"),
        ("compile", "DATA", "-o", "new", "--no-positions", "--method", "magic"),
        ("compile", "DATA", "-o", "MODEL"),
        ("stats", "nowhere.txt"),
        ("stats", "DATA", "--window", "2"),
        ("generate", "magic", "-o", "new.jsonl"),
        ("generate", "random", "-o", "new.doc"),
        ("generate", "random", "-o", "DATA"),
        ("verify", "nowhere"),
        ("verify", "DATA"),
        ("verify", "MODEL", "nowhere.jsonl"),
        ("verify", "MODEL", "DATA", "--engine", "magic"),
        ("recall", "nowhere", "a"),
        ("recall", "MODEL", "a", "b", "a"),
        ("recall", "MODEL", "a", "--stepz"),
        ("recall", "MODEL", "--file", "nowhere.jsonl"),
        ("recall", "MODEL", "a", "--steps", "2"),
        ("demo", "-o", "MODEL"),
        ("methods", "extra"),
    ],
)
@pytest.mark.parametrize("json_too", [False, True])
def test_bad_input_is_one_sentence_and_code_two(
    run, model, tmp_path, monkeypatch, arguments, json_too
):
    monkeypatch.chdir(tmp_path)
    names = {"MODEL": str(model[0]), "DATA": str(model[1])}
    filled = [names.get(a, a) for a in arguments] + ["--json"] * json_too
    assert refused(run(*filled)), filled
    assert list(tmp_path.iterdir()) == []


def test_no_command_shows_the_help(run):
    code, output, errors = run()
    assert code == 2 and "compile" in output + errors


# ---------------------------------------------------------------- compile and verify


def test_a_person_sees_the_evidence(run, model):
    code, output, _ = run("verify", *model)
    assert code == 0 and "proved" in output and "2 of 2" in output
    code, output, _ = run("verify", model[0])
    assert code == 0 and "no label was checked" in output


def test_wrong_data_is_code_one(run, model, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join(LINES).replace('"y"', '"x"'))
    for apart in ((), ("--checker",)):
        code, output, errors = run("verify", model[0], other, *apart)
        assert code == 1 and "refuted" in output and errors == ""
        code, output, errors = run("verify", model[0], other, *apart, "--json")
        assert code == 1 and json.loads(output)["verified"]["evidence"] == "refuted"


def test_a_changed_weight_is_code_one(run, model, tmp_path):
    for file in model[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = bytearray((tmp_path / "weights.safetensors").read_bytes())
    weights[-1] ^= 1  # a sign
    (tmp_path / "weights.safetensors").write_bytes(bytes(weights))
    assert refused(run("verify", tmp_path, model[1]), code=1)
    assert refused(run("recall", tmp_path, "a"), code=1)


def test_force_replaces(run, model, tmp_path):
    target = tmp_path / "m"
    arguments = ("compile", model[1], "-o", target, "--positions")
    assert run(*arguments)[0] == 0
    assert refused(run(*arguments))
    code, output, _ = run(*arguments, "--force")
    assert code == 0 and "proved" in output and str(target.name) in output.replace("\n", "")


def test_a_conflict_names_the_way_out(run, model, tmp_path):
    result = run("compile", model[1], "-o", tmp_path / "m", "--no-positions")
    assert result[0] == 0  # equal multisets, but another last token
    data = tmp_path / "d.jsonl"
    data.write_text(
        '{"input": ["a", "b", "c"], "label": 1}\n{"input": ["b", "a", "c"], "label": 2}\n'
    )
    result = run("compile", data, "-o", tmp_path / "n", "--no-positions")
    assert refused(result) and "--positions" in result[2] and not (tmp_path / "n").exists()
    assert run("compile", data, "-o", tmp_path / "n")[0] == 0  # order counts by default


STOPPED = """
import os, signal, sys
from byheart.cli import main
from byheart.constructions import find

Method = type(find("hash-fold-retrieve"))
build = Method.build

def stopped(self, *arguments):
    os.kill(os.getpid(), signal.{signal})
    return build(self, *arguments)

Method.build = stopped
sys.exit(main(sys.argv[1:]))
"""


def stopped_compile(folder, name):
    """The exit code and standard error of a compile that gets a signal while it builds."""
    data = folder / "d.jsonl"
    assert main(["generate", "random", "--sequences", "200", "-o", str(data)]) == 0
    command = ["-c", STOPPED.format(signal=name), "compile", str(data), "-o", str(folder / "m")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment
    )
    assert sorted(path.name for path in folder.iterdir()) == ["d.jsonl"]
    return ran.returncode, ran.stderr


def test_a_killed_compile_leaves_nothing(tmp_path):
    assert stopped_compile(tmp_path, "SIGKILL")[0] == -signal.SIGKILL


def test_an_interrupt_is_quiet(tmp_path):
    code, errors = stopped_compile(tmp_path, "SIGINT")
    assert code in (130, -signal.SIGINT) and "Traceback" not in errors


INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(name, *_):
        if name == "{name}":
            os.kill(os.getpid(), signal.SIGINT)

import byheart.cli
assert not {{"typer", "rich", "numpy"}} & set(sys.modules)
sys.meta_path.insert(0, Finder)
sys.exit(byheart.cli.main(["{command}"]))
"""


@pytest.mark.parametrize("name", ["typer", "rich", "byheart.cli.app", "byheart.cli.stats", "numpy"])
def test_an_interrupt_while_libraries_load_is_quiet(name):
    """Whatever is being imported when Ctrl-C comes; before `main` nothing slow is imported."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(name=name, command="stats")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# ---------------------------------------------------------------- every method

FILES = {
    "plain": [([1, 2], "x"), ([2, 1], "y"), ([3], "x"), ([1, 1, 3], "z")],
    "tagged": [([1, 2], ["x", "y"]), ([3], ["x"]), ([1, 1, 3], ["z", "z", "y"])],
    "different": [([1, 2], "x"), ([2, 4], "y"), ([3], "x"), ([1, 4, 3], "z")],
    "sets": [([], "x"), ([2, 1], "y"), ([3], "x"), ([1, 1, 3], "z")],
}


def file_for(construction, folder):
    """A file that fits the construction."""
    kind = "tagged" if construction.every else "plain" if construction.last else "sets"
    if construction.name in ("kim2023", "yun2020"):  # no token twice
        kind = "different"
    return lines(folder / f"{kind}.jsonl", FILES[kind]), FILES[kind]


def lines(path, rows):
    text = "".join(json.dumps({"input": x, "label": y}) + "\n" for x, y in rows)
    path.write_text(text)
    return path


def method(construction):
    """The options that name it."""
    form = ("--form", construction.form) if construction.form else ()
    return ("--method", construction.name, *form)


constructions = pytest.mark.parametrize(
    "construction",
    [c for c in ALL if c.claim.name != "recites"],  # these read text: tests/stock/test_recites.py
    ids=lambda c: f"{c.name}-{c.form}" if c.form else c.name,
)


@constructions
def test_compile_verify_and_recall(run, tmp_path, construction):
    data, rows = file_for(construction, tmp_path)
    target = tmp_path / "m"
    code, output, _ = run("compile", data, "-o", target, *method(construction), "--write-data")
    assert code == 0 and "proved" in output and construction.name in output
    labels = sum(len(y) if isinstance(y, list) else 1 for _, y in rows)
    for apart in ((), ("--checker",)):
        code, output, errors = run("verify", target, data, *apart, "--json")
        found = json.loads(output)
        expected = {"checked": labels, "correct": labels, "evidence": "proved"}
        assert (code, errors, found["verified"], found["failures"]) == (0, "", expected, [])
        assert (found["method"], found["form"]) == (construction.name, construction.form)
        assert run("verify", target, target / "data.jsonl", *apart)[0] == 0
    for tokens, label in rows[1:]:
        code, output, _ = run("recall", target, *tokens, "--json")
        assert code == 0 and json.loads(output)["answers"][0]["label"] == label
    code, output, _ = run("recall", target, "--file", data)
    assert code == 0 and len(output.splitlines()) == len(rows)


@constructions
def test_wrong_labels_are_code_one_for_every_method(run, tmp_path, construction):
    data, rows = file_for(construction, tmp_path)
    assert run("compile", data, "-o", tmp_path / "m", *method(construction))[0] == 0
    tokens, label = rows[-1]
    wrong = [*label[:-1], "x"] if construction.every else "x"
    other = lines(tmp_path / "other.jsonl", [*rows[:-1], (tokens, wrong)])
    for apart in ((), ("--checker",)):
        code, output, errors = run("verify", tmp_path / "m", other, *apart, "--json")
        assert (code, errors) == (1, "") and json.loads(output)["failures"]


def test_a_person_sees_all_labels_of_a_sequence(run, tmp_path):
    data = lines(tmp_path / "d.jsonl", FILES["tagged"])
    assert run("compile", data, "-o", tmp_path / "m")[0] == 0
    assert refused(run("recall", tmp_path / "m", "1", "--steps", "2"))
    code, output, _ = run("recall", tmp_path / "m", "1", "1", "3")
    assert code == 0
    assert output.split() == ["z", "z", "y"]


def test_a_sample_is_shown_as_a_sample(run, tmp_path):
    data = lines(tmp_path / "d.jsonl", FILES["plain"])
    code, output, _ = run("compile", data, "-o", tmp_path / "m", "--sample", "2")
    assert code == 0 and "sampled" in output and "proved" not in output
    code, output, _ = run("verify", tmp_path / "m", data)
    assert code == 0 and "proved" in output
    assert run("verify", tmp_path / "m", data, "--checker")[0] == 0


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("plain", ("--form", "nonsense"), "hash-fold-retrieve has only one form"),
        ("tagged", ("--form", "nonsense"), "not 'nonsense'"),
        ("sets", ("--method", "deep-sets", "--form", "nonsense"), "not 'nonsense'"),
        ("sets", (), "sequence 1 is empty; leave it out, or use --method deep-sets"),
        ("plain", ("--method", "embedding", "--form", "nonsense"), "not 'nonsense'"),
        ("tagged", ("--method", "hash-fold-retrieve"), "every token has a label"),
        ("tagged", ("--method", "embedding"), "every token has a label"),
        ("tagged", ("--method", "deep-sets"), "every token has a label"),
        ("plain", ("--method", "seq2seq"), "a sequence has one label"),
        ("sets", ("--method", "hash-fold-retrieve"), "sequence 1 is empty"),
        ("sets", ("--method", "sparse-attention"), "sequence 1 is empty"),
        ("plain", ("--method", "deep-sets", "--positions"), "does not take --positions"),
        ("plain", ("--method", "deep-sets", "--attention", "hard"), "not take --attention"),
        ("plain", ("--method", "sparse-attention", "--attention", "hard"), "not take --attention"),
        ("plain", ("--bits", "9"), "does not take --bits"),
        ("plain", ("--separation", "0.5"), "does not take --separation"),
        ("plain", ("--attention", "soft"), "--attention must be uniform or hard"),
        ("plain", ("--method", "limited-bits", "--bits", "0"), "--bits must be an integer of at"),
        ("plain", ("--method", "bit-extraction", "--separation", "nan"), "number above 0"),
        ("plain", ("--sample", "0"), "--sample must be an integer of at least 1"),
        ("plain", ("--sample", "-1"), "--sample must be an integer of at least 1"),
        ("tagged", ("--on-conflict", "nonsense"), "--on-conflict must be one of"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(run, tmp_path, kind, options, says):
    data = lines(tmp_path / "d.jsonl", FILES[kind])
    result = run("compile", data, "-o", tmp_path / "m", *options)
    assert refused(result) and says in result[2], result
    assert not (tmp_path / "m").exists()


@constructions
def test_options_that_a_method_does_not_take_are_one_sentence(run, tmp_path, construction):
    data, _ = file_for(construction, tmp_path)
    given = {"reject_unknown": ("--reject-unknown", "3"), "minimise": ("--minimise", "dense")}
    for name in given.keys() - construction.options():
        result = run("compile", data, "-o", tmp_path / "m", *method(construction), *given[name])
        assert refused(result) and f"does not take {given[name][0]}" in result[2]


# ---------------------------------------------------------------- recall


def test_recall_reads_a_pipe(run, model):
    code, output, errors = run("recall", model[0], stdin="a b\n\nb a\nb z\n")
    assert (code, output, errors) == (0, "x\n\ny\n(unknown)\n", "")
    code, output, _ = run("recall", model[0], "--json", stdin="a b\n\nb z\n")
    answers = json.loads(output)["answers"]
    assert [(a["input"], a["known"]) for a in answers] \
        == [(["a", "b"], None), ([], None), (["b", "z"], False)]  # fmt: skip


def test_bytes_that_are_no_text_are_no_words(model):
    done = subprocess.run(
        [sys.executable, "-m", "byheart", "recall", str(model[0])],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input=b"a b\n\xff\xfe b\n",
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"x\n(unknown)\n", b"")


def test_a_reader_that_goes_away_is_no_error(model):
    running = process("recall", model[0])
    running.stdout.close()
    running.stdin.write("a b\n" * 5)
    running.stdin.close()
    assert "Traceback" not in running.stderr.read()
    running.stderr.close()
    assert running.wait() == 141


def test_trace_shows_the_way(run, model):
    code, output, _ = run("recall", model[0], "a", "b", "--trace")
    assert code == 0 and output.splitlines()[-1] == "x" and output.count("\n") > 3
    code, output, _ = run("recall", model[0], "a", "b", "--trace", "--json")
    assert json.loads(output)["answers"][0]["trace"]


# ---------------------------------------------------------------- demo


def test_the_demo_proves_recites_and_keeps_the_book(run, tmp_path):
    target = tmp_path / "book"
    code, output, errors = run("demo", "--json", "-o", target)
    assert (code, errors, output.count("\n")) == (0, "", 1)
    answer = json.loads(output)
    assert answer["recited"] is True
    assert answer["verified"]["evidence"] == "proved"
    assert answer["words"] == answer["dataset"]["sequences"] + 1
    assert answer["bits"]["information"] < answer["bits"]["total"]
    assert answer["parameters"]["nonzero"] * 50 < answer["faithful_parameters"]
    assert run("recall", target, "The", "--steps", "6")[:2] == (0, "Fox Who Kept Words ❦ On\n")
    assert run("recall", target, LONGER)[:2] == (0, "egg\n")  # cut to the window
    code, output, _ = run("verify", target, BOOK, "--checker")
    assert code == 0 and "VERIFIED" in output


def test_the_book_ends_where_nothing_follows():
    words = BOOK.read_text(encoding="utf-8").split()
    assert words.count(words[-1]) == 1 and words[-1].isalpha()


# ---------------------------------------------------------------- words on the screen


def test_text_is_set_as_a_printer_would():
    tokens = ["She", "said", ",", "“", "Go", "!”", "(", "Twice", ")."]
    assert typeset(tokens) == "She said, “Go!” (Twice)."


def test_a_page_breaks_lines_between_words_only():
    screen = Console(file=io.StringIO(), width=100)
    page = Page(screen)
    for word in ["Listen", ",", "“", "said", ",”", "fox", ".", "❦"] * 20:
        page.say(word)
    page.close()
    lines = screen.file.getvalue().splitlines()
    assert all(len(line) <= 78 for line in lines)
    assert not any(line.strip()[:1] in tuple(",.”") for line in lines if line.strip())
    assert not any(line.endswith("“") for line in lines)


def test_numbers_are_readable():
    assert [number(x) for x in (1234567, 1.23456, None, "x", True)] == [
        "1,234,567", "1.235", "-", "x", "True",
    ]  # fmt: skip


def test_what_python_reads_as_a_number_and_people_do_not(run, tmp_path):
    data = tmp_path / "numbers.jsonl"
    data.write_text('{"input": [10, 2], "label": "a"}\n{"input": [2, 10], "label": "b"}\n')
    assert run("compile", data, "-o", tmp_path / "m")[0] == 0
    assert run("recall", tmp_path / "m", "10", "2")[1] == "a\n"
    assert refused(run("recall", tmp_path / "m", "1_0", "2"))


def test_the_ratio_is_that_of_the_exact_information(run, tmp_path):
    data = tmp_path / "three.jsonl"
    data.write_text("".join(f'{{"input": [{i}], "label": {i}}}\n' for i in range(3)))
    code, shown, _ = run("compile", data, "-o", tmp_path / "m")
    bits = json.loads(run("verify", tmp_path / "m", "--json")[1])["bits"]
    assert code == 0 and f"{bits['encoded'] / bits['information']:.4g} x the information" in shown


def test_a_negative_seed_is_refused(run, tmp_path):
    data = tmp_path / "three.jsonl"
    data.write_text("\n".join(LINES) + "\n")
    for arguments in (("compile", data, "-o", tmp_path / "m"), ("verify", data, data)):
        code, output, errors = run(*arguments, "--seed", "-1")
        assert (code, output) == (2, "") and "Traceback" not in errors


def test_a_closed_output_is_no_traceback(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        f"{sys.executable} -m byheart methods >&-", shell=True, env=environment, capture_output=True
    )
    assert b"Traceback" not in done.stderr


def test_characters_go_on_without_spaces(run, tmp_path):
    story = tmp_path / "story.txt"
    story.write_text("once upon a time\n")
    options = ("--unit", "char", "--documents", "whole", "--window", "auto")
    assert run("compile", story, "-o", tmp_path / "m", *options)[0] == 0
    assert run("recall", tmp_path / "m", "o", "--steps", "9")[1] == "nce upon \n"
    assert run("recall", tmp_path / "m", "Z", "--steps", "3")[1] == "(unknown)\n"
