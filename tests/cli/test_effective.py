"""bounds --effective: the rank of small decoders, and what is refused."""

import json

import pytest

from byheart.cli import main
from byheart.errors import ByheartError
from byheart.softmax.decoder import ATTENTION, Shape
from byheart.theory import ArchitectureFacts
from byheart.theory.effective import decoder_shape, effective_rank

SIZES = ["--vocabulary", "3", "--length", "4", "--dimension", "2"]
ONE_LAYER = ["--architecture", "madden2024", *SIZES, "--width", "4"]
ATTENTION_ONLY = [*SIZES, "--layers", "1", "--width", "0", "--heads", "2", "--head-dimension", "1"]
NO_HEADS = [*SIZES, "--layers", "1", "--width", "0", "--heads", "0"]


@pytest.mark.parametrize(
    "options, shape",
    [
        (ONE_LAYER, Shape(3, 4, 2, ATTENTION, 1, 2, 2, False, 4, "gelu")),
        (ATTENTION_ONLY, Shape(3, 4, 2, ATTENTION, 2, 1, 1, True, 0, "none")),
        (NO_HEADS, Shape(3, 4, 2, ATTENTION, 0, 2, 2, True, 0, "none")),
    ],
)
def test_the_rank_of_the_decoder(options, shape, capsys):
    assert main(["bounds", *options, "--effective", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["effective"]
    assert found.pop("evidence") == "observed" and "eq. (2)" in found.pop("model")
    assert found == effective_rank(shape)._asdict()
    assert found["rank"] < found["parameters"] == shape.parameters
    assert main(["bounds", *options, "--effective"]) == 0
    shown = capsys.readouterr().out
    assert "measured, not proved" in shown and "observed" in shown


def test_without_the_option_nothing_is_measured(capsys):
    assert main(["bounds", *ONE_LAYER, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["effective"] is None


@pytest.mark.parametrize(
    "options, reason",
    [
        (["--architecture", "gpt2"], "decoders of one layer"),
        ([*SIZES, "--layers", "2", "--width", "8"], "decoders of one layer"),
        (["--architecture", "madden2024", "--vocabulary", "900"], "at most 2,000 parameters"),
        (["--parameters", "50"], "decoders of one layer"),
    ],
)
def test_refusals(options, reason, capsys):
    assert main(["bounds", *options, "--effective"]) == 2
    shown = capsys.readouterr()
    assert reason in shown.err and shown.out == ""


def test_an_architecture_is_needed(tmp_path, capsys):
    data = tmp_path / "d.jsonl"
    data.write_text('{"input": ["a"], "label": "b"}\n')
    assert main(["bounds", "--dataset", str(data), "--effective"]) == 2
    assert "about an architecture" in capsys.readouterr().err


def test_sizes_that_are_not_known():
    with pytest.raises(ByheartError, match="needs the sizes"):
        decoder_shape(ArchitectureFacts(family="madden2024", parameters=50))
    known = {"vocabulary": 3, "length": 4, "dimension": 2, "heads": 1, "head_dimension": 2}
    with pytest.raises(ByheartError, match="relu, which is not analytic"):
        decoder_shape(ArchitectureFacts(family="madden2024", **known, width=4, activation="relu"))
