"""What people read: four digits, plurals, no spaces at line ends, bits beside two limits."""

import io
import json

import pytest

from byheart.cli import main
from byheart.cli.output import Trimmed, bit_rows, counts
from byheart.machine.tables import number


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
    assert counts({"sequences": 1, "contexts": 1, "labels": 2}) == "1 sequence, 1 context, 2 labels"


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
        assert "1 contexts" not in shown and "1 sequences" not in shown and "1 labels" not in shown


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
        assert f"{number(compiled['total'] / compiled['entropy'])} x the entropy" in shown
        assert f"{number(compiled['total'] / 2000)} x the information" in shown
    assert "bits that these labels need" in (folder / "README.md").read_text()


def test_a_folder_that_says_nothing_of_its_bits():
    bits = {"total": 10, "entropy": None, "information": "many"}
    assert [row[1:] for row in bit_rows(bits)][0] == ("10", "")
    assert [row[1] for row in bit_rows(bits)] == ["10", "-", "-"]


def test_several_labels_for_a_context_have_no_entropy(tmp_path, capsys):
    data, folder = tmp_path / "d.jsonl", tmp_path / "m"
    data.write_text('{"input": ["a"], "label": "a"}\n{"input": ["a"], "label": "b"}\n')
    given = ["compile", str(data), "-o", str(folder), "--method", "one-layer", "--json"]
    assert main(given) == 0
    assert json.loads(capsys.readouterr().out)["bits"]["entropy"] is None
