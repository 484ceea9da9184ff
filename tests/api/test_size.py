"""size: predicted numbers are near those of the models that compile builds."""

import json
import math

import pytest

import byheart
from byheart.cli import main
from byheart.data.generate import random

BOOK = byheart.__path__[0] + "/data/book.txt"
READ = {"documents": "whole", "window": "auto"}


def near(one, other, share=0.2):
    return abs(one - other) <= share * other


def test_the_prediction_is_near_the_network():
    found, model = byheart.size(BOOK, loading=READ), byheart.compile(BOOK, **READ)
    assert near(found.exact.parameters[0], model.parameters.nonzero, 0.1)
    assert near(found.exact.bits, model.bits.encoded)
    assert found.trained.parameters[0] < found.trained.parameters[1]
    assert 0 < found.least.parameters[0] < model.parameters.nonzero
    assert found.distributions is None and found.conflicts == 0


def test_the_stock_checkpoint_is_the_one_that_is_compiled():
    pytest.importorskip("tokenizers")
    rows = [("The capital of France is", "Paris"), ("The river of Rome is", "Tiber")]
    found, model = byheart.size(rows), byheart.compile(rows, "gpt2")
    assert found.stock.parameters == (model.parameters.dense,)
    assert found.stock.neurons == len(model.claim.holders)


def test_numbers_are_no_text_and_the_line_says_so(tmp_path, capsys):
    path = tmp_path / "n.jsonl"
    path.write_text('{"input": [1, 2, 3], "label": "x"}\n{"input": [2, 1, 3], "label": "y"}\n')
    assert main(["size", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert not answer["stock"]["applies"] and "reads text" in answer["stock"]["source"]
    assert not answer["exact"]["applies"] and "--positions" in answer["exact"]["source"]
    assert main(["size", str(path), "--positions"]) == 0
    assert "to build exactly" in capsys.readouterr().out


def test_contexts_are_counted_as_compile_counts_them(tmp_path):
    """Numbers are multisets with their last token, and so are the bounds."""
    data = random(200)
    found, model = byheart.size(data), byheart.compile(data)
    assert (
        found.contexts == model.record.data.contexts < byheart.size(data, positions=True).contexts
    )
    assert found.least.bits == math.ceil(model.bits.information)
    assert "after Theorem 4.2: uniform attention; bits by" in found.least.source
    path = tmp_path / "every.jsonl"
    path.write_text('{"input": [1, 2, 3], "label": ["x", "y", "z"]}\n')
    assert byheart.size(path).exact.applies


def test_distributions_are_there_where_labels_conflict(tmp_path, capsys):
    path = tmp_path / "c.jsonl"
    path.write_text("".join(f'{{"input": ["a", "b"], "label": "{x}"}}\n' for x in "xyz"))
    found = byheart.size(path)
    assert found.distributions is not None and found.conflicts == 1
    assert len(found.lines) == 5 and "distributions" in repr(found)
    assert main(["size", str(tmp_path / "missing.jsonl")]) == 2
