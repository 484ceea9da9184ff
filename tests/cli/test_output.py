"""What people read: four digits, plurals, no spaces at line ends, bits beside two limits."""

import io
import json
import re
from types import SimpleNamespace

import pytest

from byheart.claims.card import bit_rows
from byheart.claims.record import Bits
from byheart.cli import main
from byheart.cli.output import Trimmed
from byheart.machine.tables import number
from byheart.views.terminal import counts


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (14872.481665667652, "14,870"),
        (30570.67890295557, "30,570"),
        (15216.0, "15,216"),
        (4757.26, "4,757"),
        (1234567, "1,234,567"),
        (-1234.5, "-1,234"),
        (0.0, "0"),
        (99.996, "100"),
        (1.5e20, "1.5e+20"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        (True, "True"),
    ],
)
def test_numbers_for_people(value, shown):
    assert number(value) == shown


def test_one_of_each():
    data = SimpleNamespace(sequences=1, contexts=1, labels=2)
    assert counts(data) == "1 sequence, 1 context, 2 labels"


@pytest.mark.parametrize(
    "pieces", [["a  \nb", "   \n", "c "], ["a ", " \nb   \nc"], ["a", "  ", "\nb", "\nc", "   "]]
)
def test_spaces_before_the_end_of_a_line_are_left_out(pieces):
    stream = io.StringIO()
    trimmed = Trimmed(stream)
    for piece in pieces:
        assert trimmed.write(piece) == len(piece)
    assert stream.getvalue() == "a\nb\nc"


def test_spaces_inside_a_line_stay():
    stream = io.StringIO()
    trimmed = Trimmed(stream)
    trimmed.write("a  ")
    trimmed.write("b\n")
    assert stream.getvalue() == "a  b\n"


def test_no_command_pads_its_lines_in_a_pipe(tmp_path, capsys):
    data = tmp_path / "one.jsonl"
    data.write_text('{"input": ["a"], "label": "x"}\n')
    folder = tmp_path / "m"
    for arguments in (
        ("compile", data, "-o", folder),
        ("verify", folder, data),
        ("stats", data),
        ("methods",),
        ("compare", data),
        ("check",),
        ("statements",),
        ("explain", "hash-fold-retrieve", data),
    ):
        assert main([str(x) for x in arguments]) == 0
        shown = capsys.readouterr().out
        assert shown and all(line == line.rstrip(" ") for line in shown.splitlines()), arguments


NOUNS = "bit context coordinate document draw head label multiset neuron parameter prediction row"
NOUNS += " sequence solution step time token"
MANY = re.compile(rf"(?<![\w,.-])1 +({'|'.join(NOUNS.split())}|hashe)s\b")


def test_one_of_anything_is_singular(tmp_path, capsys):
    """Whatever commands say of a single sequence, of one label that is changed, one left out."""
    one, two, text = (tmp_path / name for name in ("one.jsonl", "two.jsonl", "text.txt"))
    one.write_text('{"input": ["a"], "label": "x"}\n')
    row = '{"input": ["b"], "label": "%s"}\n'
    two.write_text(one.read_text() + row % "y" * 2 + row % "z")
    text.write_text("a b\n")
    settled = ("--on-conflict", "majority")
    folder = tmp_path / "m"
    for arguments in (
        ("stats", one),
        ("stats", two),
        ("compile", one, "-o", folder),
        ("verify", folder, one),
        ("recall", folder, "a", "b"),  # too long
        ("compile", two, "-o", folder, "--force", *settled),
        ("verify", folder, two),  # refuted: one label was changed
        ("verify", folder, one),  # one sequence
        ("compile", two, "-o", folder, "--force", "--on-conflict", "drop"),
        ("verify", folder, two),
        ("explain", "one-layer", one),
        ("compile", one, "-o", folder, "--force", "--method", "one-layer"),
        ("verify", folder, one),
        ("recall", folder, "a", "b"),
        ("compile", one, "-o", folder, "--force", "--method", "attention-only-argmax"),
        ("compile", two, "-o", folder, "--force", "--method", "attention-only-argmax"),
        ("compile", one, "-o", folder, "--force", "--method", "one-layer-smooth", "--neurons", "9"),
        ("compile", one, "-o", folder, "--force", "--method", "one-layer-narrow", "--neurons", "9"),
        ("compile", text, "-o", folder, "--force", "--window", "1"),
        ("recall", folder, "b"),
        ("bounds", "--dataset", two, "--parameters", "1", "--bits", "1", "--all"),
        ("compare", two),
    ):
        main([str(x) for x in arguments])
        printed = capsys.readouterr()
        card = (folder / "README.md").read_text() if arguments[0] == "compile" else ""
        for shown in (printed.out, printed.err, card):
            lines = re.sub(r"\n +", " ", shown).replace("contexts if order", "")
            found = MANY.search(lines)
            assert found is None, (arguments, found[0], lines)


# ---------------------------------------------------------------- bits


def test_bits_beside_what_these_labels_and_the_worst_ones_need(tmp_path, capsys):
    """1,999 of 2,000 labels are equal: the model is below the worst labels, and above these."""
    data, folder = tmp_path / "d.jsonl", tmp_path / "m"
    rows = ({"input": [i], "label": int(i == 7)} for i in range(2000))
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["compile", str(data), "-o", str(folder), "--json"]) == 0
    compiled = json.loads(capsys.readouterr().out)["bits"]
    assert compiled["information"] == 2000
    assert compiled["entropy"] == pytest.approx(12.4, abs=0.1)  # log2(2000) and a little
    assert main(["verify", str(folder), str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bits"] == compiled
    for command in (("verify", folder, data), ("compile", data, "-o", folder, "--force")):
        assert main([str(x) for x in command]) == 0
        shown = capsys.readouterr().out
        assert f"{number(compiled['encoded'] / compiled['entropy'])} x the entropy" in shown
        assert f"{number(compiled['encoded'] / 2000)} x the information" in shown
    assert "bits that these labels need" in (folder / "README.md").read_text()


def test_a_folder_that_says_nothing_of_its_bits():
    bits = Bits(10, 10, 1, None, None, "many")
    assert [row[1:] for row in bit_rows(bits)][0] == ("-", "")
    assert [row[1] for row in bit_rows(bits)] == ["-", "-", "-"]


def test_several_labels_for_a_context_have_no_entropy(tmp_path, capsys):
    data, folder = tmp_path / "d.jsonl", tmp_path / "m"
    data.write_text('{"input": ["a"], "label": "a"}\n{"input": ["a"], "label": "b"}\n')
    given = ["compile", str(data), "-o", str(folder), "--method", "one-layer", "--json"]
    assert main(given) == 0
    assert json.loads(capsys.readouterr().out)["bits"]["entropy"] is None


def test_a_question_of_several_lines_is_shown_as_bash_reads_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    turns = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]
    (tmp_path / "chat.jsonl").write_text(json.dumps({"messages": turns}) + "\n")
    assert main("compile chat.jsonl -o chat.model".split()) == 0
    said = capsys.readouterr().out
    shown = re.search(r"try: (.*)", said)[1]
    assert shown.endswith(r"recall chat.model $'user: 2+2?\nassistant:'")
    assert main(["recall", "chat.model", "user: 2+2?\nassistant:"]) == 0
    assert capsys.readouterr().out.strip() == "4"


def test_data_with_one_label_are_said_to_be_a_constant(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, labels in (("one", "xx"), ("two", "xy")):
        rows = (json.dumps({"input": [str(i)], "label": x}) for i, x in enumerate(labels))
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{row}\n" for row in rows))
        assert main(["compile", f"{name}.jsonl", "-o", name]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert ("all contexts have the same label: the network is a constant" in said) == (
            name == "one"
        )
